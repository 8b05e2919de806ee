//! Entry points for the fuzzer to everything that parses untrusted input: paths, queries,
//! selectors, patches, objects.
//!
//! Each returns whether the input was accepted. Input may be rejected, but nothing may panic.

mod admissions;
mod authorizations;
mod server;
mod tokens;

use evenkeel_model::labels::LabelSelector;
use evenkeel_store::{
    Object, Selector, patch,
    schema::{self, Schema, Type},
    selector::FieldSelector,
};
use serde_json::Value;

pub use self::{
    admissions::Admissions, authorizations::Authorizations, server::Server, tokens::Tokens,
};
use crate::{
    document,
    kinds::{self, Catalogue, Kind, KindRef, names},
    request::{self, Query, Target},
    types,
};

/// A path and its query, as in a request line.
pub fn request(line: &str) -> bool {
    let (path, query) = line.split_once('?').unwrap_or((line, ""));
    let query = Query::parse(query);
    let numbers = ["limit", "timeoutSeconds"].map(|name| query.number(name).is_ok());
    let flags = ["watch", "pretty", "sendInitialEvents"].map(|name| query.flag(name));
    let options = query.write_options("CreateOptions").is_ok();
    let selected = match request::target(&Catalogue::default(), path) {
        Ok(Target::Resource(resource)) => {
            let (labels, fields) = (query.text("labelSelector"), query.text("fieldSelector"));
            selectors(&resource.kind, labels, fields)
        }
        Ok(_) => true,
        Err(_) => false,
    };
    selected && options && numbers.iter().all(|read| *read) && flags.len() == 3
}

/// `kind` is a resource such as `pods`; the selectors are then matched against an object.
pub fn selector(kind: &str, labels: &str, fields: &str) -> bool {
    of_plural(kind).is_some_and(|kind| selectors(kind, labels, fields))
}

/// `form` is `json`, `merge` or `strategic`; `kind` a resource such as `pods`.
pub fn patch(kind: &str, form: &str, object: &str, patch: &str) -> bool {
    let Some(kind) = of_plural(kind) else { return false };
    let (schema, of) = (types::schema(), type_of(kind));
    let Ok(read) = schema::decode(schema, of, object.as_bytes()) else { return false };
    let Some(patched) = patched(schema, of, form, read.value, patch.as_bytes()) else {
        return false;
    };
    let mut value = patched;
    document::canonical(kind, &mut value);
    let text = value.to_string();
    let again = schema::decode(schema, of, text.as_bytes());
    assert!(again.is_ok_and(|again| again.unknown.is_empty()), "what we print we can read: {text}");
    true
}

fn patched(
    schema: &Schema,
    of: &Type,
    form: &str,
    mut document: Value,
    text: &[u8],
) -> Option<Value> {
    let read = match form {
        "json" => {
            patch::json(&mut document, text).ok()?;
            schema::check(schema, of, document)
        }
        "merge" => {
            patch::merge(&mut document, text).ok()?;
            schema::check(schema, of, document)
        }
        _ => {
            patch::strategic(schema, of, &mut document, text).ok()?;
            patch::converted(schema, of, document)
        }
    };
    Some(read.ok()?.value)
}

fn selectors(kind: &Kind, labels: &str, fields: &str) -> bool {
    let known: Vec<&str> = kind.fields.iter().map(|(name, _)| *name).collect();
    let labels = LabelSelector::parse(labels, names::LABELS);
    let fields = FieldSelector::parse(fields, &known);
    let (Ok(labels), Ok(fields)) = (labels, fields) else { return false };
    let object = Object {
        key: "default/name".into(),
        revision: 1,
        labels: [("app".into(), "web".into()), ("tier".into(), "7".into())].into(),
        fields: known.iter().map(|name| (*name).into()).collect(),
        encoded: bytes::Bytes::new(),
    };
    let selector = Selector::new(kind.namespaced, Some("default"), labels, fields);
    // The result does not matter, only that there is one.
    let _ = selector.matches(&object);
    true
}

fn of_plural(plural: &str) -> Option<&'static KindRef> {
    kinds::KINDS.iter().copied().find(|kind| kind.plural == plural)
}

fn type_of(kind: &Kind) -> &'static Type {
    types::schema().named(&kind.schema).expect("every kind has its type")
}
