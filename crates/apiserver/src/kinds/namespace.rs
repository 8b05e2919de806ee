//! Namespace: its strategy, and its two special writes, termination and finalize.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, Held, Kind, KindRef, Part, PartStrategy, Strategy,
    Subresource, fixed, names,
    read::{at, carry_over, entry, list, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

/// Namespaces that can't be deleted.
const KEPT: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(crate) static NAMESPACE: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Namespace"),
    plural: fixed("namespaces"),
    singular: fixed("namespace"),
    short_names: Held::Static(&[fixed("ns")]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.core.v1.Namespace"),
    verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
    subresources: &[
        Subresource::Finalize(PartStrategy {
            prepare: prepare_finalize,
            validate: validate_finalize,
        }),
        Subresource::Status,
    ],
    fields: &[("status.phase", |object| text(object, &["status", "phase"]).to_owned())],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        Column {
            name: "Status",
            type_: "string",
            format: "",
            priority: 0,
            description: "The status of the namespace",
            cell: |object, _| json!(text(object, &["status", "phase"])),
        },
        table::AGE,
    ],
    strategy: Held::Static(&NamespaceStrategy),
    custom: None,
});

const LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

/// Starts the termination: the namespace accepts no new objects. It is removed when
/// `spec.finalizers` is empty and no finalizer is left in its metadata.
pub(crate) fn terminate(namespace: &mut Value, now: Timestamp) {
    if at(namespace, &["metadata", "deletionTimestamp"]).is_null() {
        *entry(namespace, &["metadata", "deletionTimestamp"]) =
            json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    *entry(namespace, &["status", "phase"]) = json!("Terminating");
}

/// Like `prepare_update`, for `namespaces/finalize`, which may change everything but the status.
fn prepare_finalize(new: &mut Value, old: &Value) {
    carry_over(new, old, &["status"]);
}

/// Like `validate_update`, for `namespaces/finalize`.
fn validate_finalize(new: &Value, _: &Value) -> Errors {
    let path = Path::root("spec").child("finalizers");
    let finalizers = list(new, &["spec", "finalizers"]).iter().enumerate();
    finalizers.flat_map(|(index, name)| wrong_finalizer(name, &path.index(index))).collect()
}

#[derive(Debug)]
struct NamespaceStrategy;

impl Strategy for NamespaceStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        label(object);
        if text(object, &["status", "phase"]).is_empty() {
            *entry(object, &["status", "phase"]) = json!("Active");
        }
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        label(object);
        *entry(object, &["status"]) = json!({"phase": "Active"});
        let finalizers = entry(object, &["spec", "finalizers"]);
        let Some(given) = finalizers.as_array_mut() else {
            *finalizers = json!([FINALIZER]);
            return;
        };
        if !given.iter().any(|name| name == FINALIZER) {
            given.push(json!(FINALIZER));
        }
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        label(new);
        match part {
            Part::Main => {
                carry_over(new, old, &["spec", "finalizers"]);
                carry_over(new, old, &["status"]);
            }
            Part::Status => carry_over(new, old, &["spec"]),
        }
    }

    fn validate_update(&self, part: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        match part {
            Part::Main => validate(new),
            Part::Status => wrong_phase(new).into_iter().collect(),
        }
    }

    fn name(&self) -> names::Check {
        names::Check::Label
    }

    fn keeps(&self, name: &str) -> Option<&'static str> {
        KEPT.contains(&name).then_some("this namespace may not be deleted")
    }

    fn ends_by_finalizing(&self) -> bool {
        true
    }

    fn terminate(&self, namespace: &mut Value, now: Timestamp) {
        terminate(namespace, now);
    }

    fn is_finalized(&self, namespace: &Value) -> bool {
        list(namespace, &["spec", "finalizers"]).is_empty()
            && list(namespace, &["metadata", "finalizers"]).is_empty()
    }
}

/// The label that lets selectors match namespaces by name. A generated name does not exist yet when
/// defaults are set, so this runs again afterwards.
fn label(object: &mut Value) {
    let name = text(object, &["metadata", "name"]).to_owned();
    if !name.is_empty() {
        *entry(object, &["metadata", "labels", LABEL]) = json!(name);
    }
}

fn validate(object: &Value) -> Errors {
    let path = Path::root("spec").child("finalizers");
    let finalizers = list(object, &["spec", "finalizers"]).iter();
    finalizers.flat_map(|name| wrong_finalizer(name, &path)).collect()
}

fn wrong_finalizer(name: &Value, path: &Path) -> Errors {
    let text = name.as_str().unwrap_or_default();
    let invalid = |words: String| FieldError::invalid(path.clone(), name, words);
    let mut errors: Errors = names::qualified_name(text).into_iter().map(invalid).collect();
    if !text.contains('/') && ![FINALIZER, "orphan", "foregroundDeletion"].contains(&text) {
        let words = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(invalid(words.to_owned()));
    }
    errors
}

fn wrong_phase(object: &Value) -> Option<FieldError> {
    let (phase, words) = match at(object, &["metadata", "deletionTimestamp"]).is_null() {
        true => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
        false => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    };
    let found = text(object, &["status", "phase"]);
    let path = Path::root("status").child("Phase");
    (found != phase).then(|| FieldError::invalid(path, &json!(found), words))
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn a_new_namespace_is_active_and_held_by_its_finalizer() {
        let at = facts::admission();
        for (given, finalizers) in [
            (json!({}), json!(["kubernetes"])),
            (json!({"finalizers": ["a.io/b"]}), json!(["a.io/b", "kubernetes"])),
            (json!({"finalizers": ["kubernetes"]}), json!(["kubernetes"])),
        ] {
            let mut object =
                json!({"metadata": {"name": "n"}, "spec": given, "status": {"phase": "x"}});
            NamespaceStrategy.default(&mut object, &at);
            NamespaceStrategy.prepare_create(&mut object, &at);
            assert_eq!(
                object,
                json!({
                    "metadata": {"name": "n", "labels": {LABEL: "n"}},
                    "spec": {"finalizers": finalizers},
                    "status": {"phase": "Active"},
                })
            );
            assert!(NamespaceStrategy.validate_create(&object, &at).is_empty());
        }
    }

    #[test]
    fn only_finalize_changes_finalizers() {
        let at = facts::admission();
        let old = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        for part in [Part::Main, Part::Status] {
            let mut new =
                json!({"metadata": {"name": "n"}, "spec": {}, "status": {"phase": "Active"}});
            NamespaceStrategy.prepare_update(part, &mut new, &old, &at);
            assert_eq!(new["spec"], old["spec"]);
        }
        let mut new = json!({"spec": {"finalizers": []}, "status": {"phase": "x"}});
        prepare_finalize(&mut new, &old);
        assert!(NamespaceStrategy.is_finalized(&new));
        assert_eq!(new["status"], old["status"]);
    }

    #[test]
    fn finalizers_are_standard_or_qualified() {
        for (name, words) in [
            ("kubernetes", vec![]),
            ("a.io/b", vec![]),
            (
                "x",
                vec![
                    "spec.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified",
                ],
            ),
        ] {
            let errors = validate_finalize(&json!({"spec": {"finalizers": [name]}}), &json!({}));
            assert_eq!(facts::texts(&errors), words);
        }
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let at = facts::admission();
        let check = |object: &Value| {
            facts::texts(&NamespaceStrategy.validate_update(Part::Status, object, object, &at))
        };
        let mut object = json!({"metadata": {}, "status": {"phase": "Terminating"}});
        assert_eq!(
            check(&object),
            [
                "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
            ]
        );
        terminate(&mut object, "2020-01-01T00:00:00.5Z".parse().unwrap());
        assert_eq!(object["metadata"]["deletionTimestamp"], "2020-01-01T00:00:00Z");
        assert!(check(&object).is_empty());
    }
}
