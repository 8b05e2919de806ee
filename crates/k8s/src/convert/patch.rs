//! Changes as patches, so that what others keep in an object's metadata stays.
//!
//! Each carries its precondition: a patch that names a `resourceVersion` or a `uid` which is not
//! that of the object is refused as a conflict.

use std::sync::Arc;

use evenkeel_model::{Condition, Slice, Topology, Version, label};
use k8s_openapi::api::discovery::v1 as discovery;
use serde_json::{Map, Value, json};

use crate::convert::to_endpoint_slice::{endpoint, port, shares_text, trigger_time};

/// A merge patch that brings the object in state `version` to `slice`. The labels `gone` are
/// removed; labels that neither names stay. Without a trigger (seconds since 1970) its annotation
/// is removed, as Kubernetes does, and so is that of zone shares if the slice has none.
///
/// # Panics
/// With ids that are not from `topology`.
pub fn slice_patch(
    slice: &Slice,
    topology: &Topology,
    version: &Version,
    gone: &[Arc<str>],
    trigger: Option<i64>,
) -> Value {
    let endpoints = slice.endpoints.iter().map(|given| endpoint(given, topology));
    let endpoints: Vec<discovery::Endpoint> = endpoints.collect();
    let ports: Vec<discovery::EndpointPort> = slice.ports.iter().map(port).collect();
    let removed = gone.iter().map(|key| (key.to_string(), Value::Null));
    let kept = slice.labels.iter().map(|(key, value)| (key.to_string(), json!(**value)));
    let labels: Map<String, Value> = removed.chain(kept).collect();
    json!({
        "metadata": {
            "resourceVersion": &*version.resource_version,
            "labels": labels,
            "annotations": {
                label::TRIGGER_TIME: trigger.and_then(trigger_time),
                label::ZONE_SHARES: shares_text(slice, topology),
            },
        },
        "endpoints": endpoints,
        "ports": ports,
    })
}

/// A merge patch that only changes who manages the slice in state `version`. Zone shares hold for the
/// slices of the controller that wrote them, so they are removed: others keep annotations that they
/// don't know.
pub fn relabel_patch(version: &Version, manager: &str) -> Value {
    json!({
        "metadata": {
            "resourceVersion": &*version.resource_version,
            "labels": { label::MANAGED_BY: manager },
            "annotations": { label::ZONE_SHARES: null },
        },
    })
}

/// A strategic merge patch of the status of the Service with this `uid`. Conditions are merged by
/// their type: those that are not named stay. `true` beside a condition gives it `now`, in RFC
/// 3339, as the time of its last transition; otherwise it keeps its own.
pub fn conditions_patch(
    uid: &str,
    set: &[(Condition, bool)],
    remove: &[Arc<str>],
    now: &str,
) -> Value {
    let set = set.iter().map(|(given, flips)| condition(given, flips.then_some(now)));
    let remove = remove.iter().map(|kind| json!({"type": **kind, "$patch": "delete"}));
    let conditions: Vec<Value> = set.chain(remove).collect();
    json!({"metadata": {"uid": uid}, "status": {"conditions": conditions}})
}

fn condition(given: &Condition, changed: Option<&str>) -> Value {
    let mut condition = json!({
        "type": *given.kind,
        "status": if given.status { "True" } else { "False" },
        "reason": *given.reason,
        "message": *given.message,
    });
    if let Some(time) = changed {
        condition["lastTransitionTime"] = time.into();
    }
    condition
}
