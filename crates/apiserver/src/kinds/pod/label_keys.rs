//! Label keys whose values come from the pod itself: on create they are merged into the selectors
//! they belong to. Source: `mutatePodAffinity` and `mutateTopologySpreadConstraints` in
//! `pkg/registry/core/pod`.

use serde_json::{Value, json};

use crate::kinds::read::{entry, list};

pub(super) fn merge(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    let each = |pod: &mut Value, pointer: &str, term: fn(&mut Value) -> Option<&mut Value>| {
        let terms = pod.pointer_mut(pointer).and_then(Value::as_array_mut);
        for term in terms.into_iter().flatten().filter_map(term) {
            join(term, &labels);
        }
    };
    each(pod, "/spec/topologySpreadConstraints", |term| Some(term));
    for kind in ["podAffinity", "podAntiAffinity"] {
        let path = format!("/spec/affinity/{kind}");
        each(pod, &format!("{path}/preferredDuringSchedulingIgnoredDuringExecution"), |term| {
            term.get_mut("podAffinityTerm")
        });
        each(pod, &format!("{path}/requiredDuringSchedulingIgnoredDuringExecution"), |term| {
            Some(term)
        });
    }
}

fn join(term: &mut Value, labels: &Value) {
    if !term["labelSelector"].is_object() {
        return;
    }
    let mut expressions = Vec::new();
    for (name, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in list(term, &[name]).iter().filter_map(Value::as_str) {
            if let Some(value) = labels[key].as_str() {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if expressions.is_empty() {
        return;
    }
    match entry(term, &["labelSelector", "matchExpressions"]) {
        Value::Array(present) => present.extend(expressions),
        absent => *absent = Value::Array(expressions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_pod_join_the_selector() {
        let mut pod = json!({"metadata": {"labels": {"v": "1"}}, "spec": {"topologySpreadConstraints": [
            {"matchLabelKeys": ["v", "missing"], "labelSelector": {}}, {"matchLabelKeys": ["v"]}]}});
        merge(&mut pod);
        assert_eq!(
            pod["spec"]["topologySpreadConstraints"],
            json!([{"matchLabelKeys": ["v", "missing"],
                "labelSelector": {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}},
                {"matchLabelKeys": ["v"]}])
        );
    }
}
