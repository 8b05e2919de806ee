//! Autoscalers to the Pods of the workload they scale.

use std::sync::Arc;

use evenkeel_model::Autoscaler;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use rustc_hash::FxHashMap;

use crate::{Collected, convert::pod::PodFacts};

/// What a Pod belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Workload {
    namespace: Arc<str>,
    kind: Arc<str>,
    name: Arc<str>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Autoscalers {
    by_target: FxHashMap<Workload, Autoscaler>,
}

impl Autoscalers {
    pub(super) fn new(given: &Collected<HorizontalPodAutoscaler>) -> Self {
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

    /// Puts the autoscaler of a Pod of these workloads into `into`. Of several the first by name stays,
    /// whatever the order of Pods.
    pub(super) fn pick(&self, workloads: &[Workload], into: &mut Option<Autoscaler>) {
        if self.by_target.is_empty() {
            return;
        }
        for workload in workloads {
            let Some(found) = self.by_target.get(workload) else {
                continue;
            };
            if into.as_ref().is_none_or(|known| found.name < known.name) {
                *into = Some(found.clone());
            }
        }
    }
}

fn target(given: &HorizontalPodAutoscaler) -> Workload {
    let target = &given.spec.scale_target_ref;
    Workload {
        namespace: given.metadata.namespace.as_deref().unwrap_or_default().into(),
        kind: target.kind.as_str().into(),
        name: target.name.as_str().into(),
    }
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
pub(super) fn workloads(pod: &impl PodFacts) -> Vec<Workload> {
    let namespace: Arc<str> = pod.meta().namespace.unwrap_or_default().into();
    let workload = |kind: &str, name: &str| Workload {
        namespace: Arc::clone(&namespace),
        kind: kind.into(),
        name: name.into(),
    };
    let of = |(kind, name): (&str, &str)| {
        let stem = name.rsplit_once('-').map(|(stem, _)| stem);
        let deployment = stem.filter(|_| kind == "ReplicaSet");
        let deployment = deployment.map(|stem| workload("Deployment", stem));
        std::iter::once(workload(kind, name)).chain(deployment)
    };
    pod.owners().flat_map(of).collect()
}
