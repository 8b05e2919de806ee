//! `create`: a new object.

use std::{mem, sync::Arc};

use evenkeel_store::{Object, Outcome, Refused};
use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call, key, name_of},
    body, document,
    kinds::{
        Kind,
        read::{entry, text},
    },
    status::{Failure, Result},
    verbs::admit::{self, without_revision},
};

/// The result of a create.
#[derive(Debug)]
pub(crate) enum Created {
    Stored(Arc<Object>),
    /// Of a dry run: in the call's own kind.
    Dry(Value),
}

/// Attempts with a generated name.
const TRIES: usize = 8;

pub(crate) async fn create(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = call.query.write_options("CreateOptions")?;
    let read = body::object(call.body(), kind, options.field_validation)?;
    let value = placed(read.value, kind, call.namespace())?;
    let mut warnings = read.warnings;
    let answer = match new(api, call, value, options.dry_run, &mut warnings).await? {
        Created::Stored(object) => answer::object(201, kind, &object, call.view),
        Created::Dry(value) => answer::shown(201, kind, value, call.view),
    };
    Ok(answer.with_warnings(warnings))
}

/// Creates from a value in the call's own kind.
pub(crate) async fn new(
    api: &Api,
    call: &Call<'_>,
    value: Value,
    dry_run: bool,
    warnings: &mut Vec<String>,
) -> Result<Created> {
    let kind = call.kind();
    if let Some(namespace) = call.namespace() {
        api.check_namespace(kind, namespace, name_of(&value))?;
    }
    let stored = kind.stored_kind();
    let mut value = kind.converted(value);
    let generated = text(&value, &["metadata", "name"]).is_empty();
    let versioned = !text(&value, &["metadata", "resourceVersion"]).is_empty();
    let mut last = String::new();
    let tries = if generated { TRIES } else { 1 };
    for left in (0..tries).rev() {
        let candidate = if left == 0 { mem::take(&mut value) } else { value.clone() };
        let mut admitted = admit::create(api, kind, candidate, dry_run, call.now())?;
        if versioned {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Failure::internal(why));
        }
        let name = name_of(&admitted.value).to_owned();
        let key = key(call.namespace(), &name);
        warnings.append(&mut admitted.warnings);
        if dry_run {
            if let Some(there) = api.storage.object(stored, &key) {
                return Err(Failure::already_exists(kind, &name, is_dying(stored, &there)));
            }
            return Ok(Created::Dry(kind.presented(without_revision(admitted.value))));
        }
        match admitted.write_new(api, kind, &key).await? {
            Ok(Outcome::Written(object) | Outcome::Unchanged(object)) => {
                return Ok(Created::Stored(object));
            }
            Ok(Outcome::Deleted(..)) => unreachable!("a create deletes nothing"),
            Err(Refused::Exists) if generated => last = name,
            Err(_) => {
                let there = api.storage.object(stored, &key);
                let dying = there.is_some_and(|there| is_dying(stored, &there));
                return Err(Failure::already_exists(kind, &name, dying));
            }
        }
    }
    Err(Failure::no_name_left(kind, &last))
}

fn is_dying(kind: &Kind, object: &Object) -> bool {
    let value = document::value(kind, object);
    value.is_ok_and(|value| !value["metadata"]["deletionTimestamp"].is_null())
}

/// The namespace of the path, which must match that of the body.
pub(crate) fn placed(mut value: Value, kind: &Kind, namespace: Option<&str>) -> Result<Value> {
    if value["metadata"].is_null() {
        value["metadata"] = json!({});
    }
    let Some(namespace) = namespace.filter(|_| kind.namespaced) else {
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(value);
    };
    placed_in(value, namespace)
}

/// The same for reviews, which are not kinds.
pub(crate) fn placed_in(mut value: Value, namespace: &str) -> Result<Value> {
    let given = text(&value, &["metadata", "namespace"]);
    if !given.is_empty() && given != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the \
             request",
        ));
    }
    *entry(&mut value, &["metadata", "namespace"]) = namespace.into();
    Ok(value)
}
