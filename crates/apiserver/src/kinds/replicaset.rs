//! ReplicaSet.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed,
    read::number,
    workload::{self, columns},
};
use crate::{
    invalid::Errors,
    table::{AGE, NAME},
};

pub(crate) static REPLICA_SET: KindRef = Held::Static(&Kind {
    group: fixed("apps"),
    version: fixed("v1"),
    kind: fixed("ReplicaSet"),
    plural: fixed("replicasets"),
    singular: fixed("replicaset"),
    short_names: Held::Static(&[fixed("rs")]),
    categories: Held::Static(&[fixed("all")]),
    namespaced: true,
    schema: fixed("io.k8s.api.apps.v1.ReplicaSet"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Scale, Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&ReplicaSetStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    columns::integer("Desired", "io.k8s.api.apps.v1.ReplicaSetSpec#replicas", |object, _| {
        json!(number(object, &["spec", "replicas"]).unwrap_or_default())
    }),
    columns::integer("Current", "io.k8s.api.apps.v1.ReplicaSetStatus#replicas", |object, _| {
        json!(number(object, &["status", "replicas"]).unwrap_or_default())
    }),
    columns::integer("Ready", "io.k8s.api.apps.v1.ReplicaSetStatus#readyReplicas", |object, _| {
        json!(number(object, &["status", "readyReplicas"]).unwrap_or_default())
    }),
    AGE,
    columns::CONTAINERS,
    columns::IMAGES,
    columns::selector("io.k8s.api.apps.v1.ReplicaSetSpec#selector", |object, _| {
        json!(columns::selector_or_none(object))
    }),
];

#[derive(Debug)]
struct ReplicaSetStrategy;

impl Strategy for ReplicaSetStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        workload::default_template(object);
        workload::default_field(object, "replicas", json!(1));
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
        object["status"] = json!({"replicas": 0});
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate_spec(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        if part == Part::Status {
            return workload::keep_spec(new, old);
        }
        workload::keep_status(new, old);
        if workload::differs(new, old, &["spec"]) {
            workload::raise_generation(new, old);
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        if part == Part::Status {
            return validate_status(new);
        }
        let mut errors = validate_spec(new);
        workload::immutable_selector(&mut errors, new, old);
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            Some(old) if !workload::generation_changed(new, old) => Vec::new(),
            old => workload::warnings(new, old.is_none()),
        }
    }
}

fn validate_spec(object: &Value) -> Errors {
    let mut errors = Errors::new();
    workload::nonnegative(&mut errors, object, "spec", &["replicas", "minReadySeconds"]);
    workload::validate_template(&mut errors, object);
    errors
}

fn validate_status(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    workload::nonnegative(&mut errors, object, "status", &["replicas"]);
    workload::nonnegative(&mut errors, object, "status", &parts);
    let others = ["observedGeneration", "terminatingReplicas"];
    workload::nonnegative(&mut errors, object, "status", &others);
    workload::counts(&mut errors, object, &parts);
    errors
}
