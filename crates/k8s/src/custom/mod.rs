//! The kinds of `evenkeel.dev`, as custom resources: types, schemas and definitions. Those of
//! `kuma.io` are in [`mesh`].
//!
//! `cargo xtask crds` writes [`definitions`] to `deploy/crds` and [`mesh::definitions`] to
//! `deploy/crds/mesh`, from where users install them and the embedded API server compiles them in.
//! Adding a kind: a file with its types, a line in `KINDS`.
//!
//! A schema rejects what is certainly wrong. What it can't see (a regular expression that is none,
//! an object that depends on others) is a condition of the object. What the dialect accepts, the
//! schema accepts; `tests/k8s/custom` checks both directions.

pub mod mesh;

mod flow_schema;
mod request_priority;
mod status;

use evenkeel_model::label::DEFINITION_VERSION;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

pub use self::{
    flow_schema::{
        Attribute, Conjunction, Distinguisher, FlowSchema, FlowSchemaSpec, InSet, LevelReference,
        PatternMatch, Test, ToValue, Transformation,
    },
    request_priority::{RequestPriority, RequestPrioritySpec},
    status::FairnessStatus,
};

/// Each kind, by its definition.
const KINDS: &[fn() -> CustomResourceDefinition] = &[FlowSchema::crd, RequestPriority::crd];

/// The CustomResourceDefinitions of all kinds, each with the version of this program.
pub fn definitions() -> Vec<Value> {
    KINDS.iter().map(|definition| manifest(&definition())).collect()
}

fn manifest(definition: &CustomResourceDefinition) -> Value {
    let mut value = serde_json::to_value(definition).expect("strings are its only keys");
    value["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "evenkeel"});
    value["metadata"]["annotations"] = json!({DEFINITION_VERSION: env!("CARGO_PKG_VERSION")});
    as_by_hand(&mut value);
    value
}

/// Descriptions without the line breaks of the source, whole numbers without a fraction.
fn as_by_hand(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            fields.values_mut().for_each(as_by_hand);
        }
        Value::Array(items) => items.iter_mut().for_each(as_by_hand),
        Value::Number(number) => {
            // Kubernetes' type has floats only; those of our schemas are exact.
            if let Some(whole) = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15) {
                *number = (whole as i64).into();
            }
        }
        _ => {}
    }
}
