//! Why traffic to a Service goes where it goes: every decision of this crate about one Service, in
//! one value that can be printed.
//!
//! Nothing is decided here. Selection, policy and hints come from the functions that decide them
//! for real, so that an explanation can't drift from the truth. O(endpoints · (zones + ports)): of
//! nodes, a few are looked from, however many there are.

mod advice;
mod checks;
mod hints;
mod load;
mod views;
mod warnings;

use std::sync::Arc;

use evenkeel_model::{
    AddressType, Endpoint, Selectable, ServiceState, Slice, Snapshot, Topology, TrafficPolicy,
    WithMessage, ZoneId,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

pub(crate) use self::hints::outcome;
pub use self::{
    advice::Advice,
    checks::{Check, Finding, Status},
    hints::{Coverage, Difference, HintsView, Outcome},
    views::{Client, Excluded, ExcludedReason, RuleReason, Traffic, Use, View},
    warnings::Warning,
};
use crate::{
    Capacity, DataPlane, Environment, NoHints, Policy, PolicyReason, Server, Settings,
    capacity::{ZoneCapacity, is_counted},
    measure,
    plan::NodeTable,
    policy,
};

/// From where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct From {
    pub zones: Vec<Arc<str>>,
    pub nodes: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub data_plane: DataPlane,
    pub server: Server,
    pub policy: Policy,
    pub because: WithMessage<PolicyReason>,
    pub internal_traffic_policy: TrafficPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<TrafficPolicy>,
    pub zones: Vec<ZoneView>,
    /// Why the capacity of zones is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_capacity: Option<WithMessage<NoHints>>,
    pub families: Vec<FamilyView>,
    pub checks: Vec<Check>,
    pub warnings: Vec<WithMessage<Warning>>,
    pub advice: WithMessage<Advice>,
}

/// A zone with its part of the cluster's CPU.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneView {
    pub name: Arc<str>,
    pub nodes: u32,
    pub cpu_milli: u64,
    pub ratio: f64,
}

/// One address family of the Service.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FamilyView {
    pub family: AddressType,
    pub endpoints: usize,
    pub ready: usize,
    pub hints: HintsView,
    pub views: Vec<View>,
    /// So many nodes have endpoints of their own and no view here.
    #[serde(skip_serializing_if = "is_zero")]
    pub nodes_not_shown: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// An endpoint as people know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndpointName {
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Arc<str>>,
}

/// What all parts of an explanation look at.
pub(crate) struct Subject<'a> {
    pub snapshot: &'a Snapshot,
    pub state: &'a ServiceState,
    pub nodes: NodeTable,
    pub capacity: Result<Capacity, NoHints>,
    pub requested: policy::RequestedPolicy,
    pub settings: &'a Settings,
    pub environment: &'a Environment,
}

/// Explains one Service of the snapshot, as seen from all zones or from where `from` says.
pub fn explain(
    snapshot: &Snapshot,
    state: &ServiceState,
    from: &From,
    environment: &Environment,
) -> Explanation {
    let data_plane = environment.data_plane(state);
    let settings = &environment.settings(&data_plane);
    let subject = Subject {
        snapshot,
        state,
        nodes: snapshot.nodes.iter().cloned().collect(),
        capacity: capacity(snapshot, settings),
        requested: environment.requested(&state.service, settings),
        settings,
        environment,
    };
    let families: Vec<FamilyView> =
        subject.families().into_iter().map(|f| family_view(&subject, f, from)).collect();
    let service = &state.service;
    Explanation {
        namespace: Arc::clone(&service.key.namespace),
        service: Arc::clone(&service.key.name),
        data_plane,
        server: environment.server,
        policy: subject.requested.policy,
        because: subject.requested.why.clone().into(),
        internal_traffic_policy: service.exposure.internal,
        external_traffic_policy: service.exposure.external,
        zones: subject.capacity.iter().flat_map(Capacity::zones).map(zone_view).collect(),
        no_capacity: subject.capacity.as_ref().err().cloned().map(WithMessage::from),
        checks: checks::checks(&subject, &families),
        warnings: warnings::warnings(&subject).into_iter().map(WithMessage::from).collect(),
        advice: advice::advice(&subject, &families).into(),
        families,
    }
}

/// Zone capacity of a snapshot. One without any node was taken without looking at nodes.
pub(crate) fn capacity(snapshot: &Snapshot, settings: &Settings) -> Result<Capacity, NoHints> {
    if snapshot.nodes.is_empty() {
        return Err(NoHints::NodesUnknown);
    }
    measure(&snapshot.nodes, &snapshot.topology, settings)
}

fn family_view(subject: &Subject<'_>, family: AddressType, from: &From) -> FamilyView {
    let endpoints = subject.endpoints(family);
    let (views, nodes_not_shown) = views::views(subject, family, from);
    FamilyView {
        family,
        endpoints: endpoints.len(),
        ready: endpoints.iter().filter(|e| e.ready()).count(),
        hints: hints::view(subject, family),
        views,
        nodes_not_shown,
    }
}

fn zone_view(zone: &ZoneCapacity) -> ZoneView {
    ZoneView {
        name: Arc::clone(&zone.name),
        nodes: zone.nodes,
        cpu_milli: zone.cpu_milli,
        ratio: zone.ratio,
    }
}

/// The endpoints without those whose address was there before.
fn once_each<'a>(endpoints: impl Iterator<Item = &'a Endpoint>) -> Vec<&'a Endpoint> {
    let mut seen = FxHashSet::default();
    endpoints.filter(|e| e.address().is_some_and(|a| seen.insert(a))).collect()
}

// === impl Subject ===

impl<'a> Subject<'a> {
    /// The families that have slices, else those the Service asks for. What slices a name outside
    /// the cluster may have, nobody reads.
    fn families(&self) -> Vec<AddressType> {
        if self.state.service.external_name {
            return Vec::new();
        }
        let mut families: Vec<AddressType> =
            self.state.slices.iter().map(|slice| slice.address_type).collect();
        families.sort_unstable();
        families.dedup();
        if families.is_empty() {
            families.clone_from(&self.state.service.families);
        }
        families
    }

    /// The endpoints of one family, each address once.
    pub(crate) fn endpoints(&self, family: AddressType) -> Vec<&'a Endpoint> {
        once_each(self.listed(family))
    }

    /// The endpoints of one family as often as slices list them: where ports have slices of their
    /// own, hints may be on one and not on the other.
    fn listed(&self, family: AddressType) -> impl Iterator<Item = &'a Endpoint> + use<'a> {
        let slices = self.state.slices.iter().filter(move |s| s.address_type == family);
        slices.flat_map(|slice| &slice.endpoints)
    }

    /// Whether an endpoint controller writes this slice. All slices of a Service without selector
    /// are taken as they are.
    pub(crate) fn manages(&self, slice: &Slice) -> bool {
        self.state.service.selector.is_none() || self.settings.manages(slice)
    }

    /// The zones that have nodes, or if nodes are not known, endpoints or hints; sorted by name.
    pub(crate) fn zones(&self) -> Vec<ZoneId> {
        let snapshot = self.snapshot;
        let mut zones: Vec<ZoneId> =
            snapshot.nodes.iter().filter(|n| !n.control_plane).filter_map(|n| n.zone).collect();
        if zones.is_empty() {
            let endpoints = self.state.slices.iter().flat_map(|s| &s.endpoints);
            zones = endpoints
                .flat_map(|e| e.zone.iter().chain(e.zone_hints()))
                .copied()
                .filter(|&zone| zone != ZoneId::EMPTY)
                .collect();
        }
        zones.sort_unstable_by_key(|&zone| snapshot.topology.zones.name(zone));
        zones.dedup();
        zones
    }

    /// Worker nodes that are not ready, and all worker nodes.
    pub(crate) fn unready_workers(&self) -> (usize, usize) {
        let workers = self.snapshot.nodes.iter().filter(|n| !n.control_plane);
        let unready = workers.clone().filter(|n| !is_counted(n)).count();
        (unready, workers.count())
    }
}

// === impl EndpointName ===

impl EndpointName {
    pub(crate) fn new(endpoint: &Endpoint, topology: &Topology) -> Self {
        let zone = endpoint.zone.filter(|&zone| zone != ZoneId::EMPTY);
        EndpointName {
            address: endpoint.address().map(ToString::to_string).unwrap_or_default(),
            pod: endpoint.target.as_ref().map(|target| Arc::clone(&target.name)),
            node: endpoint.node.map(|node| Arc::clone(topology.nodes.name(node))),
            zone: zone.map(|zone| Arc::clone(topology.zones.name(zone))),
        }
    }
}
