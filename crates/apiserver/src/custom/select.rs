//! The selectable fields of custom resources, read from the objects when a selector names them.

use evenkeel_store::{Object, selector::FieldReader};
use serde_json::Value;

use crate::{document, kinds::KindRef};

/// Reads the values of all selectable fields of a kind.
pub(crate) fn reader(kind: &KindRef) -> FieldReader {
    let kind = kind.clone();
    FieldReader::new(move |object| values(&kind, object))
}

fn values(kind: &KindRef, object: &Object) -> Box<[Box<str>]> {
    let Some(custom) = &kind.custom else { return Box::default() };
    let Ok(value) = document::value(kind.stored_kind(), object) else { return Box::default() };
    let value = kind.presented(value);
    custom
        .selectable
        .iter()
        .map(|(_, path)| shown(path.find(&value).unwrap_or_default().first().map(AsRef::as_ref)))
        .collect()
}

/// As Go prints it.
fn shown(value: Option<&Value>) -> Box<str> {
    match value {
        None | Some(Value::Null) => "".into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    }
}
