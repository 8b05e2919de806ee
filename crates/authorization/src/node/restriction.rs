//! Writes of nodes that concern other nodes, as Kubernetes' admission plugin NodeRestriction refuses
//! them. They are allowed by the authorizer, so an access review does not show this.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Graph, LEASES, PodRefs, Referenced, graph::is_mirror};
use crate::{Attributes, On, quote::Quoted};

/// Marks a Pod that mirrors what a node runs by itself.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Labels of Kubernetes' own domains that a node may set on itself.
const OWN_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// An object before and after a write. Of an action on an object (eviction, a token), `before` is the
/// object and `after` the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    pub before: Option<&'a Value>,
    pub after: Option<&'a Value>,
}

/// Why a write of this node is refused, if it is. The message of the 403 is
/// `RESOURCE "NAME" is forbidden: ` and this.
pub fn restriction(
    node: &str,
    attributes: &Attributes<'_>,
    change: Change<'_>,
    graph: &Graph,
) -> Option<String> {
    let On::Resource { group, resource, subresource, namespace, name } = attributes.on else {
        return None;
    };
    if !matches!(attributes.verb, "create" | "update" | "patch" | "delete" | "deletecollection") {
        return None;
    }
    if node.is_empty() {
        return Some("could not determine node from user \"system:node:\"".to_owned());
    }
    let in_body = change.after.and_then(|object| text(object, "/metadata/name"));
    let name = if name.is_empty() { in_body.unwrap_or_default() } else { name };
    let bound = || match change.before {
        Some(pod) => text(pod, "/spec/nodeName").unwrap_or_default() == node,
        None => graph.has(node, Referenced::Pod, namespace, name),
    };
    match (group, resource, subresource) {
        ("", "pods", "") => match attributes.verb {
            "create" => of_mirror(node, change.after?),
            "delete" => {
                unless(bound(), node, "can only delete pods with spec.nodeName set to itself")
            }
            _ => Some(format!("node {} can only create and delete mirror pods", Quoted(node))),
        },
        ("", "pods", "status") => unless(
            bound(),
            node,
            "can only update pod status for pods with spec.nodeName set to itself",
        ),
        ("", "pods", "eviction") => (!bound())
            .then(|| format!("node {node} can only evict pods with spec.nodeName set to itself")),
        ("", "pods", other) => Some(format!(
            "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
            Quoted(other)
        )),
        ("", "nodes", _) if name != node => {
            Some(format!("node {} is not allowed to modify node {}", Quoted(node), Quoted(name)))
        }
        ("", "nodes", _) => of_itself(node, change),
        ("coordination.k8s.io", "leases", _) => {
            let own = namespace == LEASES && name == node;
            let reason = "can only access node lease with the same name as the requesting node";
            (!own).then(|| reason.to_owned())
        }
        ("", "serviceaccounts", "token") => of_token(node, namespace, change.after?, graph),
        _ => None,
    }
}

fn unless(allowed: bool, node: &str, reason: &str) -> Option<String> {
    (!allowed).then(|| format!("node {} {reason}", Quoted(node)))
}

/// A node creates Pods only to show what it runs by itself.
fn of_mirror(node: &str, pod: &Value) -> Option<String> {
    if !is_mirror(pod) {
        let (annotation, node) = (Quoted(MIRROR), Quoted(node));
        return Some(format!(
            "pod does not have {annotation} annotation, node {node} can only create mirror pods"
        ));
    }
    let refs = PodRefs::of(pod);
    let bound = refs.node == node;
    unless(bound, node, "can only create pods with spec.nodeName set to itself")
        .or_else(|| of_owners(node, pod))
        .or_else(|| {
            let what = match () {
                () if !refs.service_account.is_empty() => "serviceaccounts",
                () if !refs.secrets.is_empty() => "secrets",
                () if !refs.config_maps.is_empty() => "configmaps",
                () => return None,
            };
            Some(format!("node {} can not create pods that reference {what}", Quoted(node)))
        })
}

fn of_owners(node: &str, pod: &Value) -> Option<String> {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owner = match owners.map(Vec::as_slice).unwrap_or_default() {
        [owner] => owner,
        [] => {
            return unless(
                false,
                node,
                "can only create pods with an owner reference set to itself",
            );
        }
        _ => {
            let reason = "can only create pods with a single owner reference set to itself";
            return unless(false, node, reason);
        }
    };
    let is = |path: &str, value: &str| text(owner, path) == Some(value);
    let own = is("/apiVersion", "v1") && is("/kind", "Node") && is("/name", node);
    let is_true = |key: &str| owner.get(key).and_then(Value::as_bool) == Some(true);
    unless(own, node, "can only create pods with an owner reference set to itself")
        .or_else(|| {
            let reason = "can only create pods with a controller owner reference set to itself";
            unless(is_true("controller"), node, reason)
        })
        .or_else(|| {
            let reason = "must not set blockOwnerDeletion on an owner reference";
            unless(!is_true("blockOwnerDeletion"), node, reason)
        })
}

/// What a node may not change of its own Node: what decides which Pods come to it.
fn of_itself(node: &str, change: Change<'_>) -> Option<String> {
    let after = change.after?;
    let labels = foreign_labels(change);
    let Some(before) = change.before else {
        let reason = format!("is not allowed to set the following labels: {labels}");
        return unless(labels.is_empty(), node, &reason);
    };
    let same = |path: &str| list(before, path) == list(after, path);
    unless(same("/spec/taints"), node, "is not allowed to modify taints")
        .or_else(|| {
            let same = same("/metadata/ownerReferences");
            unless(same, node, "is not allowed to modify ownerReferences")
        })
        .or_else(|| {
            let reason = || format!("is not allowed to modify labels: {labels}");
            (!labels.is_empty()).then(reason)
        })
}

fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Labels that differ and that a node may not set, sorted.
fn foreign_labels(change: Change<'_>) -> String {
    let none = Map::new();
    let labels = |object: Option<&'_ Value>| {
        object.and_then(|object| object.pointer("/metadata/labels")?.as_object().cloned())
    };
    let before = labels(change.before).unwrap_or_else(|| none.clone());
    let after = labels(change.after).unwrap_or(none);
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let foreign =
        keys.into_iter().filter(|key| before.get(*key) != after.get(*key) && is_foreign(key));
    foreign.map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn is_foreign(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let within = |parent: &str| {
        domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let own = ["kubelet.kubernetes.io", "node.kubernetes.io"].into_iter().any(within)
        || OWN_LABELS.contains(&label);
    within("node-restriction.kubernetes.io")
        || ((within("kubernetes.io") || within("k8s.io")) && !own)
}

/// A node gets tokens only for Pods that run on it.
fn of_token(node: &str, namespace: &str, request: &Value, graph: &Graph) -> Option<String> {
    let bound_to = |key: &str| {
        let path = format!("/spec/boundObjectRef/{key}");
        text(request, &path).unwrap_or_default()
    };
    let pod = bound_to("name");
    let reason = match () {
        () if bound_to("apiVersion") != "v1" || bound_to("kind") != "Pod" || pod.is_empty() => {
            "node requested token not bound to a pod"
        }
        () if bound_to("uid").is_empty() => "node requested token with a pod binding without a uid",
        () if !graph.has(node, Referenced::Pod, namespace, pod) => {
            "node requested token bound to a pod scheduled on a different node"
        }
        () => return None,
    };
    Some(reason.to_owned())
}

fn text<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    object.pointer(path).and_then(Value::as_str)
}
