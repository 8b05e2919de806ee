//! Required affinity and anti-affinity between Pods, by topology: a Pod's own terms, and the
//! anti-affinity of existing Pods. O(Pods · terms) to collect, O(terms) per Node. Source:
//! `pkg/scheduler/framework/plugins/interpodaffinity`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod, PodAffinityTerm, PodSpec};

use super::{filters::Refused, label};
use crate::sandbox::{
    selectors::selects,
    world::{World, is_finished, namespace_of, node_of},
};

#[derive(Debug, Default)]
pub(super) struct Distances<'a> {
    near: Vec<Term<'a>>,
    apart: Vec<Term<'a>>,
    /// Topology key and domain of existing Pods with anti-affinity to this one.
    closed: BTreeSet<(&'a str, &'a str)>,
}

/// A term with the domains that contain Pods it selects.
#[derive(Debug)]
struct Term<'a> {
    key: &'a str,
    domains: BTreeSet<&'a str>,
    /// The first of a group with affinity to itself has no other Pod to join.
    selects_itself: bool,
}

impl<'a> Distances<'a> {
    pub(super) fn of(world: &'a World, pod: &Pod, spec: &'a PodSpec) -> Distances<'a> {
        let gather = |term: &'a PodAffinityTerm| Term {
            key: &term.topology_key,
            domains: placed(world)
                .filter(|(other, _)| matches(world, term, pod, other))
                .filter_map(|(_, node)| label(node, &term.topology_key))
                .collect(),
            selects_itself: matches(world, term, pod, pod),
        };
        let mut closed = BTreeSet::new();
        for other in world.pods.values() {
            for term in other.spec.iter().flat_map(apart) {
                if !is_finished(other) && matches(world, term, other, pod) {
                    let node = world.node(node_of(other));
                    let domain = node.and_then(|node| label(node, &term.topology_key));
                    closed.extend(domain.map(|domain| (term.topology_key.as_str(), domain)));
                }
            }
        }
        Distances {
            near: near(spec).map(gather).collect(),
            apart: apart(spec).map(gather).collect(),
            closed,
        }
    }

    pub(super) fn check(&self, node: &Node) -> Result<(), Refused> {
        let has = |term: &Term<'_>| {
            label(node, term.key).is_some_and(|domain| term.domains.contains(domain))
        };
        let alone = self.near.iter().all(|term| term.domains.is_empty() && term.selects_itself);
        let together = |term: &Term<'_>| has(term) || alone && label(node, term.key).is_some();
        if !self.near.iter().all(together) {
            return Err(Refused::Affinity);
        }
        if self.apart.iter().any(has) {
            return Err(Refused::AntiAffinity);
        }
        let shut = |(key, domain): &(&str, &str)| label(node, key) == Some(*domain);
        if self.closed.iter().any(shut) { Err(Refused::OthersAntiAffinity) } else { Ok(()) }
    }
}

fn placed(world: &World) -> impl Iterator<Item = (&Pod, &Node)> {
    let pods = world.pods.values().filter(|pod| !is_finished(pod));
    pods.filter_map(|pod| Some((&**pod, world.node(node_of(pod))?)))
}

fn near(spec: &PodSpec) -> impl Iterator<Item = &PodAffinityTerm> {
    let affinity = spec.affinity.as_ref().and_then(|all| all.pod_affinity.as_ref());
    let required =
        affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref());
    required.into_iter().flatten()
}

fn apart(spec: &PodSpec) -> impl Iterator<Item = &PodAffinityTerm> {
    let affinity = spec.affinity.as_ref().and_then(|all| all.pod_anti_affinity.as_ref());
    let required =
        affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref());
    required.into_iter().flatten()
}

/// Whether a term of `pod` selects `other`.
fn matches(world: &World, term: &PodAffinityTerm, pod: &Pod, other: &Pod) -> bool {
    let labels = other.metadata.labels.as_ref();
    term.label_selector.as_ref().is_some_and(|selector| selects(selector, labels))
        && is_in_scope(world, term, namespace_of(&pod.metadata), namespace_of(&other.metadata))
}

/// Without namespaces a term applies to its own.
fn is_in_scope(world: &World, term: &PodAffinityTerm, own: &str, namespace: &str) -> bool {
    let named = term.namespaces.as_deref().unwrap_or_default();
    if named.is_empty() && term.namespace_selector.is_none() {
        return namespace == own;
    }
    let labels = world.namespaces.get(namespace).and_then(|found| found.metadata.labels.as_ref());
    named.iter().any(|name| name == namespace)
        || term.namespace_selector.as_ref().is_some_and(|selector| selects(selector, labels))
}
