//! Topology spread constraints.
//!
//! For a constraint, the domains are the values of its topology key on the Nodes that count for the
//! Pod; the skew of a Node is the number of matching Pods in its domain, including this one, minus
//! the smallest number in any domain. A hard constraint rejects Nodes with more than `maxSkew`, or
//! without the key; a soft one scores by the number. With fewer domains than `minDomains` the
//! smallest number counts as 0. O(Nodes + Pods of the namespace) per constraint to count, O(1) per
//! Node. Source: `pkg/scheduler/framework/plugins/podtopologyspread`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, TopologySpreadConstraint};

use super::{
    filters::{Refused, is_tolerated},
    label,
};
use crate::sandbox::{
    nodes,
    selectors::{self, Labels, selects_node},
    world::{World, is_dying, is_finished, namespace_of, node_of},
};

#[derive(Debug, Default)]
pub(super) struct Spread<'a> {
    hard: Vec<Counted<'a>>,
    soft: Vec<Counted<'a>>,
}

/// A constraint with the number of matching Pods in each domain.
#[derive(Debug)]
struct Counted<'a> {
    key: &'a str,
    domains: BTreeMap<&'a str, i64>,
    least: i64,
    max_skew: i64,
    /// 1 if the Pod counts for its own constraint.
    itself: i64,
}

impl<'a> Spread<'a> {
    pub(super) fn of(world: &'a World, pod: &Pod, spec: &'a PodSpec) -> Spread<'a> {
        let all = spec.topology_spread_constraints.as_deref().unwrap_or_default();
        let (hard, soft): (Vec<_>, Vec<_>) =
            all.iter().partition(|one| one.when_unsatisfiable == "DoNotSchedule");
        let count = |of: Vec<&'a TopologySpreadConstraint>| {
            let keys: Vec<&str> = of.iter().map(|one| one.topology_key.as_str()).collect();
            of.iter().map(|one| Counted::of(world, pod, spec, one, &keys)).collect()
        };
        Spread { hard: count(hard), soft: count(soft) }
    }

    pub(super) fn check(&self, node: &Node) -> Result<(), Refused> {
        for counted in &self.hard {
            let domain = label(node, counted.key).ok_or(Refused::NoTopology)?;
            let there = counted.domains.get(domain).copied().unwrap_or_default();
            if there + counted.itself - counted.least > counted.max_skew {
                return Err(Refused::Spread);
            }
        }
        Ok(())
    }

    /// The number in the Node's domain for each soft constraint; a Node without the key comes last.
    pub(super) fn score(&self, node: &Node) -> Vec<i64> {
        let number = |counted: &Counted<'_>| match label(node, counted.key) {
            Some(domain) => counted.domains.get(domain).copied().unwrap_or_default(),
            None => i64::MAX,
        };
        self.soft.iter().map(number).collect()
    }
}

impl<'a> Counted<'a> {
    fn of(
        world: &'a World,
        pod: &Pod,
        spec: &PodSpec,
        constraint: &'a TopologySpreadConstraint,
        keys: &[&str],
    ) -> Counted<'a> {
        let key = constraint.topology_key.as_str();
        let eligible = |node: &&Node| {
            keys.iter().all(|key| label(node, key).is_some()) && counts(constraint, spec, node)
        };
        let mut domains = BTreeMap::new();
        for node in world.nodes.values().map(|node| &**node).filter(eligible) {
            domains.extend(label(node, key).map(|domain| (domain, 0)));
        }
        let matches = |other: &Pod| selects(constraint, pod, other.metadata.labels.as_ref());
        let namespace = namespace_of(&pod.metadata);
        let placed = world.pods_in(namespace).filter(|one| {
            !node_of(one).is_empty() && !is_dying(&one.metadata) && !is_finished(one)
        });
        for other in placed.filter(|other| matches(other)) {
            let node = world.node(node_of(other)).filter(eligible);
            if let Some(count) = node.and_then(|node| domains.get_mut(label(node, key)?)) {
                *count += 1;
            }
        }
        let min_domains = usize::try_from(constraint.min_domains.unwrap_or(1)).unwrap_or(1);
        let least = match domains.len() < min_domains {
            true => 0,
            false => domains.values().copied().min().unwrap_or_default(),
        };
        let itself = i64::from(matches(pod));
        Counted { key, domains, least, max_skew: constraint.max_skew.into(), itself }
    }
}

/// Whether a Node counts, by the policies of the constraint.
fn counts(constraint: &TopologySpreadConstraint, spec: &PodSpec, node: &Node) -> bool {
    let honors_affinity = constraint.node_affinity_policy.as_deref() != Some("Ignore");
    let honors_taints = constraint.node_taints_policy.as_deref() == Some("Honor");
    let tolerated = || {
        let mut taints = nodes::taints(node);
        taints.all(|taint| taint.effect == "PreferNoSchedule" || is_tolerated(spec, taint))
    };
    (!honors_affinity || selects_node(spec, node)) && (!honors_taints || tolerated())
}

/// By the selector, and by equal values for `matchLabelKeys`.
fn selects(constraint: &TopologySpreadConstraint, pod: &Pod, labels: Option<&Labels>) -> bool {
    let value =
        |labels: Option<&Labels>, key: &str| labels.and_then(|labels| labels.get(key)).cloned();
    let own = pod.metadata.labels.as_ref();
    let mut keys = constraint.match_label_keys.iter().flatten();
    let selector = constraint.label_selector.as_ref();
    selector.is_some_and(|selector| selectors::selects(selector, labels))
        && keys.all(|key| value(own, key).is_none() || value(own, key) == value(labels, key))
}
