//! Autoscalers to the Pods of the workload they scale.

use evenkeel_model::Autoscaler;
use k8s_openapi::api::{autoscaling::v2::HorizontalPodAutoscaler, core::v1::Pod};
use rustc_hash::FxHashMap;

use crate::Collected;

/// A namespace, and the kind and name of a workload.
type Workload<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Autoscalers<'a> {
    by_target: FxHashMap<Workload<'a>, Autoscaler>,
}

impl<'a> Autoscalers<'a> {
    pub(super) fn new(given: &'a Collected<HorizontalPodAutoscaler>) -> Self {
        let mut by_target = FxHashMap::default();
        for item in given {
            let scaler = scaler(&item.object);
            let known = by_target.entry(target(&item.object));
            let known = known.or_insert_with(|| scaler.clone());
            if scaler.name < known.name {
                *known = scaler;
            }
        }
        Autoscalers { by_target }
    }

    /// Puts the autoscaler of `pod` into `into`. Of several the first by name stays, whatever the
    /// order of Pods.
    pub(super) fn pick(&self, pod: &Pod, into: &mut Option<Autoscaler>) {
        if self.by_target.is_empty() {
            return;
        }
        for workload in workloads(pod) {
            let Some(found) = self.by_target.get(&workload) else {
                continue;
            };
            if into.as_ref().is_none_or(|known| found.name < known.name) {
                *into = Some(found.clone());
            }
        }
    }
}

fn target(given: &HorizontalPodAutoscaler) -> Workload<'_> {
    let namespace = given.metadata.namespace.as_deref().unwrap_or_default();
    let target = &given.spec.scale_target_ref;
    (namespace, &target.kind, &target.name)
}

fn scaler(given: &HorizontalPodAutoscaler) -> Autoscaler {
    Autoscaler {
        name: given.metadata.name.as_deref().unwrap_or_default().into(),
        min_replicas: replicas(given.spec.min_replicas.unwrap_or(1)),
        max_replicas: replicas(given.spec.max_replicas),
    }
}

fn replicas(count: i32) -> u32 {
    count.max(0).cast_unsigned()
}

/// The workloads a Pod belongs to. The ReplicaSets of a Deployment carry its name and a hash, and
/// nothing else about it reaches the Pod.
fn workloads(pod: &Pod) -> impl Iterator<Item = Workload<'_>> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let owners = pod.metadata.owner_references.iter().flatten();
    owners.flat_map(move |owner| {
        let direct = (namespace, owner.kind.as_str(), owner.name.as_str());
        let stem = owner.name.rsplit_once('-').map(|(stem, _)| stem);
        let deployment = stem.filter(|_| owner.kind == "ReplicaSet");
        let deployment = deployment.map(|stem| (namespace, "Deployment", stem));
        std::iter::once(direct).chain(deployment)
    })
}
