//! The objects that the sandbox observes: parsed once per change, with the indexes that its parts
//! need, so that the cost of a step does not depend on the size of the cluster.

mod addresses;
mod moments;
#[cfg(test)]
pub(crate) mod testing;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

use evenkeel_store::Object;
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, ReplicaSet},
        coordination::v1::Lease,
        core::v1::{Namespace, Node, Pod},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde::de::DeserializeOwned;

use self::{addresses::Addresses, moments::Moments};
use crate::{document, kinds::Kind, sandbox::action::Action};

/// Objects by `namespace/name`, or `name` for cluster-scoped ones.
pub(crate) type Table<T> = BTreeMap<Box<str>, Arc<T>>;

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) pods: Table<Pod>,
    pub(crate) nodes: Table<Node>,
    pub(crate) namespaces: Table<Namespace>,
    pub(crate) deployments: Table<Deployment>,
    pub(crate) replica_sets: Table<ReplicaSet>,
    pub(crate) daemon_sets: Table<DaemonSet>,
    /// Those of Nodes.
    pub(crate) leases: Table<Lease>,
    pub(crate) addresses: Addresses,
    pub(crate) moments: Moments,
    /// By the uid of their controller.
    owned_pods: Index<Pod>,
    /// Those without a controller, by namespace.
    orphans: Index<Pod>,
    owned_replica_sets: Index<ReplicaSet>,
    orphan_replica_sets: Index<ReplicaSet>,
    pods_by_node: Index<Pod>,
    /// Without a node.
    waiting: BTreeSet<Box<str>>,
}

type Index<T> = BTreeMap<Box<str>, Table<T>>;

/// One version of an object.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Pod(Arc<Pod>),
    Node(Arc<Node>),
    Namespace,
    Deployment,
    ReplicaSet(Arc<ReplicaSet>),
    DaemonSet,
    Lease,
}

/// The observed kinds.
pub(crate) const KEPT: [&str; 7] =
    ["pods", "nodes", "namespaces", "deployments", "replicasets", "daemonsets", "leases"];

pub(crate) const NODE_LEASES: &str = "kube-node-lease";

// === Metadata ===

pub(crate) fn name_of(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn namespace_of(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

pub(crate) fn uid_of(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}

pub(crate) fn key_of(metadata: &ObjectMeta) -> String {
    crate::api::key(metadata.namespace.as_deref(), name_of(metadata))
}

pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

pub(crate) fn is_dying(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}

/// The owner that controls it.
pub(crate) fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

// === Pods ===

/// The node it is on, `""` for none.
pub(crate) fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

pub(crate) fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Whether all its containers have terminated for good.
pub(crate) fn is_finished(pod: &Pod) -> bool {
    matches!(phase_of(pod), "Succeeded" | "Failed")
}

/// The status of a condition, if present.
pub(crate) fn condition_of<'a>(pod: &'a Pod, kind: &str) -> Option<&'a str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == kind).map(|one| one.status.as_str())
}

// === impl World ===

impl World {
    pub(crate) fn pod(&self, key: &str) -> Option<&Pod> {
        self.pods.get(key).map(|pod| &**pod)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(|node| &**node)
    }

    /// Pods controlled by the owner with this uid, in key order.
    pub(crate) fn pods_of(&self, owner_uid: &str) -> impl Iterator<Item = &Pod> {
        indexed(&self.owned_pods, owner_uid)
    }

    pub(crate) fn replica_sets_of(&self, owner_uid: &str) -> impl Iterator<Item = &ReplicaSet> {
        indexed(&self.owned_replica_sets, owner_uid)
    }

    pub(crate) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Pod> {
        indexed(&self.pods_by_node, node)
    }

    pub(crate) fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Pod> {
        inside(&self.pods, namespace)
    }

    /// Pods without a controller.
    pub(crate) fn orphans_in(&self, namespace: &str) -> impl Iterator<Item = &Pod> {
        indexed(&self.orphans, namespace)
    }

    /// ReplicaSets without a controller.
    pub(crate) fn orphan_replica_sets_in(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = &ReplicaSet> {
        indexed(&self.orphan_replica_sets, namespace)
    }

    pub(crate) fn replica_sets_in(&self, namespace: &str) -> impl Iterator<Item = &ReplicaSet> {
        inside(&self.replica_sets, namespace)
    }

    pub(crate) fn daemon_sets_in(&self, namespace: &str) -> impl Iterator<Item = &DaemonSet> {
        inside(&self.daemon_sets, namespace)
    }

    pub(crate) fn deployments_in(&self, namespace: &str) -> impl Iterator<Item = &Deployment> {
        inside(&self.deployments, namespace)
    }

    /// The keys of Pods without a node.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().map(|key| &**key)
    }

    /// Takes in the object now at a key; returns the previous and the new version.
    pub(crate) fn put(
        &mut self,
        kind: &Kind,
        key: &str,
        object: Option<&Object>,
        now: Timestamp,
    ) -> (Option<Seen>, Option<Seen>) {
        match &*kind.plural {
            "pods" => self.put_pod(key, read(kind, object), now),
            "nodes" => swap(&mut self.nodes, key, read(kind, object), Seen::Node),
            "namespaces" => {
                swap(&mut self.namespaces, key, read(kind, object), |_| Seen::Namespace)
            }
            "deployments" => {
                swap(&mut self.deployments, key, read(kind, object), |_| Seen::Deployment)
            }
            "replicasets" => self.put_replica_set(key, read(kind, object)),
            "daemonsets" => {
                swap(&mut self.daemon_sets, key, read(kind, object), |_| Seen::DaemonSet)
            }
            "leases" => {
                let object = object.filter(|object| object.namespace() == Some(NODE_LEASES));
                swap(&mut self.leases, key, read(kind, object), |_| Seen::Lease)
            }
            _ => (None, None),
        }
    }

    pub(crate) fn put_pod(
        &mut self,
        key: &str,
        new: Option<Arc<Pod>>,
        now: Timestamp,
    ) -> (Option<Seen>, Option<Seen>) {
        let old = self.pods.get(key).cloned();
        if let Some(old) = &old {
            self.addresses.release(old);
            remove(&mut self.pods_by_node, node_of(old), key);
            remove(&mut self.owned_pods, controller_uid(&old.metadata), key);
            remove(&mut self.orphans, namespace_of(&old.metadata), key);
            self.waiting.remove(key);
        }
        self.moments.changed(old.as_deref(), new.as_deref(), now);
        if let Some(new) = &new {
            self.addresses.take(new);
            match controller_uid(&new.metadata) {
                "" => insert(&mut self.orphans, namespace_of(&new.metadata), key, new),
                owner => insert(&mut self.owned_pods, owner, key, new),
            }
            match node_of(new) {
                "" => drop(self.waiting.insert(key.into())),
                node => insert(&mut self.pods_by_node, node, key, new),
            }
        }
        swap(&mut self.pods, key, new, Seen::Pod)
    }

    pub(crate) fn put_replica_set(
        &mut self,
        key: &str,
        new: Option<Arc<ReplicaSet>>,
    ) -> (Option<Seen>, Option<Seen>) {
        if let Some(old) = self.replica_sets.get(key) {
            remove(&mut self.owned_replica_sets, controller_uid(&old.metadata), key);
            remove(&mut self.orphan_replica_sets, namespace_of(&old.metadata), key);
        }
        if let Some(new) = &new {
            match controller_uid(&new.metadata) {
                "" => insert(&mut self.orphan_replica_sets, namespace_of(&new.metadata), key, new),
                owner => insert(&mut self.owned_replica_sets, owner, key, new),
            }
        }
        swap(&mut self.replica_sets, key, new, Seen::ReplicaSet)
    }

    /// Assumes that a binding and the addresses of a Pod are written, so that the next decision at
    /// the same moment takes them into account. If the write fails, the object is read again.
    pub(crate) fn assume(&mut self, action: &Action, now: Timestamp) {
        let (key, changed) = match action {
            Action::Bind { key, node, .. } => {
                let Some(mut pod) = self.pods.get(key.as_str()).cloned() else { return };
                let spec = Arc::make_mut(&mut pod).spec.get_or_insert_default();
                spec.node_name = Some(node.clone());
                (key, pod)
            }
            Action::Patch { kind, key, patch, .. } if kind.plural == "pods" => {
                let Some(ips) = patch.pointer("/status/podIPs") else { return };
                let ips = serde_json::from_value(ips.clone());
                let (Ok(ips), Some(mut pod)) = (ips, self.pods.get(key.as_str()).cloned()) else {
                    return;
                };
                Arc::make_mut(&mut pod).status.get_or_insert_default().pod_ips = ips;
                (key, pod)
            }
            _ => return,
        };
        self.put_pod(key, Some(changed), now);
    }
}

fn read<T: DeserializeOwned>(kind: &Kind, object: Option<&Object>) -> Option<Arc<T>> {
    let object = object?;
    let parsed = serde_json::from_slice(&document::text(kind, object, object.revision));
    // Stored by an earlier version it may be too deep for this parser.
    let parsed = parsed.or_else(|problem| match document::value(kind, object) {
        Ok(value) => serde_json::from_value(value),
        Err(_) => Err(problem),
    });
    let report = |error| tracing::warn!(kind = &*kind.kind, key = %object.key, %error, "ignoring invalid object");
    parsed.map_err(report).ok().map(Arc::new)
}

fn swap<T>(
    table: &mut Table<T>,
    key: &str,
    new: Option<Arc<T>>,
    seen: fn(Arc<T>) -> Seen,
) -> (Option<Seen>, Option<Seen>) {
    let old = match &new {
        Some(new) => table.insert(key.into(), new.clone()),
        None => table.remove(key),
    };
    (old.map(seen), new.map(seen))
}

fn controller_uid(metadata: &ObjectMeta) -> &str {
    controller_of(metadata).map_or("", |owner| &owner.uid)
}

/// Objects without an owner, or without a node, are in no index.
fn insert<T>(index: &mut Index<T>, under: &str, key: &str, object: &Arc<T>) {
    if !under.is_empty() {
        index.entry(under.into()).or_default().insert(key.into(), object.clone());
    }
}

fn remove<T>(index: &mut Index<T>, under: &str, key: &str) {
    if let Some(keys) = index.get_mut(under) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(under);
        }
    }
}

fn indexed<'a, T>(index: &'a Index<T>, under: &str) -> impl Iterator<Item = &'a T> + use<'a, T> {
    index.get(under).into_iter().flatten().map(|(_, object)| &**object)
}

fn inside<'a, T>(table: &'a Table<T>, namespace: &str) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let prefix = format!("{namespace}/");
    let from = table.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
    from.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(_, object)| &**object)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{testing::world, *};
    use crate::kinds::POD;

    #[test]
    fn only_the_addresses_of_a_patch_are_assumed() {
        let addresses = json!([{"ip": "10.0.0.1"}]);
        for (patch, last) in [
            (json!({"status": {"podIPs": [{"ip": "10.0.0.2"}]}}), 2),
            (json!({"status": {"podIPs": null}}), 0),
            (json!({"status": {"conditions": []}}), 1),
            (json!({"metadata": {"ownerReferences": []}}), 1),
        ] {
            let mut world = world(&[json!({
                "kind": "Pod", "metadata": {"name": "a", "namespace": "n"},
                "spec": {"containers": []}, "status": {"podIPs": addresses},
            })]);
            let (key, uid) = ("n/a".to_owned(), "a".to_owned());
            let action = Action::Patch { kind: &POD, key, uid, patch: patch.clone() };
            world.assume(&action, Timestamp::UNIX_EPOCH);
            let kept = world.pod("n/a").and_then(|pod| pod.status.as_ref()?.pod_ips.clone());
            let expected = match last {
                0 => Value::Null,
                last => json!([{"ip": format!("10.0.0.{last}")}]),
            };
            assert_eq!(json!(kept), expected, "{patch}");
        }
    }
}
