//! Levels and flow schemas of the scenarios, in Kubernetes' dialect.

use serde_json::{Value, json};

use crate::rig::users::User;

/// A level that neither lends nor borrows, so that its limit never changes.
pub(crate) fn level(name: &str, shares: u32, queues: u32) -> Value {
    let hand = queues.min(6);
    let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": 200});
    json!({
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": name},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": shares,
            "lendablePercent": 0,
            "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Queue", "queuing": queuing},
        }},
    })
}

/// Everything that these do is in the level; `by` is a distinguisher, or empty.
pub(crate) fn schema(name: &str, level: &str, by: &str, subjects: &[Value]) -> Value {
    let rules = json!([{
        "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
        "namespaces": ["*"], "clusterScope": true,
    }]);
    let mut schema = json!({
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "matchingPrecedence": 300,
            "priorityLevelConfiguration": {"name": level},
            "rules": [{"subjects": subjects, "resourceRules": rules}],
        },
    });
    if !by.is_empty() {
        schema["spec"]["distinguisherMethod"] = json!({"type": by});
    }
    schema
}

/// Only these resources of it, before all others.
pub(crate) fn only(mut schema: Value, resources: &[&str]) -> Value {
    schema["spec"]["rules"][0]["resourceRules"][0]["resources"] = json!(resources);
    schema["spec"]["matchingPrecedence"] = 200.into();
    schema
}

pub(crate) fn group(name: &str) -> Value {
    json!({"kind": "Group", "group": {"name": name}})
}

pub(crate) fn user(user: &User) -> Value {
    json!({"kind": "User", "user": {"name": user.name}})
}
