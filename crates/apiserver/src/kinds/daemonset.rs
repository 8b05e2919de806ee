//! DaemonSet.
//!
//! The generation of the template alone is stored in an annotation, for older clients.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    deployment, fixed,
    pod::validate,
    read::{at, entry, number, text},
    workload::{self, columns, percent, selector},
};
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    table::{AGE, NAME},
};

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) static DAEMON_SET: KindRef = Held::Static(&Kind {
    group: fixed("apps"),
    version: fixed("v1"),
    kind: fixed("DaemonSet"),
    plural: fixed("daemonsets"),
    singular: fixed("daemonset"),
    short_names: Held::Static(&[fixed("ds")]),
    categories: Held::Static(&[fixed("all")]),
    namespaced: true,
    schema: fixed("io.k8s.api.apps.v1.DaemonSet"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&DaemonSetStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    columns::integer(
        "Desired",
        "io.k8s.api.apps.v1.DaemonSetStatus#desiredNumberScheduled",
        |object, _| json!(count(object, "desiredNumberScheduled")),
    ),
    columns::integer(
        "Current",
        "io.k8s.api.apps.v1.DaemonSetStatus#currentNumberScheduled",
        |object, _| json!(count(object, "currentNumberScheduled")),
    ),
    columns::integer("Ready", "io.k8s.api.apps.v1.DaemonSetStatus#numberReady", |object, _| {
        json!(count(object, "numberReady"))
    }),
    columns::integer(
        "Up-to-date",
        "io.k8s.api.apps.v1.DaemonSetStatus#updatedNumberScheduled",
        |object, _| json!(count(object, "updatedNumberScheduled")),
    ),
    columns::integer(
        "Available",
        "io.k8s.api.apps.v1.DaemonSetStatus#numberAvailable",
        |object, _| json!(count(object, "numberAvailable")),
    ),
    Column {
        name: "Node Selector",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.core.v1.PodSpec#nodeSelector",
        cell: |object, _| {
            json!(columns::labels_or_none(at(
                object,
                &["spec", "template", "spec", "nodeSelector"]
            )))
        },
    },
    AGE,
    columns::CONTAINERS,
    columns::IMAGES,
    columns::selector("io.k8s.api.apps.v1.DaemonSetSpec#selector", |object, _| {
        json!(columns::selector_or_none(object))
    }),
];

fn count(object: &Value, name: &str) -> i64 {
    number(object, &["status", name]).unwrap_or_default()
}

#[derive(Debug)]
struct DaemonSetStrategy;

impl Strategy for DaemonSetStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        workload::default_template(object);
        workload::default_field(object, "revisionHistoryLimit", json!(10));
        default_strategy(entry(object, &["spec", "updateStrategy"]));
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
        for name in [
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberMisscheduled",
            "numberReady",
        ] {
            *entry(object, &["status", name]) = json!(0);
        }
        set_template_generation(object, template_generation(object).max(1));
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate_spec(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        let generation = template_generation(old);
        if part == Part::Status {
            workload::keep_spec(new, old);
            return set_template_generation(new, generation);
        }
        workload::keep_status(new, old);
        let new_template = workload::differs(new, old, &["spec", "template"]);
        set_template_generation(new, generation + i64::from(new_template));
        if workload::differs(new, old, &["spec"]) {
            workload::raise_generation(new, old);
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        if part == Part::Status {
            return validate_status(new, old);
        }
        let mut errors = Errors::new();
        workload::immutable_selector(&mut errors, new, old);
        errors.extend(validate_spec(new));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            Some(old) if template_generation(new) == template_generation(old) => Vec::new(),
            _ => workload::warnings(new, false),
        }
    }
}

fn template_generation(object: &Value) -> i64 {
    text(object, &["metadata", "annotations", TEMPLATE_GENERATION]).parse().unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    *entry(object, &["metadata", "annotations", TEMPLATE_GENERATION]) =
        json!(generation.to_string());
}

fn default_strategy(strategy: &mut Value) {
    if text(strategy, &["type"]).is_empty() {
        *entry(strategy, &["type"]) = json!("RollingUpdate");
    }
    if text(strategy, &["type"]) != "RollingUpdate" {
        return;
    }
    for (name, value) in [("maxUnavailable", 1), ("maxSurge", 0)] {
        let share = entry(strategy, &["rollingUpdate", name]);
        if share.is_null() {
            *share = json!(value);
        }
    }
}

fn validate_spec(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::root("spec");
    let given = &object["spec"]["selector"];
    validate::label_selector(&mut errors, given, &path.child("selector"));
    if let Some(selector) = selector::compiled(given) {
        workload::fits(&mut errors, &selector, object);
    }
    if given.is_object() && workload::is_empty(given) {
        errors.push(workload::selector_error(given, "empty selector is invalid for daemonset"));
    }
    errors.extend(validate::template(&object["spec"]["template"], &path.child("template")));
    workload::always_restarts(&mut errors, object, "DaemonSet");
    workload::nonnegative(&mut errors, object, "spec", &["minReadySeconds"]);
    let generation = template_generation(object);
    validate::nonnegative(&mut errors, generation, &path.child("templateGeneration"));
    strategy(&mut errors, &object["spec"]["updateStrategy"], &path.child("updateStrategy"));
    workload::nonnegative(&mut errors, object, "spec", &["revisionHistoryLimit"]);
    errors
}

fn strategy(errors: &mut Errors, strategy: &Value, path: &Path) {
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" if rolling.is_object() => {
            rolling_update(errors, rolling, &path.child("rollingUpdate"));
        }
        "RollingUpdate" => errors.push(FieldError::required(path.child("rollingUpdate"), "")),
        _ => {
            let mut error = FieldError::not_supported(
                path.clone(),
                &Value::Null,
                &["RollingUpdate", "OnDelete"],
            );
            error.type_ = FieldErrorType::NotSupported(deployment::declared(strategy));
            errors.push(error);
        }
    }
}

fn rolling_update(errors: &mut Errors, rolling: &Value, path: &Path) {
    let parts = ["maxUnavailable", "maxSurge"].map(|name| (&rolling[name], path.child(name)));
    for (value, path) in &parts {
        percent::positive(errors, value, path);
    }
    for (value, path) in &parts {
        percent::at_most_all(errors, value, path);
    }
    let [(unavailable, unavailable_path), (surge, surge_path)] = parts;
    match (percent::amount(unavailable) != 0, percent::amount(surge) != 0) {
        (true, true) => {
            let message = "may not be set when maxUnavailable is non-zero";
            errors.push(FieldError::invalid(surge_path, surge, message));
        }
        (false, false) => {
            let message = "cannot be 0 when maxSurge is 0";
            errors.push(FieldError::required(unavailable_path, message));
        }
        _ => {}
    }
}

fn validate_status(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let counts = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    workload::nonnegative(&mut errors, new, "status", &counts);
    workload::collisions(&mut errors, new, old);
    errors
}
