//! What clients go by under a policy: in the slices as they are, and as they would be.

use evenkeel_model::{Service, SharesAnnotation};

use super::{patch, pool::Carried};
use crate::{
    Policy, PortRouting, Profile, Settings,
    routing::{Basis, Group},
};

/// What clients go by: what the policy means, and what the proxy of the nodes makes of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    meant: Basis,
    understood: Basis,
}

impl Route {
    /// What `service` says under `policy`, where nodes have this `proxy`.
    pub(super) fn new(
        service: &Service,
        policy: Policy,
        current: Policy,
        proxy: Profile,
        settings: &Settings,
    ) -> Self {
        let meant = if service.cluster_ip_none {
            // No proxy is between.
            Basis::IgnoreHints
        } else if policy == current {
            Basis::of(service, settings)
        } else {
            Basis::of(&patch(service, policy, settings.gates).apply(service), settings)
        };
        let understood = match (proxy, meant) {
            // It knows hints only.
            (Profile::Kubernetes, Basis::Shares { .. } | Basis::SameZoneOnly) => Basis::Hints,
            _ => meant,
        };
        Route { meant, understood }
    }

    /// With the slices as they are.
    pub(super) fn in_force(self, carried: &[Carried]) -> PortRouting {
        in_force(self.understood, carried)
    }

    /// With slices that have this table.
    pub(super) fn planned(self, shares: Option<&SharesAnnotation>) -> PortRouting {
        planned(self.understood, shares)
    }

    /// What the policy means by slices that have this table, if the proxy does otherwise.
    pub(super) fn not_understood(self, shares: Option<&SharesAnnotation>) -> Option<PortRouting> {
        let meant = planned(self.meant, shares);
        let is_more = matches!(meant, PortRouting::Shares(_) | PortRouting::SameZoneOnly);
        (self.understood != self.meant && is_more).then_some(meant)
    }
}

pub(super) fn in_force(basis: Basis, carried: &[Carried]) -> PortRouting {
    let carried = carried.iter();
    let groups = carried.map(|one| Group { ready: one.ready, carried: one.shares.as_ref() });
    PortRouting::combined(basis, groups)
}

fn planned(basis: Basis, shares: Option<&SharesAnnotation>) -> PortRouting {
    PortRouting::combined(basis, [Group { ready: 1, carried: shares }])
}
