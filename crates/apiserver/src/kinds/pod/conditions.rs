//! Conditions that the server itself sets on a pod.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::read::{entry, list, text};

/// Records that a Pod is being evicted, and by whom.
pub(crate) fn evicted(pod: &mut Value, now: Timestamp) {
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    set(entry(pod, &["status"]), &condition, now);
}

/// Sets a condition; its transition time changes only with its status.
pub(super) fn set(status: &mut Value, condition: &Value, now: Timestamp) {
    let mut condition = condition.clone();
    let kind = text(&condition, &["type"]).to_owned();
    let old = list(status, &["conditions"]).iter().position(|old| text(old, &["type"]) == kind);
    let unchanged = old
        .map(|i| &status["conditions"][i])
        .filter(|old| old["status"] == condition["status"])
        .map(|old| old["lastTransitionTime"].clone());
    condition["lastProbeTime"] = Value::Null;
    condition["lastTransitionTime"] = unchanged.unwrap_or_else(|| json!(seconds(now)));
    match old {
        Some(i) => status["conditions"][i] = condition,
        None => match entry(status, &["conditions"]) {
            Value::Array(conditions) => conditions.push(condition),
            other => *other = json!([condition]),
        },
    }
}

/// A time as Kubernetes writes it, in whole seconds.
fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second())
        .map_or_else(|_| now.to_string(), |whole| whole.to_string())
}
