//! `spec.topologyKeys`, which Kubernetes had until 1.21.
//!
//! Source: KEP-536 and kube-proxy 1.21. An ordered list of keys of node labels. The first key for
//! which an endpoint's node has the same value as the client's node decides; `*`, which must be the
//! last, matches any endpoint. Without `*`, traffic that matches nothing is dropped. An empty list is
//! no preference.
//!
//! A node is in one zone and a zone in one region, so a key behind a wider one never decides and is
//! left out. What remains is a [`Ladder`].

use std::sync::Arc;

use evenkeel_model::label;

use super::MigrationReason;
use crate::Policy;

/// `spec.topologyKeys`.
pub const TOPOLOGY_KEYS: &str = "spec.topologyKeys";

/// The key that matches every endpoint.
pub const ANY: &str = "*";

const HOSTNAME: &str = "kubernetes.io/hostname";
// The names before Kubernetes 1.17.
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// Which steps the keys take, from near to far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each step is there or not")]
pub(super) struct Ladder {
    pub(super) node: bool,
    pub(super) zone: bool,
    pub(super) region: bool,
    /// Any endpoint. Without it, traffic that matches no step is dropped.
    pub(super) any: bool,
}

/// What says the same today, or nearly the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Policy(Policy),
    /// `spec.internalTrafficPolicy: Local`.
    NodeLocal,
}

// === impl Ladder ===

impl Ladder {
    /// An error is a label that no policy knows.
    pub(super) fn of(keys: &[Arc<str>]) -> Result<Self, Arc<str>> {
        let mut ladder = Ladder::default();
        for key in keys {
            match &**key {
                ANY => {
                    ladder.any = true;
                    break;
                }
                HOSTNAME => ladder.node |= !ladder.zone && !ladder.region,
                label::ZONE | OLD_ZONE => ladder.zone |= !ladder.region,
                label::REGION | OLD_REGION => ladder.region = true,
                _ => return Err(Arc::clone(key)),
            }
        }
        Ok(ladder)
    }

    pub(super) fn is_preference(self) -> bool {
        self.node || self.zone || self.region
    }

    /// The closest of today's settings, for a preference. `evenkeel`: its controller writes the
    /// hints, so that its own policies count.
    pub(super) fn target(self, evenkeel: bool) -> Result<Target, MigrationReason> {
        let policy = match self {
            Ladder { node: true, zone: false, region: false, any: false } => {
                return Ok(Target::NodeLocal);
            }
            // Before RequireSameZone: kube-proxy drops under neither, and this keeps the first step.
            Ladder { node: true, .. } => Policy::PreferSameNode,
            Ladder { zone: true, region: false, any: false, .. } if evenkeel => {
                Policy::RequireSameZone
            }
            Ladder { zone: true, region: true, .. } if evenkeel => Policy::PreferSameZoneThenRegion,
            Ladder { zone: true, .. } => Policy::PreferSameZone,
            _ if evenkeel => Policy::PreferSameRegion,
            _ => {
                return Err(MigrationReason::NeedsEvenkeel { policy: Policy::PreferSameRegion });
            }
        };
        Ok(Target::Policy(policy))
    }

    /// What is different under `policy`.
    pub(super) fn differences(self, policy: Policy) -> Vec<MigrationReason> {
        let knows_region =
            matches!(policy, Policy::PreferSameRegion | Policy::PreferSameZoneThenRegion);
        let drops = policy == Policy::RequireSameZone;
        let cases = [
            (self.node && !self.zone, MigrationReason::ZoneBeforeOthers),
            (self.region && !knows_region, MigrationReason::RegionNotPreferred { policy }),
            (!self.any && !drops, MigrationReason::NeverDropped { policy }),
            (drops, MigrationReason::KubeProxyNeverDrops),
        ];
        cases.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(keys: &[&str]) -> Result<Ladder, Arc<str>> {
        Ladder::of(&keys.iter().map(|key| Arc::from(*key)).collect::<Vec<_>>())
    }

    #[test]
    fn keys_that_never_decide_are_left_out() {
        let (node, zone, region) = (HOSTNAME, label::ZONE, label::REGION);
        for (keys, same) in [
            (&[zone, node, ANY][..], &[zone, ANY][..]),
            (&[region, zone, node], &[region]),
            (&[node, region, zone, ANY], &[node, region, ANY]),
            (&[OLD_ZONE, zone, OLD_REGION, region], &[zone, region]),
            (&[node, node], &[node]),
            (&[zone, ANY, "example.org/rack"], &[zone, ANY]),
        ] {
            assert_eq!(ladder(keys), ladder(same), "{keys:?}");
        }
        assert_eq!(ladder(&[]), Ok(Ladder::default()));
        assert!(!ladder(&[ANY]).unwrap().is_preference());
        assert_eq!(ladder(&[node, "example.org/rack", ANY]), Err("example.org/rack".into()));
    }
}
