//! Manifests: text as people keep it or `kubectl` prints it, to typed objects.
//!
//! YAML with any number of documents, or JSON, or lists of either. The items of a list are
//! decoded as they are read, so that a cluster's worth of YAML is never held as a tree.
//!
//! Input is not trusted: nesting is bounded, aliases may add only a fixed amount to what the text
//! itself holds, and errors quote little of it.

mod decode;
mod document;
mod error;
mod json;
mod older;
mod yaml;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::error::{ManifestError, Problem};
use self::{
    decode::{Decoded, Known},
    document::{Document, TypeName},
    error::Trouble,
};
use crate::{Objects, Origin};

/// Reads `text` and adds what is in it to `into`. `source` is the name people know it by.
///
/// Stops at the first problem; `into` then holds what came before it.
pub fn parse(source: &str, text: &str, into: &mut Objects) -> Result<(), ManifestError> {
    let source: Arc<str> = source.into();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let documents = if is_json(text) { json::documents(text) } else { yaml::documents(text) };
    let whole = Origin::new(source);
    let documents = documents.map_err(|problem| ManifestError::new(whole.clone(), problem))?;
    for (index, (line, document)) in documents.into_iter().enumerate() {
        let origin = Origin { document: Some(index + 1), line, ..whole.clone() };
        take(document, &origin, None, into)?;
    }
    Ok(())
}

/// Whether `text` starts like JSON. YAML may start with a brace too, but then a bare word tends
/// to follow; and only YAML knows separators between documents, which no JSON can contain.
fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let starts = match text.strip_prefix('{') {
        Some(rest) => rest.trim_start().starts_with(['"', '}']),
        None => text.starts_with('['),
    };
    starts && !text.contains("\n---")
}

/// A document with the line it starts in, where the parser tells.
type Placed = (Option<u64>, Document);

/// `of` is what the items of a typed list are, which need not say it themselves.
fn take(
    document: Document,
    origin: &Origin,
    of: Option<&TypeName>,
    into: &mut Objects,
) -> Result<(), ManifestError> {
    let fail = |trouble| ManifestError::from_trouble(origin.clone(), trouble);
    match document {
        Document::Nothing => Ok(()),
        Document::NotAnObject(found) => {
            let problem = Problem::NotAnObject { found };
            Err(ManifestError::new(origin.clone(), problem))
        }
        Document::Object(outcome) => store(outcome.map_err(fail)?, origin, into),
        Document::Service(fields) => {
            let name = TypeName { api_version: "v1".to_owned(), kind: "Service".to_owned() };
            keep(origin, &fields, into);
            store(decode::decode(&name, fields).map_err(fail)?, origin, into)
        }
        Document::Untyped(fields) => {
            if of.is_some_and(TypeName::is_service) {
                keep(origin, &fields, into);
            }
            let decoded = decode::decode_item(fields, of).map_err(fail)?;
            store(decoded, origin, into)
        }
        Document::List(name, items) => {
            let of = name.and_then(TypeName::of_items);
            for (index, item) in items.into_iter().enumerate() {
                let origin = Origin { item: origin.item.or(Some(index)), ..origin.clone() };
                take(item, &origin, of.as_ref(), into)?;
            }
            Ok(())
        }
    }
}

fn keep(origin: &Origin, service: &Map<String, Value>, into: &mut Objects) {
    if let Some(raw) = &mut into.raw_services {
        raw.add(origin.clone(), service.clone());
    }
}

fn store(decoded: Decoded, origin: &Origin, into: &mut Objects) -> Result<(), ManifestError> {
    let origin = origin.clone();
    match decoded {
        Decoded::Skipped(kind) => {
            *into.skipped.entry(kind).or_default() += 1;
            Ok(())
        }
        Decoded::Known(known) => match known {
            Known::Service(object) => into.services.add(origin, *object),
            Known::Node(object) => into.nodes.add(origin, *object),
            Known::Pod(object) => into.pods.add(origin, *object),
            Known::Slice(object) => into.slices.add(origin, *object),
            Known::Event(object) => into.events.add(origin, *object),
            Known::Autoscaler(object) => into.autoscalers.add(origin, *object),
            Known::Lease(object) => into.leases.add(origin, *object),
        },
    }
}
