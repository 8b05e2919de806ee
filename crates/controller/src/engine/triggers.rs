//! When the change happened that slices are written for.
//!
//! Source: the annotation `endpoints.kubernetes.io/last-change-trigger-time` as Kubernetes' own
//! controller has it. At the first look at a Service, that is its creation; after that, the earliest
//! moment, among the Service's creation and the readiness changes of its Pods, that is newer than
//! what was known at the look before, whether that wrote anything or not. Without such a moment (a
//! Pod went, a label changed) there is none. O(Pods).

use std::sync::Arc;

use evenkeel_model::Pod;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Triggers {
    /// The Service was looked at before.
    known: bool,
    service: Option<i64>,
    pods: FxHashMap<Arc<str>, i64>,
}

impl Triggers {
    /// The moment that a write of this sync is for. To be called at every sync: what is known now
    /// triggers nothing later.
    pub(super) fn advance(
        &mut self,
        created: Option<i64>,
        pods: &[(&Pod, Option<i64>)],
    ) -> Option<i64> {
        let mut earliest =
            created.filter(|created| self.service.is_none_or(|last| *created > last));
        let mut known = FxHashMap::with_capacity_and_hasher(pods.len(), rustc_hash::FxBuildHasher);
        for (pod, since) in pods {
            let Some(since) = *since else { continue };
            if self.pods.get(&pod.name).is_none_or(|last| since > *last) {
                earliest = Some(earliest.map_or(since, |earliest| earliest.min(since)));
            }
            known.insert(Arc::clone(&pod.name), since);
        }
        self.service = created.or(self.service);
        self.pods = known;
        if std::mem::replace(&mut self.known, true) { earliest } else { created }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Id;

    use super::*;

    #[test]
    fn the_earliest_new_moment_counts() {
        let node = Id::from_index(1);
        let pods: Vec<Pod> =
            ["a", "b"].iter().map(|name| evenkeel_testkit::pod(name, node, 1)).collect();
        let seen = |a, b| [(&pods[0], a), (&pods[1], b)];
        let mut triggers = Triggers::default();
        // Kubernetes writes the Service's creation first, also where Pods became ready before.
        assert_eq!(triggers.advance(Some(10), &seen(Some(5), None)), Some(10));
        assert_eq!(triggers.advance(Some(10), &seen(Some(20), None)), Some(20));
        assert_eq!(triggers.advance(Some(10), &seen(Some(20), Some(30))), Some(30));
        assert_eq!(triggers.advance(Some(10), &seen(Some(50), Some(40))), Some(40));
        assert_eq!(triggers.advance(Some(10), &seen(Some(50), Some(40))), None);
        assert_eq!(triggers.advance(Some(10), &seen(Some(50), Some(40))[..1]), None);
        assert_eq!(triggers.advance(Some(10), &seen(Some(50), Some(40))), Some(40), "a new Pod");
    }
}
