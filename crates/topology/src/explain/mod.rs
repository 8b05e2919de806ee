//! Why traffic to a Service goes where it goes: every decision of this crate about one Service, in
//! one value that can be printed.
//!
//! Nothing is decided here. Selection, policy and hints come from the functions that decide them
//! for real, so that an explanation can't drift from the truth. O(endpoints · (zones + ports)): of
//! nodes, a few are viewpoints, however many there are.

mod advice;
mod checks;
mod context;
mod hints;
mod load;
mod own;
mod regions;
mod shares;
mod views;
mod warnings;

use std::sync::Arc;

use evenkeel_model::{
    AddressType, Endpoint, Routing, Selectable, ServiceState, Slice, Snapshot, Topology,
    TrafficPolicy, WithMessage, ZoneId, label,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

pub(crate) use self::{
    advice::foreign_without_hints,
    hints::outcome,
    own::{ANNOTATION_VALUES, annotation_of_evenkeel, warnings as own_warnings},
    regions::RegionLabels,
    warnings::zones as zone_warnings,
};
pub use self::{
    advice::{Advice, Alternative},
    checks::{Check, Finding, Status},
    context::Context,
    hints::{Coverage, Difference, HintsView, Outcome},
    regions::RegionView,
    shares::{Adoption, SharePart, ShareRow, SharesState, SharesView, TrafficFigures, TrafficPart},
    views::{Client, Excluded, ExcludedReason, RuleReason, Traffic, Use, View},
    warnings::Warning,
};
use crate::{
    Capacity, DataPlane, Demand, Environment, InForce, NoHints, Policy, PolicyReason, Profile,
    Server, Settings, analyze, capacity::ZoneCapacity, measure, plan::NodeTable, policy, routing,
};

/// The viewpoints to explain. Empty: all zones.
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
    /// On which nodes its rules are in force, where nodes report Evenkeel's proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<WithMessage<InForce>>,
    /// What is wrong: with the Service first, then with nodes and zones.
    pub findings: Vec<analyze::Finding>,
    pub policy: Policy,
    pub because: WithMessage<PolicyReason>,
    pub internal_traffic_policy: TrafficPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<TrafficPolicy>,
    pub zones: Vec<ZoneView>,
    /// Under policies that look at regions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionView>,
    /// Why the capacity of zones is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_capacity: Option<WithMessage<NoHints>>,
    pub families: Vec<FamilyView>,
    pub checks: Vec<Check>,
    pub warnings: Vec<WithMessage<Warning>>,
    pub advice: WithMessage<Advice>,
    /// What else would help, and what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<WithMessage<Alternative>>,
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
    /// Where the policy writes zone shares, those of each set of ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<SharesView>,
    pub views: Vec<View>,
    /// The number of nodes with their own endpoints that have no view here.
    #[serde(skip_serializing_if = "is_zero")]
    pub nodes_not_shown: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// An endpoint by the names that people know.
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

/// The input of all parts of an explanation.
pub(crate) struct Subject<'a> {
    pub snapshot: &'a Snapshot,
    pub state: &'a ServiceState,
    pub nodes: &'a NodeTable,
    pub capacity: &'a Result<Capacity, NoHints>,
    pub demand: &'a Demand,
    pub context: &'a Context<'a>,
    pub requested: policy::RequestedPolicy,
    /// Whose rules route.
    pub routing: Profile,
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
    Context::new(snapshot, environment).explain(state, from)
}

/// Zone capacity of a snapshot. One without any node was taken without looking at nodes.
pub(crate) fn capacity(snapshot: &Snapshot, settings: &Settings) -> Result<Capacity, NoHints> {
    if snapshot.nodes.is_empty() {
        return Err(NoHints::NodesUnknown);
    }
    measure(&snapshot.nodes, &snapshot.topology, settings)
}

/// `from`: `None` leaves the views out.
fn family_view(subject: &Subject<'_>, family: AddressType, from: Option<&From>) -> FamilyView {
    let endpoints = subject.endpoints(family);
    let (views, nodes_not_shown) =
        from.map_or_else(Default::default, |from| views::views(subject, family, from));
    let (hints, groups) = hints::view(subject, family);
    FamilyView {
        family,
        endpoints: endpoints.len(),
        ready: endpoints.iter().filter(|e| e.ready()).count(),
        hints,
        shares: shares::views(subject, family, &groups),
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
    /// The families that have slices, else those of the Service. Slices of an ExternalName Service
    /// are ignored.
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
    /// count as managed.
    pub(crate) fn manages(&self, slice: &Slice) -> bool {
        self.state.service.selector.is_none() || self.settings.manages(slice)
    }

    /// Whether Evenkeel's controller writes slices of the Service.
    pub(crate) fn has_own_slices(&self) -> bool {
        self.state.slices.iter().any(|slice| routing::is_ours(slice, self.settings))
    }

    /// The manager of the slices, if it is not Evenkeel's controller: it ignores what only that one knows.
    pub(crate) fn other_manager(&self) -> Option<Arc<str>> {
        if self.has_own_slices() || self.state.service.selector.is_none() {
            return None;
        }
        let in_use = self.state.slices.iter().filter(|s| !s.labels.contains_key(label::WITHDRAWN));
        let mut managers = in_use.filter_map(|slice| slice.labels.get(label::MANAGED_BY));
        let built_in = managers.clone().find(|name| ***name == *label::BUILT_IN);
        built_in.or_else(|| managers.next()).cloned()
    }

    /// What consumers go by that know neither zone shares nor policies of Evenkeel's own.
    pub(crate) fn routing_by_hints(&self) -> Routing<'static> {
        if policy::hints_count(&self.state.service, self.settings.gates) {
            Routing::Hints
        } else {
            Routing::IgnoreHints
        }
    }

    /// The zones that have nodes, or if nodes are unknown, endpoints or hints; sorted by name.
    pub(crate) fn zones(&self) -> Vec<ZoneId> {
        if !self.context.zones.is_empty() {
            return self.context.zones.clone();
        }
        let endpoints = self.state.slices.iter().flat_map(|s| &s.endpoints);
        let named = endpoints.flat_map(|e| e.zone.iter().chain(e.zone_hints())).copied();
        let mut zones: Vec<ZoneId> = named.filter(|&zone| zone != ZoneId::EMPTY).collect();
        zones.sort_unstable_by_key(|&zone| self.snapshot.topology.zones.name(zone));
        zones.dedup();
        zones
    }

    /// Worker nodes that are not ready, and all worker nodes.
    pub(crate) fn unready_workers(&self) -> (usize, usize) {
        self.context.unready
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
