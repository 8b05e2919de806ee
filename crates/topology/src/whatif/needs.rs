//! What a policy of Evenkeel's own needs to have its full effect.
//!
//! Kubernetes' controller knows none of these policies. Kubernetes' proxy obeys the hints that
//! Evenkeel's controller writes for them, and nothing else: it knows no zone shares and refuses no
//! traffic. A forecast shows what really happens, and this says what is missing.

use std::fmt;

use evenkeel_model::Reason;
use serde::Serialize;

use super::Figures;
use crate::{DataPlane, Policy, Profile, policy::OWN, reason::percent};

/// What is missing for the full effect of a policy. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Needs {
    /// Another controller manages the slices: the policy has no effect.
    Controller,
    /// The same, and the proxy of the nodes does not know what the policy writes.
    ControllerAndProxy,
    /// The proxy of the nodes goes by hints. With Evenkeel's, zone shares would have this effect.
    ProxyForShares { in_zone_share: f64, max_load: f64 },
    /// The proxy of the nodes only prefers the zone. Evenkeel's would refuse this share of traffic.
    ProxyToRefuse { unserved_share: f64 },
}

impl Needs {
    /// Why `policy` has no effect at all behind `plane`.
    pub(super) fn controller(policy: Policy, plane: &DataPlane) -> Option<Needs> {
        let is_missing = OWN.contains(&policy) && plane.hints.profile == Profile::Kubernetes;
        let by_proxy = matches!(policy, Policy::Balanced | Policy::RequireSameZone);
        is_missing.then_some(if by_proxy { Needs::ControllerAndProxy } else { Needs::Controller })
    }

    /// `full`: the figures with Evenkeel's proxy, which acts on more than hints.
    pub(super) fn proxy(policy: Policy, full: &Figures) -> Needs {
        match policy {
            Policy::RequireSameZone => Needs::ProxyToRefuse { unserved_share: full.unserved_share },
            _ => {
                Needs::ProxyForShares { in_zone_share: full.in_zone_share, max_load: full.max_load }
            }
        }
    }

    /// The policy has some effect, though not all of it.
    pub fn is_partial(&self) -> bool {
        matches!(self, Needs::ProxyForShares { .. } | Needs::ProxyToRefuse { .. })
    }
}

impl Reason for Needs {}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |ratio: f64| percent(ratio).round();
        match self {
            Needs::Controller => {
                write!(f, "needs Evenkeel's controller, which does not manage the slices")
            }
            Needs::ControllerAndProxy => {
                write!(f, "needs Evenkeel's controller, and its proxy on the nodes")
            }
            Needs::ProxyForShares { in_zone_share, max_load } => write!(
                f,
                "needs Evenkeel's proxy on the nodes; without it only hints count; with it {} % of traffic would stay in zone and the busiest endpoint would take {} % of its fair share",
                whole(*in_zone_share),
                whole(*max_load)
            ),
            Needs::ProxyToRefuse { unserved_share } => write!(
                f,
                "needs Evenkeel's proxy on the nodes; without it the zone is only preferred; with it {} % of traffic would be refused",
                whole(*unserved_share)
            ),
        }
    }
}
