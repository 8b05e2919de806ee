//! ControllerRevision: a state that a controller can roll back to.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    pod::validate,
    read::{list, number, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) static CONTROLLER_REVISION: KindRef = Held::Static(&Kind {
    group: fixed("apps"),
    version: fixed("v1"),
    kind: fixed("ControllerRevision"),
    plural: fixed("controllerrevisions"),
    singular: fixed("controllerrevision"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.apps.v1.ControllerRevision"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        Column {
            name: "Controller",
            type_: "string",
            format: "",
            priority: 0,
            description: "Controller of the object",
            cell: |object, _| json!(controller(object)),
        },
        Column {
            name: "Revision",
            type_: "string",
            format: "",
            priority: 0,
            description: "io.k8s.api.apps.v1.ControllerRevision#revision",
            cell: |object, _| json!(number(object, &["revision"]).unwrap_or_default()),
        },
        table::AGE,
    ],
    strategy: Held::Static(&ControllerRevisionStrategy),
    custom: None,
});

#[derive(Debug)]
struct ControllerRevisionStrategy;

impl Strategy for ControllerRevisionStrategy {
    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        let mut errors = validate_revision(object);
        let missing = match &object["data"] {
            Value::Object(_) => return errors,
            Value::Null => "data is mandatory",
            _ => "data must be a valid JSON object",
        };
        errors.push(FieldError::required(Path::root("data"), missing));
        errors
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let mut errors = validate_revision(new);
        if new["data"] != old["data"] {
            let path = Path::root("data");
            errors.push(FieldError::invalid(path, &new["data"], "field is immutable"));
        }
        errors
    }
}

fn validate_revision(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let revision = number(object, &["revision"]).unwrap_or_default();
    validate::nonnegative(&mut errors, revision, &Path::root("revision"));
    errors
}

/// `daemonset.apps/NAME`.
fn controller(object: &Value) -> String {
    let mut owners = list(object, &["metadata", "ownerReferences"]).iter();
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else {
        return "<none>".to_owned();
    };
    let group = text(owner, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    let dot = if group.is_empty() { "" } else { "." };
    let kind = format!("{}{dot}{group}", text(owner, &["kind"])).to_lowercase();
    format!("{kind}/{}", text(owner, &["name"]))
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn a_revision_has_data_and_is_not_negative() {
        let at = facts::admission();
        for (object, expected) in [
            (json!({"data": {"spec": {}}, "revision": 1}), &[][..]),
            (json!({"data": {}}), &[]),
            (json!({"revision": 1}), &["data: Required value: data is mandatory"]),
            (json!({"data": [1]}), &["data: Required value: data must be a valid JSON object"]),
            (
                json!({"revision": -1}),
                &[
                    "revision: Invalid value: -1: must be greater than or equal to 0",
                    "data: Required value: data is mandatory",
                ],
            ),
        ] {
            let errors = ControllerRevisionStrategy.validate_create(&object, &at);
            assert_eq!(facts::texts(&errors), expected, "{object}");
        }
    }

    #[test]
    fn data_stays_as_it_was_made_and_the_number_may_grow() {
        let at = facts::admission();
        let old = json!({"data": {"a": 1}, "revision": 1});
        for (new, expected) in [
            (json!({"data": {"a": 1}, "revision": 2}), &[][..]),
            (
                json!({"data": {"a": 2}, "revision": -1}),
                &[
                    "revision: Invalid value: -1: must be greater than or equal to 0",
                    "data: Invalid value: {\"a\":2}: field is immutable",
                ],
            ),
        ] {
            let errors = ControllerRevisionStrategy.validate_update(Part::Main, &new, &old, &at);
            assert_eq!(facts::texts(&errors), expected, "{new}");
        }
    }

    #[test]
    fn the_controller_is_shown_with_its_kind_and_group() {
        let owned = |version: &str, kind: &str| {
            let owner =
                json!({"apiVersion": version, "kind": kind, "name": "a", "controller": true});
            json!({"metadata": {"ownerReferences": [{"kind": "X", "name": "x"}, owner]}})
        };
        for (object, expected) in [
            (json!({}), "<none>"),
            (owned("apps/v1", "DaemonSet"), "daemonset.apps/a"),
            (owned("v1", "Pod"), "pod/a"),
        ] {
            assert_eq!(controller(&object), expected);
        }
    }
}
