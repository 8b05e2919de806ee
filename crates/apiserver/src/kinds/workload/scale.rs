//! The `scale` subresource.

use serde_json::{Value, json};

use super::selector;
use crate::{
    invalid::{Errors, Path},
    kinds::{
        Column, DeleteAnswers, Held, Kind, KindRef, Strategy, fixed,
        pod::validate,
        read::{at, entry, number},
    },
    table,
};

/// How a Scale is shown. It is not stored, and not in the table of kinds.
pub(crate) static SCALE: KindRef = Held::Static(&Kind {
    group: fixed("autoscaling"),
    version: fixed("v1"),
    kind: fixed("Scale"),
    plural: fixed("scales"),
    singular: fixed("scale"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.autoscaling.v1.Scale"),
    verbs: &[],
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: false,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        Column { format: "", ..table::NAME },
        Column {
            name: "Desired",
            type_: "integer",
            format: "",
            priority: 0,
            description: "io.k8s.api.autoscaling.v1.ScaleSpec#replicas",
            cell: |scale, _| json!(number(scale, &["spec", "replicas"]).unwrap_or_default()),
        },
        Column {
            name: "Available",
            type_: "integer",
            format: "",
            priority: 0,
            description: "io.k8s.api.autoscaling.v1.ScaleStatus#replicas",
            cell: |scale, _| json!(number(scale, &["status", "replicas"]).unwrap_or_default()),
        },
        table::AGE,
    ],
    strategy: Held::Static(&ScaleStrategy),
    custom: None,
});

#[derive(Debug)]
struct ScaleStrategy;

impl Strategy for ScaleStrategy {}

/// An object's Scale, of `autoscaling/v1`. All kinds that have one store it in the same fields.
pub(crate) fn scale_of(_: &Kind, object: &Value) -> Value {
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {},
        "spec": {},
        "status": {"replicas": number(object, &["status", "replicas"]).unwrap_or_default()},
    });
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        let value = at(object, &["metadata", name]);
        if !value.is_null() {
            scale["metadata"][name] = value.clone();
        }
    }
    let replicas = number(object, &["spec", "replicas"]).unwrap_or_default();
    if replicas != 0 {
        scale["spec"]["replicas"] = json!(replicas);
    }
    let selector =
        selector::compiled(at(object, &["spec", "selector"])).map(|selector| selector.to_string());
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = json!(selector);
    }
    scale
}

/// Applies a Scale to an object. Errors are about the Scale, and then nothing is changed.
pub(crate) fn apply_scale(object: &mut Value, scale: &Value) -> Errors {
    let mut errors = Errors::new();
    let replicas = number(scale, &["spec", "replicas"]).unwrap_or_default();
    validate::nonnegative(&mut errors, replicas, &Path::root("spec").child("replicas"));
    if errors.is_empty() {
        *entry(object, &["spec", "replicas"]) = json!(replicas);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::deployment::DEPLOYMENT;

    #[test]
    fn a_scale_carries_replicas_there_and_back() {
        let mut object = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}}});
        assert_eq!(
            scale_of(&DEPLOYMENT, &object),
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {},
                "status": {"replicas": 0, "selector": "app=a"}})
        );
        assert!(apply_scale(&mut object, &json!({"spec": {"replicas": 4}})).is_empty());
        assert_eq!(object["spec"]["replicas"], 4);
        let errors = apply_scale(&mut object, &json!({"spec": {"replicas": -1}}));
        assert_eq!(
            errors[0].to_string(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        assert_eq!(object["spec"]["replicas"], 4);
    }
}
