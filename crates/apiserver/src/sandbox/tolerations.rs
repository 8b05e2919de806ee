//! Taints and tolerations. Source: `component-helpers/scheduling/corev1/helpers.go`, and the
//! admission plugin `defaulttolerationseconds`.

use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde_json::{Value, json};

use crate::kinds::read::{entry, list, text};

pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(crate) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(crate) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.as_deref().unwrap_or_default().to_owned();
    let (effect, key) = (given(&toleration.effect), given(&toleration.key));
    if !effect.is_empty() && effect != taint.effect || !key.is_empty() && key != taint.key {
        return false;
    }
    match given(&toleration.operator).as_str() {
        "" | "Equal" => {
            !key.is_empty()
                && toleration.value.as_deref().unwrap_or_default()
                    == taint.value.as_deref().unwrap_or_default()
        }
        "Exists" => true,
        _ => false,
    }
}

/// Adds the tolerations of the admission plugin to a Pod, and returns whether any was missing.
/// `seconds`: how long it stays on an unresponsive Node.
pub(crate) fn default(pod: &mut Value, seconds: i64) -> bool {
    let mut added = false;
    for taint in [NOT_READY, UNREACHABLE] {
        let has = list(pod, &["spec", "tolerations"]).iter().any(|one| {
            let (key, effect) = (text(one, &["key"]), text(one, &["effect"]));
            (key == taint || key.is_empty()) && matches!(effect, "NoExecute" | "")
        });
        if has {
            continue;
        }
        let one = json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        match entry(pod, &["spec", "tolerations"]) {
            Value::Array(all) => all.push(one),
            other => *other = json!([one]),
        }
        added = true;
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_match_taints() {
        let taint: Taint =
            serde_json::from_value(json!({"key": "a", "value": "1", "effect": "NoSchedule"}))
                .unwrap();
        for (toleration, expected) in [
            (json!({"key": "a", "value": "1"}), true),
            (json!({"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"}), true),
            (json!({"key": "a", "value": "2"}), false),
            (json!({"key": "a"}), false),
            (json!({"key": "a", "operator": "Exists"}), true),
            (json!({"key": "b", "operator": "Exists"}), false),
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"operator": "Equal", "value": "1"}), false),
        ] {
            let read: Toleration = serde_json::from_value(toleration.clone()).unwrap();
            assert_eq!(tolerates(&read, &taint), expected, "{toleration}");
        }
    }

    #[test]
    fn a_pod_tolerates_lost_nodes_for_five_minutes_by_default() {
        let mut pod = json!({"spec": {}});
        assert!(default(&mut pod, 300));
        assert_eq!(list(&pod, &["spec", "tolerations"]).len(), 2);
        assert!(!default(&mut pod, 300));
        let own = json!({"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let mut pod = json!({"spec": {"tolerations": [own.clone()]}});
        assert!(default(&mut pod, 300));
        let all = list(&pod, &["spec", "tolerations"]);
        assert_eq!((all.len(), &all[0], text(&all[1], &["key"])), (2, &own, NOT_READY));
        let mut pod = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        assert!(!default(&mut pod, 300));
    }
}
