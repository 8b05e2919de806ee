//! Conversion between values and the stored encoding.
//!
//! The store keeps the text that follows
//! `{"kind":…,"apiVersion":…,"metadata":{"resourceVersion":"…",` (see `store::Object`); this is the
//! only module that knows both sides of that cut.

use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_store::{NewObject, Object, Revision, schema};
use serde_json::{Map, Value};

use crate::{
    custom::decode,
    kinds::{Kind, Text},
    types,
};

/// A stored object that can't be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored {kind} {key:?} can't be read: {problem}; restore it from a backup")]
pub(crate) struct Unreadable {
    kind: Text,
    key: Box<str>,
    problem: String,
}

/// Maximum nesting of a stored object that can be read. Before `schema::MOST_LEVELS` was
/// introduced, up to 507 levels were stored, and data folders still have them. Also bounds the
/// stack used for an object.
const MOST_STORED_LEVELS: usize = 600;

/// The object to store for a value, which must be canonical.
pub(crate) fn stored(kind: &Kind, value: &Value) -> NewObject {
    NewObject { labels: labels(value), fields: fields(kind, value), encoded: encoded(value) }
}

/// Converts a value to the form that Kubernetes would print.
pub(crate) fn canonical(kind: &Kind, value: &mut Value) {
    if let Some(custom) = &kind.custom {
        custom.to_stored(value);
        return decode::canonical_metadata(value);
    }
    if let Some(of) = types::schema().named(&kind.schema) {
        schema::canonical(types::schema(), of, value);
    }
}

/// The object as a value with its kind and revision. Fails for bytes that no version wrote.
pub(crate) fn value(kind: &Kind, object: &Object) -> Result<Value, Unreadable> {
    value_at(kind, object, object.revision)
}

/// The same at another revision: a deleted object shows the revision of its delete.
pub(crate) fn value_at(
    kind: &Kind,
    object: &Object,
    revision: Revision,
) -> Result<Value, Unreadable> {
    let text = text(kind, object, revision);
    // The faster parser supports only one depth.
    let mut value = serde_json::from_slice(&text)
        .or_else(|_| schema::any_json(&text, MOST_STORED_LEVELS))
        .map_err(|problem| unreadable(kind, object, &problem))?;
    if let Some(custom) = kind.custom.as_ref().filter(|custom| !custom.has_written(object)) {
        custom.convert(&mut value);
    }
    Ok(value)
}

fn unreadable(kind: &Kind, object: &Object, problem: &schema::DecodeError) -> Unreadable {
    Unreadable { kind: kind.kind.clone(), key: object.key.clone(), problem: problem.to_string() }
}

/// The object as JSON.
pub(crate) fn text(kind: &Kind, object: &Object, revision: Revision) -> Bytes {
    let mut out = BytesMut::with_capacity(object.encoded.len() + 128);
    write(&mut out, kind, object, revision);
    out.freeze()
}

pub(crate) fn write(out: &mut BytesMut, kind: &Kind, object: &Object, revision: Revision) {
    write_head(|part| out.put_slice(part), kind, revision);
    out.put_slice(&object.encoded);
}

/// Writes the part that precedes an object's encoding.
pub(crate) fn write_head(mut put: impl FnMut(&[u8]), kind: &Kind, revision: Revision) {
    put(b"{\"kind\":\"");
    put(kind.kind.as_bytes());
    put(b"\",\"apiVersion\":\"");
    put(kind.api_version().as_bytes());
    put(b"\",\"metadata\":{\"resourceVersion\":\"");
    put(itoa::Buffer::new().format(revision).as_bytes());
    put(b"\",");
}

const ITEM: &[u8] = b"{\"metadata\":{\"resourceVersion\":\"";

/// Writes a list item: without kind, except for custom resources.
pub(crate) fn write_item(out: &mut BytesMut, kind: &Kind, object: &Object) {
    if kind.custom.is_some() {
        return write(out, kind, object, object.revision);
    }
    out.put_slice(ITEM);
    out.put_slice(itoa::Buffer::new().format(object.revision).as_bytes());
    out.put_slice(b"\",");
    out.put_slice(&object.encoded);
}

/// The length of a list item.
pub(crate) fn item_len(kind: &Kind, object: &Object) -> usize {
    if kind.custom.is_some() {
        let mut head = 0;
        write_head(|part| head += part.len(), kind, object.revision);
        return head + object.encoded.len();
    }
    let digits = itoa::Buffer::new().format(object.revision).len();
    ITEM.len() + digits + "\",".len() + object.encoded.len()
}

/// The labels, in the order in which Kubernetes prints them.
pub(crate) fn labels(value: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let labels = value["metadata"]["labels"].as_object();
    let pair = |(key, value): (&String, &Value)| {
        (key.as_str().into(), value.as_str().unwrap_or_default().into())
    };
    labels.into_iter().flatten().map(pair).collect()
}

pub(crate) fn fields(kind: &Kind, value: &Value) -> Box<[Box<str>]> {
    if let Some(custom) = &kind.custom {
        // Selectable fields are read from the object when a selector names them: definitions change.
        return [(*custom.fingerprint).into()].into();
    }
    kind.fields.iter().map(|(_, read)| read(value).into()).collect()
}

fn encoded(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(2048);
    let nothing = Map::new();
    let object = value.as_object().unwrap_or(&nothing);
    let metadata = object.get("metadata").and_then(Value::as_object).unwrap_or(&nothing);
    // The brace is part of the prefix; an object always has a name, so something follows.
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
        member(&mut out, key, value);
    }
    out.push(b'}');
    for (key, value) in object {
        if !matches!(key.as_str(), "metadata" | "kind" | "apiVersion") {
            member(&mut out, key, value);
        }
    }
    out.push(b'}');
    // Objects are kept for a long time: allocate no spare capacity.
    Bytes::copy_from_slice(&out[1..])
}

/// A comma and `"key":value`.
fn member(out: &mut Vec<u8>, key: &str, value: &Value) {
    out.push(b',');
    let wrote = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    wrote
        .and_then(|()| serde_json::to_writer(out, value))
        .expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    fn object(encoded: &str) -> Object {
        let (labels, fields) = (Box::default(), Box::default());
        Object {
            key: "n/a".into(),
            revision: 7,
            labels,
            fields,
            encoded: encoded.to_owned().into(),
        }
    }

    fn deep(levels: usize) -> Object {
        let inside = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        object(&format!("\"name\":\"a\"}},\"spec\":{inside}}}"))
    }

    #[test]
    fn what_earlier_versions_stored_is_read_however_deep() {
        let kind = kinds::named("apps", "deployments").unwrap();
        for levels in [1, 126, 127, 200, 506, 599] {
            let read = value(kind, &deep(levels)).unwrap();
            assert_eq!(schema::levels(&read), levels + 1);
            assert_eq!(read["metadata"]["resourceVersion"], "7");
        }
    }

    #[test]
    fn what_nobody_can_read_is_a_failure_of_the_server() {
        let kind = kinds::named("apps", "deployments").unwrap();
        for object in [deep(600), object(""), object("x"), object("}} {}")] {
            let problem = value(kind, &object).unwrap_err();
            let failure = crate::status::Failure::from(problem);
            assert_eq!(failure.code, 500);
            let start = "Internal error occurred: the stored Deployment \"n/a\" can't be read: ";
            assert!(failure.message().starts_with(start), "{}", failure.message());
        }
    }
}
