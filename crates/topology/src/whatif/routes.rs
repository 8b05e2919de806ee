//! What clients go by under a policy: in the slices as they are, and as they would be.

use evenkeel_model::{Service, SharesAnnotation};

use super::{patch, pool::Carried};
use crate::{
    Policy, PortRouting, Profile, Settings,
    routing::{Basis, Group},
};

/// What `service` says under `policy`. With headless Services, no proxy is between.
pub(super) fn basis(
    service: &Service,
    policy: Policy,
    current: Policy,
    settings: &Settings,
) -> Basis {
    if service.cluster_ip_none {
        Basis::IgnoreHints
    } else if policy == current {
        Basis::of(service, settings)
    } else {
        Basis::of(&patch(service, policy, settings.gates).apply(service), settings)
    }
}

/// What a proxy with these rules makes of it: that of Kubernetes knows hints only.
pub(super) fn understood(basis: Basis, proxy: Profile) -> Basis {
    match (proxy, basis) {
        (Profile::Kubernetes, Basis::Shares { .. } | Basis::SameZoneOnly) => Basis::Hints,
        _ => basis,
    }
}

/// With the slices as they are.
pub(super) fn in_force<'a>(basis: Basis, carried: &'a [Carried]) -> PortRouting {
    let group =
        |of_ports: &'a Carried| Group { ready: of_ports.ready, carried: of_ports.shares.as_ref() };
    PortRouting::combined(basis, carried.iter().map(group))
}

/// With slices that have this table.
pub(super) fn planned(basis: Basis, shares: Option<&SharesAnnotation>) -> PortRouting {
    PortRouting::combined(basis, [Group { ready: 1, carried: shares }])
}
