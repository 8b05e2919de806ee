//! Creates and deletes Pods for an owner, with Events.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{
    api,
    kinds::{KindRef, POD},
    sandbox::{
        action::Action,
        workloads::{claim, template},
        world::{World, name_of, namespace_of},
    },
};

/// The owner of new Pods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maker<'a> {
    pub(super) kind: &'static KindRef,
    pub(super) owner: &'a ObjectMeta,
}

/// An endless sequence of names for new Pods, without existing ones and duplicates.
pub(super) fn names(
    world: &World,
    maker: &Maker<'_>,
    now: Timestamp,
) -> impl Iterator<Item = String> {
    let owner = claim::reference(maker.kind, maker.owner);
    let namespace = namespace_of(maker.owner).to_owned();
    let mut given = std::collections::BTreeSet::new();
    (0..).map(move |number| template::pod_name(&owner, now, number)).filter(move |name| {
        let key = api::key(Some(&namespace), name);
        !world.pods.contains_key(key.as_str()) && given.insert(name.clone())
    })
}

impl Maker<'_> {
    pub(super) fn create(&self, template: &PodTemplateSpec, name: String) -> [Action; 2] {
        let owner = claim::reference(self.kind, self.owner);
        let news = self.tell("SuccessfulCreate", format!("Created pod: {name}"));
        let object = template::pod(template, name, &owner);
        let namespace = Some(namespace_of(self.owner).to_owned());
        [Action::Create { kind: &POD, namespace, object }, news]
    }

    pub(super) fn delete(&self, pod: &Pod, grace_seconds: Option<i64>) -> [Action; 2] {
        let delete = Action::delete(&POD, &pod.metadata, grace_seconds);
        let message = format!("Deleted pod: {}", name_of(&pod.metadata));
        [delete, self.tell("SuccessfulDelete", message)]
    }

    pub(super) fn tell(&self, reason: &'static str, message: String) -> Action {
        Action::tell(self.kind, self.owner, reason, message)
    }

    pub(super) fn warn(&self, reason: &'static str, message: String) -> Action {
        Action::warn(self.kind, self.owner, reason, message)
    }
}
