//! Hints in force against desired hints.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use evenkeel_model::{
    AddressType, Endpoint, Hints, Pod, Reason, Selectable, Slice, Topology, WithMessage,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::{EndpointName, Subject};
use crate::{
    Draft, NoHints, Role, Sync, auto,
    plan::{self, GroupShares, HintOutcome, plan},
    region::{Expressed, Reach},
};

/// How many ready endpoints have zone hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Coverage {
    NoEndpoints,
    None,
    Some,
    All,
}

/// What hints the policy gives. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The Service requests no hints.
    NotRequested,
    /// Auto: allocated, with the number of endpoints for each zone.
    Allocated {
        zones: BTreeMap<Arc<str>, u32>,
        kept: bool,
    },
    /// Auto gives no hints.
    Refused {
        why: NoHints,
    },
    OwnZone,
    OwnNode,
    /// Zone shares, with the part of the traffic that is expected to stay in its zone. `auto`: why
    /// there are no hints for consumers that don't know zone shares.
    Balanced {
        #[serde(skip_serializing_if = "Option::is_none")]
        in_zone: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        auto: Option<NoHints>,
    },
    /// `fallback`: only zones without endpoints use those of the region.
    /// `zones`: how many an endpoint would have to be hinted for where `by_shares`.
    Region {
        fallback: bool,
        by_shares: bool,
        #[serde(skip_serializing_if = "super::is_zero")]
        zones: usize,
    },
    /// The Service has no selector: no controller writes its slices.
    NotManaged,
}

/// One endpoint whose hints differ from the desired ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub has: Vec<Arc<str>>,
    pub desired: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HintsView {
    pub in_force: Coverage,
    pub desired: WithMessage<Outcome>,
    /// Empty when hints match the desired state.
    pub differences: Vec<Difference>,
    /// Ready Pods that are in no slice yet.
    pub missing_pods: Vec<Arc<str>>,
    /// Endpoints in the controller's slices that no Pod backs.
    pub stale: Vec<EndpointName>,
}

/// What the controller would write, and for which endpoints that is known.
struct Desired {
    outcome: HintOutcome,
    endpoints: Vec<Endpoint>,
    /// From Pods: `None` when they are not known; else the Pods that wait for their node.
    waiting: Option<FxHashSet<Arc<str>>>,
}

/// The hints, and the desired zone shares of each set of ports.
pub(super) fn view(subject: &Subject<'_>, family: AddressType) -> (HintsView, Vec<GroupShares>) {
    let ready: Vec<&Endpoint> = subject.listed(family).filter(|e| e.ready()).collect();
    let in_force = coverage(&ready);
    if subject.state.service.selector.is_none() {
        return (HintsView { in_force, ..not_managed() }, Vec::new());
    }
    let kept = auto::in_force(ready.iter().copied());
    let desired = desired(subject, family, kept);
    let topology = &subject.snapshot.topology;
    let known: FxHashSet<_> = subject.listed(family).map(Endpoint::address).collect();
    let missing =
        desired.endpoints.iter().filter(|e| e.is_ready() && !known.contains(&e.address()));
    let groups = match &desired.outcome {
        HintOutcome::Balanced { groups, .. } | HintOutcome::Region { groups, .. } => groups.clone(),
        _ => Vec::new(),
    };
    let hints = HintsView {
        in_force,
        differences: differences(&ready, &desired.endpoints, topology),
        missing_pods: missing.filter_map(|e| Some(Arc::clone(&e.target.as_ref()?.name))).collect(),
        stale: stale(subject, family, &desired),
        desired: outcome(desired.outcome, kept, topology).into(),
    };
    (hints, groups)
}

fn not_managed() -> HintsView {
    HintsView {
        in_force: Coverage::NoEndpoints,
        desired: Outcome::NotManaged.into(),
        differences: Vec::new(),
        missing_pods: Vec::new(),
        stale: Vec::new(),
    }
}

fn differences(ready: &[&Endpoint], desired: &[Endpoint], topology: &Topology) -> Vec<Difference> {
    let desired: FxHashMap<_, _> = desired.iter().map(|e| (e.address(), e)).collect();
    // Hints that are there but empty say no more than none.
    let alike = |a: &Endpoint, b: &Endpoint| {
        a.zone_hints() == b.zone_hints() && a.node_hints() == b.node_hints()
    };
    let difference = |has: &&Endpoint| {
        let desired = desired.get(&has.address())?;
        (!alike(has, desired)).then(|| Difference {
            endpoint: EndpointName::new(has, topology),
            has: names(has.hints.as_ref(), topology),
            desired: names(desired.hints.as_ref(), topology),
        })
    };
    ready.iter().filter_map(difference).collect()
}

/// Endpoints that the controller would take out of its slices.
fn stale(subject: &Subject<'_>, family: AddressType, desired: &Desired) -> Vec<EndpointName> {
    let Some(waiting) = &desired.waiting else {
        return Vec::new();
    };
    let backed: FxHashSet<_> = desired.endpoints.iter().map(Endpoint::address).collect();
    let waits = |e: &Endpoint| e.target.as_ref().is_some_and(|pod| waiting.contains(&pod.name));
    let slices = subject.state.slices.iter().filter(|s| s.address_type == family);
    let managed = slices.filter(|s| subject.manages(s)).flat_map(|s| &s.endpoints);
    let stale = managed.filter(|e| !backed.contains(&e.address()) && !waits(e));
    stale.map(|e| EndpointName::new(e, &subject.snapshot.topology)).collect()
}

/// The endpoints with the hints that the policy gives them: from Pods where they are known, else
/// from the slices as they are.
fn desired(subject: &Subject<'_>, family: AddressType, in_force: bool) -> Desired {
    let state = subject.state;
    let managed = state.slices.iter().filter(|s| subject.manages(s));
    let existing: Vec<&Slice> = managed.collect();
    let pods: Vec<&Pod> = state.pods.iter().collect();
    let sync = Sync {
        service: &state.service,
        pods: &pods,
        nodes: subject.nodes,
        capacity: subject.capacity.as_ref(),
        demand: subject.demand,
        existing: &existing,
        populated: in_force,
        settings: subject.settings,
    };
    if !state.pods.is_empty() && !subject.nodes.is_empty() {
        return from_pods(&sync, family);
    }
    let slices = existing.iter().copied().filter(|s| s.address_type == family);
    let mut drafts: Vec<Draft<'_>> =
        slices.map(|slice| Draft { role: Role::Unchanged, slice: Cow::Borrowed(slice) }).collect();
    let outcome = plan::hint(&mut drafts, &subject.requested, in_force, &sync);
    let endpoints = of_family(drafts.iter().map(|d| &*d.slice), family);
    Desired { outcome, endpoints, waiting: None }
}

fn from_pods(sync: &Sync<'_>, family: AddressType) -> Desired {
    let plan = plan(sync);
    let outcome = plan.families.iter().find(|f| f.family == family);
    let outcome = outcome.map_or(HintOutcome::NotRequested, |f| f.hints.clone());
    let unchanged: FxHashSet<&Arc<str>> = plan.unchanged.iter().collect();
    let unchanged = sync.existing.iter().copied().filter(|s| unchanged.contains(&s.name));
    let slices = plan.create.iter().chain(&plan.update).chain(unchanged);
    let endpoints = of_family(slices, family);
    Desired { outcome, endpoints, waiting: Some(plan.without_node.into_iter().collect()) }
}

fn of_family<'a>(slices: impl Iterator<Item = &'a Slice>, family: AddressType) -> Vec<Endpoint> {
    let slices = slices.filter(|s| s.address_type == family);
    slices.flat_map(|s| s.endpoints.iter().cloned()).collect()
}

fn coverage(ready: &[&Endpoint]) -> Coverage {
    let hinted = ready.iter().filter(|e| e.has_zone_hint()).count();
    match (ready.len(), hinted) {
        (0, _) => Coverage::NoEndpoints,
        (_, 0) => Coverage::None,
        (ready, hinted) if ready == hinted => Coverage::All,
        _ => Coverage::Some,
    }
}

/// The outcome with names instead of ids; `kept`: hints were in force before.
pub(crate) fn outcome(outcome: HintOutcome, kept: bool, topology: &Topology) -> Outcome {
    match outcome {
        HintOutcome::NotRequested => Outcome::NotRequested,
        HintOutcome::OwnZone => Outcome::OwnZone,
        HintOutcome::OwnNode => Outcome::OwnNode,
        HintOutcome::Balanced { hints, groups } => Outcome::Balanced {
            in_zone: groups
                .iter()
                .filter(|group| group.shares.is_ok())
                .filter_map(|group| Some(group.decision.as_ref()?.figures.in_zone))
                .reduce(f64::min),
            auto: hints.err(),
        },
        HintOutcome::Region { reach, expressed, .. } => Outcome::Region {
            fallback: reach == Reach::ZoneThenRegion,
            by_shares: expressed != Expressed::ByHints,
            zones: match expressed {
                Expressed::ByHints => 0,
                Expressed::ByShares { zones } => zones,
            },
        },
        HintOutcome::AutoRefused(why) => Outcome::Refused { why },
        HintOutcome::Auto(counts) => Outcome::Allocated {
            zones: counts
                .iter()
                .map(|(zone, n)| (Arc::clone(topology.zones.name(zone)), n))
                .collect(),
            kept,
        },
    }
}

/// Hints by name: zones, then `node/NAME`.
fn names(hints: Option<&Hints>, topology: &Topology) -> Vec<Arc<str>> {
    let Some(hints) = hints else {
        return Vec::new();
    };
    let zones = hints.zones.iter().map(|&zone| Arc::clone(topology.zones.name(zone)));
    let nodes = hints.nodes.iter().map(|&node| format!("node/{}", topology.nodes.name(node)));
    zones.chain(nodes.map(Arc::from)).collect()
}

// === impl Outcome ===

impl Reason for Outcome {}

impl Outcome {
    /// The policy writes zone shares and no hints.
    pub(crate) fn is_without_hints(&self) -> bool {
        matches!(
            self,
            Outcome::Balanced { auto: Some(_), .. } | Outcome::Region { by_shares: true, .. }
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::NotRequested => write!(f, "none"),
            Outcome::Allocated { zones, kept } => {
                let zones: Vec<String> = zones.iter().map(|(z, n)| format!("{z} {n}")).collect();
                let how = if *kept { "kept" } else { "allocated by CPU" };
                write!(f, "{how}: {}", zones.join(", "))
            }
            Outcome::Refused { why } => write!(f, "none: {why}"),
            Outcome::OwnZone => write!(f, "each endpoint for its own zone"),
            Outcome::OwnNode => write!(f, "each endpoint for its own node and zone"),
            Outcome::Balanced { in_zone, auto } => {
                match in_zone {
                    Some(part) => write!(f, "zone shares, {:.0} % in zone", part * 100.0)?,
                    None => write!(f, "no zone shares")?,
                }
                match auto {
                    Some(why) => write!(f, "; no hints: {why}"),
                    None => write!(f, "; hints as under Auto"),
                }
            }
            Outcome::Region { fallback, by_shares, .. } => {
                let zones = match fallback {
                    true => "its own zone and zones of its region without endpoints",
                    false => "all zones of its region",
                };
                let how = if *by_shares { " (zone shares: too many zones for hints)" } else { "" };
                write!(f, "each endpoint for {zones}{how}")
            }
            Outcome::NotManaged => write!(f, "none: the Service has no selector"),
        }
    }
}
