//! Splits: which clusters share the traffic of a rule.
//!
//! Each distinct backend is a cluster of its own, and the strategy rules inside each. Where there are
//! several, those without endpoints leave, because Envoy answers 503 for the share of a cluster that
//! has none. The state of each is recorded, so that the plan is made again when that changes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    AssignmentKey, PlanReason,
    plan::{Planner, Target},
    shapes::SplitState,
};
use crate::resource::BackendRef;

impl Planner<'_> {
    /// Clusters with weights above 0, in the order of the backends; or why there are none.
    pub(super) fn split(
        &mut self,
        to: &Target,
        backends: Option<&[(BackendRef, u32)]>,
    ) -> Result<Vec<(Arc<str>, u32)>, PlanReason> {
        let service = to.service.name.clone();
        let backends = backends.unwrap_or_default();
        let parts = match backends {
            [] => vec![(to.clone(), self.assignment_key(to), 1)],
            backends => self.distinct(backends),
        };
        if parts.is_empty() {
            return Err(self.because(PlanReason::AllWeightsZero { service }));
        }
        let is_split = parts.len() > 1;
        let mut clusters = Vec::new();
        let mut refused = None;
        for (part, key, weight) in parts {
            if is_split && let Some(reason) = self.why_empty(&part, &key) {
                self.reasons.insert(reason);
                continue;
            }
            match self.add_cluster(&part, key) {
                Ok(cluster) => clusters.push((cluster, weight)),
                Err(reason) => refused = Some(self.because(reason)),
            }
        }
        if clusters.is_empty() {
            let all_empty = PlanReason::AllSplitsEmpty { service };
            return Err(refused.unwrap_or_else(|| self.because(all_empty)));
        }
        Ok(within_limit(clusters))
    }

    /// Backends with traffic; equal ones are one, with the sum of the weights.
    fn distinct(
        &mut self,
        backends: &[(BackendRef, u32)],
    ) -> Vec<(Target, Arc<AssignmentKey>, u64)> {
        let mut places: FxHashMap<Arc<AssignmentKey>, usize> = FxHashMap::default();
        let mut parts: Vec<(Target, Arc<AssignmentKey>, u64)> = Vec::new();
        for (backend, weight) in backends.iter().filter(|(_, weight)| *weight > 0) {
            let part = self.target(backend);
            let key = self.assignment_key(&part);
            let place = *places.entry(key.clone()).or_insert(parts.len());
            match parts.get_mut(place) {
                Some((_, _, sum)) => *sum += u64::from(*weight),
                None => parts.push((part, key, u64::from(*weight))),
            }
        }
        parts
    }

    fn why_empty(&mut self, part: &Target, key: &Arc<AssignmentKey>) -> Option<PlanReason> {
        let state = self.made_from.splits.get(key).copied();
        let state = state.unwrap_or_else(|| {
            self.mesh.work += 1;
            self.mesh.known_split(key)
        });
        self.made_from.splits.insert(key.clone(), state);
        let service = part.service.name.clone();
        let subset = part.subset.clone();
        match state {
            SplitState::Used => None,
            SplitState::Emptied => Some(PlanReason::SplitEmptied { service, subset }),
            SplitState::WithoutEndpoints => {
                Some(PlanReason::SplitWithoutEndpoints { service, subset })
            }
        }
    }

    fn because(&mut self, reason: PlanReason) -> PlanReason {
        self.reasons.insert(reason.clone());
        reason
    }
}

/// Envoy refuses weights whose sum is above 32 bits.
fn within_limit(clusters: Vec<(Arc<str>, u64)>) -> Vec<(Arc<str>, u32)> {
    let sum: u64 = clusters.iter().map(|(_, weight)| weight).sum();
    // Each is at least 1 after the division, so room is left for that.
    let limit = u64::from(u32::MAX) - clusters.len() as u64;
    let divisor = sum.div_ceil(limit.max(1)).max(1);
    let scaled = |weight: u64| u32::try_from((weight / divisor).max(1)).unwrap_or(u32::MAX);
    clusters.into_iter().map(|(cluster, weight)| (cluster, scaled(weight))).collect()
}
