//! Objects as values, and as the bytes that the store keeps.
//!
//! The store keeps what follows `{"kind":…,"apiVersion":…,"metadata":{"resourceVersion":"…",`
//! (see `store::Object`); this is the only place that knows both sides of that cut.

use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_store::{NewObject, Object, Revision, schema};
use serde_json::{Map, Value};

use crate::{kinds::Kind, types};

/// What goes into the store for a value, which is in canonical form.
pub(crate) fn stored(kind: &Kind, value: &Value) -> NewObject {
    NewObject { labels: labels(value), fields: fields(kind, value), tail: tail(value) }
}

/// The form in which Kubernetes would print it.
pub(crate) fn canonical(kind: &Kind, value: &mut Value) {
    if let Some(of) = types::schema().named(kind.schema) {
        schema::canonical(types::schema(), of, value);
    }
}

/// The object as a value with its kind and revision.
pub(crate) fn value(kind: &Kind, object: &Object) -> Value {
    value_at(kind, object, object.revision)
}

/// The same as of another revision: a deleted object shows that of its delete.
pub(crate) fn value_at(kind: &Kind, object: &Object, revision: Revision) -> Value {
    let text = text(kind, object, revision);
    serde_json::from_slice(&text).expect("the store keeps what we have encoded")
}

/// The object as JSON.
pub(crate) fn text(kind: &Kind, object: &Object, revision: Revision) -> Bytes {
    let mut out = BytesMut::with_capacity(object.tail.len() + 128);
    write(&mut out, kind, object, revision);
    out.freeze()
}

pub(crate) fn write(out: &mut BytesMut, kind: &Kind, object: &Object, revision: Revision) {
    write_head(|part| out.put_slice(part), kind, revision);
    out.put_slice(&object.tail);
}

/// What comes before the tail of an object.
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

/// As an item of a list: without kind.
pub(crate) fn write_item(out: &mut BytesMut, object: &Object) {
    out.put_slice(ITEM);
    out.put_slice(itoa::Buffer::new().format(object.revision).as_bytes());
    out.put_slice(b"\",");
    out.put_slice(&object.tail);
}

/// How long that is.
pub(crate) fn item_len(object: &Object) -> usize {
    let digits = itoa::Buffer::new().format(object.revision).len();
    ITEM.len() + digits + "\",".len() + object.tail.len()
}

/// The list of Kubernetes, in the order in which it prints it.
pub(crate) fn labels(value: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let labels = value["metadata"]["labels"].as_object();
    let pair = |(key, value): (&String, &Value)| {
        (key.as_str().into(), value.as_str().unwrap_or_default().into())
    };
    labels.into_iter().flatten().map(pair).collect()
}

pub(crate) fn fields(kind: &Kind, value: &Value) -> Box<[Box<str>]> {
    kind.fields.iter().map(|(_, read)| read(value).into()).collect()
}

fn tail(value: &Value) -> Bytes {
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
    // Each object is kept for long: no spare capacity with it.
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
