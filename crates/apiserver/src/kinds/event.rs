//! Event, in its two API groups.
//!
//! Core and `events.k8s.io` show the same stored object. It is stored in the form of core;
//! [`to_v1`] and [`from_v1`] convert the field names. Strategy, columns and selectable fields
//! accept either form.

mod columns;
mod convert;
mod validate;

use serde_json::Value;

pub(crate) use self::convert::{from_v1, to_v1};
use super::{
    Admission, Alias, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed, names,
    read::{at, text},
};
use crate::invalid::Errors;

pub(crate) static EVENT: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Event"),
    plural: fixed("events"),
    singular: fixed("event"),
    short_names: Held::Static(&[fixed("ev")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.Event"),
    verbs: EVERY_VERB,
    subresources: &[],
    // Fields that both kinds have are in the same order: the kinds share stored objects.
    fields: &[
        ("involvedObject.kind", |object| involved(object, "kind")),
        ("involvedObject.namespace", |object| involved(object, "namespace")),
        ("involvedObject.name", |object| involved(object, "name")),
        ("involvedObject.uid", |object| involved(object, "uid")),
        ("involvedObject.apiVersion", |object| involved(object, "apiVersion")),
        ("involvedObject.resourceVersion", |object| involved(object, "resourceVersion")),
        ("involvedObject.fieldPath", |object| involved(object, "fieldPath")),
        ("reason", |object| text(object, &["reason"]).to_owned()),
        ("reportingComponent", |object| controller(object).to_owned()),
        ("type", |object| text(object, &["type"]).to_owned()),
        ("source", source),
    ],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&EventStrategy { strict: false }),
    custom: None,
});

pub(crate) static EVENT_V1: KindRef = Held::Static(&Kind {
    group: fixed("events.k8s.io"),
    version: fixed("v1"),
    kind: fixed("Event"),
    plural: fixed("events"),
    singular: fixed("event"),
    short_names: Held::Static(&[fixed("ev")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.events.v1.Event"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[
        ("regarding.kind", |object| involved(object, "kind")),
        ("regarding.namespace", |object| involved(object, "namespace")),
        ("regarding.name", |object| involved(object, "name")),
        ("regarding.uid", |object| involved(object, "uid")),
        ("regarding.apiVersion", |object| involved(object, "apiVersion")),
        ("regarding.resourceVersion", |object| involved(object, "resourceVersion")),
        ("regarding.fieldPath", |object| involved(object, "fieldPath")),
        ("reason", |object| text(object, &["reason"]).to_owned()),
        ("reportingController", |object| controller(object).to_owned()),
        ("type", |object| text(object, &["type"]).to_owned()),
    ],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: Some(Alias { of: &EVENT, from_stored: to_v1, to_stored: from_v1 }),
    columns: columns::COLUMNS,
    strategy: Held::Static(&EventStrategy { strict: true }),
    custom: None,
});

/// Core validates little, for compatibility with old clients; `events.k8s.io` is strict.
#[derive(Debug)]
struct EventStrategy {
    strict: bool,
}

impl Strategy for EventStrategy {
    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate::create(&in_core_form(object), self.strict)
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        validate::update(&in_core_form(new), &in_core_form(old), self.strict)
    }

    fn name(&self) -> names::Check {
        if self.strict { names::Check::Subdomain } else { names::Check::PathSegment }
    }
}

fn in_core_form(object: &Value) -> Value {
    if text(object, &["apiVersion"]).starts_with("events.k8s.io/") {
        return from_v1(object);
    }
    object.clone()
}

/// A field by its name in core, or by that in `events.k8s.io`.
fn either<'a>(object: &'a Value, core: &str, v1: &str) -> &'a Value {
    match at(object, &[core]) {
        Value::Null => at(object, &[v1]),
        found => found,
    }
}

fn involved(object: &Value, field: &str) -> String {
    text(either(object, "involvedObject", "regarding"), &[field]).to_owned()
}

fn controller(object: &Value) -> &str {
    either(object, "reportingComponent", "reportingController").as_str().unwrap_or_default()
}

fn source(object: &Value) -> String {
    match text(either(object, "source", "deprecatedSource"), &["component"]) {
        "" => controller(object).to_owned(),
        component => component.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_two_kinds_agree_on_the_places_of_fields() {
        let event = json!({
            "involvedObject": {"kind": "Pod", "name": "p", "uid": "u"},
            "reason": "R",
            "reportingComponent": "c",
            "type": "Normal",
        });
        let read = |kind: &Kind, object: &Value| -> Vec<String> {
            kind.fields.iter().map(|(_, read)| read(object)).collect()
        };
        let core = read(&EVENT, &event);
        assert_eq!(core, ["Pod", "", "p", "u", "", "", "", "R", "c", "Normal", "c"]);
        let v1 = read(&EVENT_V1, &to_v1(&event));
        assert_eq!(v1, core[..v1.len()]);
        assert_eq!(read(&EVENT_V1, &event), v1);
    }
}
