//! The conditions of a definition. Source: `pkg/apihelpers/helpers.go`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::{
    metadata::seconds,
    read::{at, entry, list, text},
};

pub(crate) const ESTABLISHED: &str = "Established";
pub(crate) const NAMES_ACCEPTED: &str = "NamesAccepted";
pub(crate) const TERMINATING: &str = "Terminating";
pub(crate) const APPROVAL_CONFORMANT: &str = "KubernetesAPIApprovalPolicyConformant";

/// A condition to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

pub(crate) fn find<'a>(definition: &'a Value, type_: &str) -> Option<&'a Value> {
    let mut conditions = list(definition, &["status", "conditions"]).iter();
    conditions.find(|condition| text(condition, &["type"]) == type_)
}

pub(crate) fn is_true(definition: &Value, type_: &str) -> bool {
    find(definition, type_).is_some_and(|condition| text(condition, &["status"]) == "True")
}

/// Sets a condition: a new one at the end, and the time only if the status changes. Whether
/// anything changed.
pub(crate) fn set(definition: &mut Value, condition: &Condition, now: Timestamp) -> bool {
    let Condition { type_, status, reason, message } = condition;
    let conditions = entry(definition, &["status", "conditions"]);
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return false };
    let Some(present) = conditions.iter_mut().find(|present| text(present, &["type"]) == *type_)
    else {
        conditions.push(json!({
            "type": type_,
            "status": status,
            "lastTransitionTime": seconds(now),
            "reason": reason,
            "message": message,
        }));
        return true;
    };
    let before = present.clone();
    if text(present, &["status"]) != *status || at(present, &["lastTransitionTime"]).is_null() {
        *entry(present, &["lastTransitionTime"]) = json!(seconds(now));
    }
    for (name, value) in [("status", *status), ("reason", *reason), ("message", message.as_str())] {
        *entry(present, &[name]) = json!(value);
    }
    *present != before
}

/// Removes a condition. Whether there was one.
pub(crate) fn remove(definition: &mut Value, type_: &str) -> bool {
    let Some(conditions) = definition.pointer_mut("/status/conditions") else { return false };
    let Value::Array(conditions) = conditions else { return false };
    let before = conditions.len();
    conditions.retain(|condition| text(condition, &["type"]) != type_);
    conditions.len() != before
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: &str = "2026-01-01T00:00:00Z";
    const LATE: &str = "2026-01-02T00:00:00Z";

    #[test]
    fn the_time_is_that_of_the_last_change_of_status() {
        let condition = |status, reason| Condition {
            type_: ESTABLISHED,
            status,
            reason,
            message: "m".to_owned(),
        };
        let mut definition = json!({"status": {"conditions": null}});
        let mut step = |status, reason, now: &str| {
            let now = now.parse().unwrap();
            let changed = set(&mut definition, &condition(status, reason), now);
            let time = definition["status"]["conditions"][0]["lastTransitionTime"].clone();
            (changed, time)
        };
        for (status, reason, now, expected) in [
            ("False", "A", EARLY, (true, json!(EARLY))),
            ("False", "A", LATE, (false, json!(EARLY))),
            ("False", "B", LATE, (true, json!(EARLY))),
            ("True", "B", LATE, (true, json!(LATE))),
        ] {
            assert_eq!(step(status, reason, now), expected);
        }
        assert!(is_true(&definition, ESTABLISHED));
        assert!(!is_true(&definition, TERMINATING));
        assert!(remove(&mut definition, ESTABLISHED));
        assert!(!remove(&mut definition, ESTABLISHED));
        assert_eq!(definition, json!({"status": {"conditions": []}}));
    }
}
