//! Ownership of Pods and ReplicaSets: an owner adopts orphans that its selector matches, and
//! releases what it no longer matches. Source:
//! `k8s.io/kubernetes/pkg/controller/controller_ref_manager.go`.

use k8s_openapi::{
    api::{apps::v1::ReplicaSet, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};
use serde_json::json;

use crate::{
    kinds::{DEPLOYMENT, Kind, KindRef, POD, REPLICA_SET},
    sandbox::{
        action::Action,
        selectors,
        workloads::pods,
        world::{World, is_dying, name_of, namespace_of, uid_of},
    },
};

/// The objects of an owner, and the actions to adopt and release.
#[derive(Debug)]
pub(super) struct Claimed<'a, T> {
    pub(super) objects: Vec<&'a T>,
    pub(super) actions: Vec<Action>,
}

/// Objects that can be owned.
trait Owned {
    const KIND: &'static KindRef;

    fn metadata(&self) -> &ObjectMeta;

    /// An inactive one is not adopted.
    fn is_active(&self) -> bool;
}

/// The owner reference of a controller.
pub(super) fn reference(kind: &Kind, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: kind.api_version(),
        kind: kind.kind.to_string(),
        name: name_of(owner).to_owned(),
        uid: uid_of(owner).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The Pods of an owner of this kind.
pub(super) fn claim_pods<'a>(
    world: &'a World,
    kind: &Kind,
    owner: &ObjectMeta,
    selected: &LabelSelector,
) -> Claimed<'a, Pod> {
    let owned = world.pods_of(uid_of(owner));
    claim(owner, &reference(kind, owner), selected, owned, world.orphans_in(namespace_of(owner)))
}

/// The ReplicaSets of a Deployment.
pub(super) fn claim_replica_sets<'a>(
    world: &'a World,
    owner: &ObjectMeta,
    selected: &LabelSelector,
) -> Claimed<'a, ReplicaSet> {
    let owned = world.replica_sets_of(uid_of(owner));
    let orphans = world.orphan_replica_sets_in(namespace_of(owner));
    claim(owner, &reference(&DEPLOYMENT, owner), selected, owned, orphans)
}

/// An owner that is being deleted neither adopts nor releases.
fn claim<'a, T: Owned>(
    owner: &ObjectMeta,
    reference: &OwnerReference,
    selected: &LabelSelector,
    owned: impl Iterator<Item = &'a T>,
    orphans: impl Iterator<Item = &'a T>,
) -> Claimed<'a, T> {
    let mut claimed = Claimed { objects: Vec::new(), actions: Vec::new() };
    // An empty selector would match everything; the server rejects it.
    let fits = |object: &T| {
        let labels = object.metadata().labels.as_ref();
        !selectors::is_empty(selected) && selectors::selects(selected, labels)
    };
    for object in owned {
        if fits(object) {
            claimed.objects.push(object);
        } else if !is_dying(owner) && object.is_active() {
            let others = owners(object).filter(|other| other.uid != reference.uid);
            let others: Vec<OwnerReference> = others.cloned().collect();
            claimed.actions.push(owned_by(object, &others));
        }
    }
    if is_dying(owner) {
        return claimed;
    }
    for object in orphans.filter(|object| object.is_active() && fits(object)) {
        let all: Vec<OwnerReference> = owners(object).cloned().chain([reference.clone()]).collect();
        claimed.actions.push(owned_by(object, &all));
        claimed.objects.push(object);
    }
    claimed
}

fn owners<T: Owned>(object: &T) -> impl Iterator<Item = &OwnerReference> {
    object.metadata().owner_references.iter().flatten()
}

/// Only this version of the object: a list is replaced as a whole.
fn owned_by<T: Owned>(object: &T, owners: &[OwnerReference]) -> Action {
    let patch = json!({"metadata": {
        "resourceVersion": object.metadata().resource_version,
        "ownerReferences": owners,
    }});
    Action::patch(T::KIND, object.metadata(), patch)
}

// === impl Owned ===

impl Owned for Pod {
    const KIND: &'static KindRef = &POD;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn is_active(&self) -> bool {
        pods::is_active(self)
    }
}

impl Owned for ReplicaSet {
    const KIND: &'static KindRef = &REPLICA_SET;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn is_active(&self) -> bool {
        !is_dying(&self.metadata)
    }
}
