//! The Nodes on which a DaemonSet's Pods run. Source: `k8s.io/kubernetes/pkg/controller/daemon`,
//! `NodeShouldRunDaemonPod`.

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint, Toleration};

use crate::sandbox::{
    nodes,
    selectors::selects_node,
    tolerations::{self, tolerates},
    world::name_of,
};

/// Taints that prevent other Pods from being scheduled.
const PRESSURES: [&str; 4] = [
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    tolerations::UNSCHEDULABLE,
];
const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// Whether a Node is eligible for a DaemonSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// A Pod should run there.
    Runs,
    /// An existing Pod stays, but none is created.
    Stays,
    /// No Pod should be there.
    Not,
}

/// What the Pods of a template require of a Node.
#[derive(Clone, Debug)]
pub(super) struct Needs<'a> {
    spec: &'a PodSpec,
    tolerations: Vec<Toleration>,
}

/// The tolerations of the template and those of all DaemonSet Pods: they stay on lost Nodes, and
/// run on Nodes closed to others.
pub(super) fn tolerations(spec: &PodSpec) -> Vec<Toleration> {
    let mut all = spec.tolerations.clone().unwrap_or_default();
    let lost = [tolerations::NOT_READY, tolerations::UNREACHABLE];
    let network = (spec.host_network == Some(true)).then_some(NETWORK_UNAVAILABLE);
    let own = lost.into_iter().map(|key| (key, "NoExecute"));
    for (key, effect) in
        own.chain(PRESSURES.into_iter().chain(network).map(|key| (key, "NoSchedule")))
    {
        let toleration = Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        let is_same = |other: &Toleration| {
            Toleration { toleration_seconds: None, ..other.clone() } == toleration
        };
        match all.iter_mut().find(|other| is_same(other)) {
            Some(other) => *other = toleration,
            None => all.push(toleration),
        }
    }
    all
}

// === impl Needs ===

impl<'a> Needs<'a> {
    pub(super) fn of(spec: &'a PodSpec) -> Needs<'a> {
        Needs { spec, tolerations: tolerations(spec) }
    }

    pub(super) fn fit(&self, node: &Node) -> Fit {
        let named = self.spec.node_name.as_deref().filter(|name| !name.is_empty());
        if named.is_some_and(|wanted| wanted != name_of(&node.metadata))
            || !selects_node(self.spec, node)
        {
            return Fit::Not;
        }
        let effects: Vec<&str> = nodes::taints(node)
            .filter(|taint| !self.tolerate(taint))
            .map(|taint| taint.effect.as_str())
            .collect();
        match () {
            () if effects.contains(&"NoExecute") => Fit::Not,
            () if effects.contains(&"NoSchedule") => Fit::Stays,
            () => Fit::Runs,
        }
    }

    fn tolerate(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(taints: &Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": {"taints": taints},
        }))
        .unwrap()
    }

    fn check(spec: &Value, taints: &Value, expected: Fit) {
        let mut given = json!({"containers": []});
        given.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let given: PodSpec = serde_json::from_value(given).unwrap();
        assert_eq!(Needs::of(&given).fit(&node(taints)), expected, "{spec} {taints}");
    }

    #[test]
    fn nodes_are_chosen_by_name_and_selector() {
        let untainted = json!([]);
        check(&json!({}), &untainted, Fit::Runs);
        check(&json!({"nodeName": "n"}), &untainted, Fit::Runs);
        check(&json!({"nodeName": "m"}), &untainted, Fit::Not);
        check(&json!({"nodeSelector": {"zone": "a"}}), &untainted, Fit::Runs);
        check(&json!({"nodeSelector": {"zone": "b"}}), &untainted, Fit::Not);
    }

    #[test]
    fn taints_keep_pods_away_or_drive_them_out_unless_they_are_tolerated() {
        let taint = |key: &str, effect: &str| json!([{"key": key, "effect": effect}]);
        let nothing = json!({});
        check(&nothing, &taint("x", "PreferNoSchedule"), Fit::Runs);
        check(&nothing, &taint("x", "NoSchedule"), Fit::Stays);
        check(&nothing, &taint("x", "NoExecute"), Fit::Not);
        let tolerant = json!({"tolerations": [{"operator": "Exists"}]});
        check(&tolerant, &taint("x", "NoExecute"), Fit::Runs);
        for key in PRESSURES {
            check(&nothing, &taint(key, "NoSchedule"), Fit::Runs);
        }
        for key in [tolerations::NOT_READY, tolerations::UNREACHABLE] {
            check(&nothing, &taint(key, "NoExecute"), Fit::Runs);
            check(&nothing, &taint(key, "NoSchedule"), Fit::Stays);
        }
        check(&nothing, &taint(NETWORK_UNAVAILABLE, "NoSchedule"), Fit::Stays);
        let on_host = json!({"hostNetwork": true});
        check(&on_host, &taint(NETWORK_UNAVAILABLE, "NoSchedule"), Fit::Runs);
    }

    #[test]
    fn a_toleration_for_a_while_becomes_one_for_good() {
        let spec = serde_json::from_value(json!({"containers": [], "tolerations": [
            {"key": tolerations::NOT_READY, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 30}]}))
        .unwrap();
        let all = tolerations(&spec);
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|toleration| toleration.toleration_seconds.is_none()));
    }
}
