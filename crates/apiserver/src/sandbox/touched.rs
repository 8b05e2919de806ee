//! Which keys of which parts a change affects.

use std::{collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use k8s_openapi::{
    api::core::v1::{Node, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{
    Part, nodes,
    world::{
        Seen, World, controller_of, is_dying, is_finished, key_of, namespace_of, node_of, uid_of,
    },
};

const AT_ONCE: SignedDuration = SignedDuration::ZERO;
/// Delay before pending Pods are examined again, to collect changes.
pub(super) const GATHERED: SignedDuration = SignedDuration::from_millis(100);

/// The key that stands for all pending Pods, so that a change costs the same however many they are.
pub(super) const EVERYONE: &str = "";

/// Calls `due` with each affected part, its key, and the delay. The World already has the change.
pub(super) fn by(
    world: &World,
    key: &str,
    before: Option<&Seen>,
    after: Option<&Seen>,
    mut due: impl FnMut(Part, &str, SignedDuration),
) {
    let mut now = |part, key: &str| due(part, key, AT_ONCE);
    match before.or(after) {
        None | Some(Seen::Namespace) => {}
        Some(Seen::Lease) => now(Part::Node, key.rsplit('/').next().unwrap_or_default()),
        Some(Seen::Deployment) => now(Part::Deployment, key),
        Some(Seen::ReplicaSet(_)) => {
            now(Part::ReplicaSet, key);
            for one in [before, after].into_iter().flatten() {
                let Seen::ReplicaSet(one) = one else { continue };
                owner(world, &one.metadata, &mut now);
            }
        }
        Some(Seen::DaemonSet) => now(Part::DaemonSet, key),
        Some(Seen::Pod(_)) => {
            let (before, after) = (pod(before), pod(after));
            of_pod(world, key, before, after, &mut due);
        }
        Some(Seen::Node(_)) => of_node(world, key, node(before), node(after), &mut due),
    }
}

fn pod(seen: Option<&Seen>) -> Option<&Pod> {
    let Some(Seen::Pod(pod)) = seen else { return None };
    Some(pod)
}

fn node(seen: Option<&Seen>) -> Option<&Arc<Node>> {
    let Some(Seen::Node(node)) = seen else { return None };
    Some(node)
}

/// The controller of an object; an orphan may be adopted by those of its namespace.
fn owner(world: &World, metadata: &ObjectMeta, due: &mut impl FnMut(Part, &str)) {
    let namespace = namespace_of(metadata);
    if let Some(owner) = controller_of(metadata) {
        let part = match owner.kind.as_str() {
            "Deployment" => Part::Deployment,
            "ReplicaSet" => Part::ReplicaSet,
            "DaemonSet" => Part::DaemonSet,
            _ => return,
        };
        return due(part, &format!("{namespace}/{}", owner.name));
    }
    for one in world.deployments_in(namespace) {
        due(Part::Deployment, &key_of(&one.metadata));
    }
    for one in world.replica_sets_in(namespace) {
        due(Part::ReplicaSet, &key_of(&one.metadata));
    }
    for one in world.daemon_sets_in(namespace) {
        due(Part::DaemonSet, &key_of(&one.metadata));
    }
}

fn of_pod(
    world: &World,
    key: &str,
    before: Option<&Pod>,
    after: Option<&Pod>,
    due: &mut impl FnMut(Part, &str, SignedDuration),
) {
    for one in [before, after].into_iter().flatten() {
        owner(world, &one.metadata, &mut |part, key| due(part, key, AT_ONCE));
    }
    // A Deployment with strategy Recreate waits until the old Pods are gone.
    if let Some(gone) = before.filter(|_| after.is_none_or(is_finished)) {
        let set =
            controller_of(&gone.metadata).map(|owner| owner.name.as_str()).unwrap_or_default();
        let set = world.replica_sets.get(&*format!("{}/{set}", namespace_of(&gone.metadata)));
        if let Some(set) = set {
            owner(world, &set.metadata, &mut |part, key| due(part, key, AT_ONCE));
        }
    }
    if after.is_some_and(|after| node_of(after).is_empty()) {
        due(Part::Scheduler, key, AT_ONCE);
    } else if after.is_some() {
        due(Part::Kubelet, key, AT_ONCE);
        due(Part::Eviction, key, AT_ONCE);
    }
    // Pods that may now fit, or that have anti-affinity to it.
    let placed = |pod: &&Pod| !node_of(pod).is_empty();
    if before.filter(placed).map(matters) != after.filter(placed).map(matters) {
        due(Part::Scheduler, EVERYONE, GATHERED);
    }
}

/// Node, labels, uid, whether it has terminated, whether it is terminating.
type SchedulingInputs<'a> = (&'a str, Option<&'a BTreeMap<String, String>>, &'a str, bool, bool);

/// The properties that pending Pods depend on.
fn matters(pod: &Pod) -> SchedulingInputs<'_> {
    let (uid, labels) = (uid_of(&pod.metadata), pod.metadata.labels.as_ref());
    (node_of(pod), labels, uid, is_finished(pod), is_dying(&pod.metadata))
}

fn of_node(
    world: &World,
    name: &str,
    before: Option<&Arc<Node>>,
    after: Option<&Arc<Node>>,
    due: &mut impl FnMut(Part, &str, SignedDuration),
) {
    due(Part::Node, name, AT_ONCE);
    let [was, is] = [before, after].map(|node| node.map(|node| nodes::matters(node)));
    if was == is {
        return;
    }
    for one in world.daemon_sets.keys() {
        due(Part::DaemonSet, one, AT_ONCE);
    }
    due(Part::Scheduler, EVERYONE, GATHERED);
    for pod in world.pods_on(name) {
        let key = key_of(&pod.metadata);
        due(Part::Kubelet, &key, AT_ONCE);
        due(Part::Eviction, &key, AT_ONCE);
    }
}
