//! Deployment.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed,
    read::{at, carry_over, entry, number, text},
    workload::{self, columns, percent, selector},
};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    table::{AGE, NAME},
};

pub(crate) static DEPLOYMENT: KindRef = Held::Static(&Kind {
    group: fixed("apps"),
    version: fixed("v1"),
    kind: fixed("Deployment"),
    plural: fixed("deployments"),
    singular: fixed("deployment"),
    short_names: Held::Static(&[fixed("deploy")]),
    categories: Held::Static(&[fixed("all")]),
    namespaced: true,
    schema: fixed("io.k8s.api.apps.v1.Deployment"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Scale, Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&DeploymentStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Ready",
        type_: "string",
        format: "",
        priority: 0,
        description: "Number of the pod with ready state",
        cell: |object, _| {
            let desired = number(object, &["spec", "replicas"]).unwrap_or_default();
            json!(format!("{}/{desired}", count(object, "readyReplicas")))
        },
    },
    Column {
        name: "Up-to-date",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.apps.v1.DeploymentStatus#updatedReplicas",
        cell: |object, _| json!(count(object, "updatedReplicas")),
    },
    Column {
        name: "Available",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.apps.v1.DeploymentStatus#availableReplicas",
        cell: |object, _| json!(count(object, "availableReplicas")),
    },
    AGE,
    columns::CONTAINERS,
    columns::IMAGES,
    columns::selector("io.k8s.api.apps.v1.DeploymentSpec#selector", |object, _| {
        let selector = selector::compiled(at(object, &["spec", "selector"]));
        json!(selector.map_or_else(|| "<invalid>".to_owned(), |selector| selector.to_string()))
    }),
];

fn count(object: &Value, name: &str) -> i64 {
    number(object, &["status", name]).unwrap_or_default()
}

#[derive(Debug)]
struct DeploymentStrategy;

impl Strategy for DeploymentStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        workload::default_template(object);
        for (name, value) in
            [("replicas", 1), ("revisionHistoryLimit", 10), ("progressDeadlineSeconds", 600)]
        {
            workload::default_field(object, name, json!(value));
        }
        default_strategy(entry(object, &["spec", "strategy"]));
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate_spec(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        if part == Part::Status {
            workload::keep_spec(new, old);
            return carry_over(new, old, &["metadata", "labels"]);
        }
        workload::keep_status(new, old);
        if workload::differs(new, old, &["spec"]) || annotated_anew(new, old) {
            workload::raise_generation(new, old);
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        if part == Part::Status {
            return validate_status(new, old);
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

/// Annotations increment the generation of a Deployment: they are copied to its ReplicaSets.
fn annotated_anew(new: &Value, old: &Value) -> bool {
    let annotations = |object: &Value| match at(object, &["metadata", "annotations"]) {
        Value::Null => json!({}),
        annotations => annotations.clone(),
    };
    annotations(new) != annotations(old)
}

fn default_strategy(strategy: &mut Value) {
    if text(strategy, &["type"]).is_empty() {
        *entry(strategy, &["type"]) = json!("RollingUpdate");
    }
    if text(strategy, &["type"]) != "RollingUpdate" {
        return;
    }
    for name in ["maxUnavailable", "maxSurge"] {
        let share = entry(strategy, &["rollingUpdate", name]);
        if share.is_null() {
            *share = json!("25%");
        }
    }
}

fn validate_spec(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::root("spec");
    workload::nonnegative(&mut errors, object, "spec", &["replicas"]);
    workload::validate_template(&mut errors, object);
    strategy(&mut errors, &object["spec"]["strategy"], &path.child("strategy"));
    workload::nonnegative(
        &mut errors,
        object,
        "spec",
        &["minReadySeconds", "revisionHistoryLimit"],
    );
    if let Some(deadline) = number(object, &["spec", "progressDeadlineSeconds"]) {
        workload::nonnegative(&mut errors, object, "spec", &["progressDeadlineSeconds"]);
        if deadline <= number(object, &["spec", "minReadySeconds"]).unwrap_or_default() {
            let path = path.child("progressDeadlineSeconds");
            let message = "must be greater than minReadySeconds";
            errors.push(FieldError::invalid(path, &json!(deadline), message));
        }
    }
    errors
}

fn strategy(errors: &mut Errors, strategy: &Value, path: &Path) {
    let rolling = &strategy["rollingUpdate"];
    let rolling_path = path.child("rollingUpdate");
    match text(strategy, &["type"]) {
        "Recreate" => {
            if rolling.is_object() {
                let message = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(rolling_path, message));
            }
        }
        "RollingUpdate" if rolling.is_object() => rolling_update(errors, rolling, &rolling_path),
        "RollingUpdate" => {
            let message = "this should be defaulted and never be nil";
            errors.push(FieldError::required(rolling_path, message));
        }
        _ => {
            let mut error = FieldError::not_supported(
                path.clone(),
                &Value::Null,
                &["Recreate", "RollingUpdate"],
            );
            error.type_ = FieldErrorType::NotSupported(declared(strategy));
            errors.push(error);
        }
    }
}

/// A strategy as JSON of Kubernetes' internal type.
pub(crate) fn declared(strategy: &Value) -> String {
    let rolling = &strategy["rollingUpdate"];
    let rolling = match rolling.is_object() {
        true => {
            let [unavailable, surge] =
                ["maxUnavailable", "maxSurge"].map(|name| percent::shown(&rolling[name]));
            format!("{{\"MaxUnavailable\":{unavailable},\"MaxSurge\":{surge}}}")
        }
        false => "null".to_owned(),
    };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", json!(text(strategy, &["type"])))
}

fn rolling_update(errors: &mut Errors, rolling: &Value, path: &Path) {
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    percent::positive(errors, unavailable, &path.child("maxUnavailable"));
    percent::positive(errors, surge, &path.child("maxSurge"));
    if percent::amount(unavailable) == 0 && percent::amount(surge) == 0 {
        let message = "may not be 0 when `maxSurge` is 0";
        let shown = percent::shown(unavailable);
        errors.push(FieldError::invalid(path.child("maxUnavailable"), &shown, message));
    }
    percent::at_most_all(errors, unavailable, &path.child("maxUnavailable"));
}

fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let counts = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    workload::nonnegative(&mut errors, new, "status", &counts);
    workload::counts(&mut errors, new, &["updatedReplicas", "readyReplicas", "availableReplicas"]);
    workload::collisions(&mut errors, new, old);
    errors
}
