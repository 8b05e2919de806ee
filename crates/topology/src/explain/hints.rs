//! Hints in force against hints that ought to be.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use evenkeel_model::{AddressType, Endpoint, Hints, Reason, Said, Slice, Topology};
use serde::Serialize;

use super::{EndpointName, Subject};
use crate::{
    Draft, NoHints, Role, Sync, auto,
    plan::{self, HintOutcome, NodeTable, plan},
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
#[serde(tag = "code")]
#[non_exhaustive]
pub enum Outcome {
    NotAsked,
    /// Auto: shared out, with the number for each zone.
    SharedOut {
        zones: BTreeMap<Arc<str>, u32>,
        kept: bool,
    },
    Refused {
        why: NoHints,
    },
    OwnZone,
    OwnNode,
}

/// One endpoint whose hints are not what they ought to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub has: Vec<Arc<str>>,
    pub ought: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HintsView {
    pub in_force: Coverage,
    pub ought: Said<Outcome>,
    /// Empty when hints are as they ought to be.
    pub differences: Vec<Difference>,
    /// Ready Pods that are in no slice yet.
    pub missing_pods: Vec<Arc<str>>,
}

pub(super) fn view(
    subject: &Subject<'_>,
    family: AddressType,
    endpoints: &[&Endpoint],
) -> HintsView {
    let ready: Vec<&Endpoint> = endpoints.iter().copied().filter(|e| e.is_ready()).collect();
    let in_force = auto::in_force(ready.iter().copied());
    let (outcome, ought) = ought(subject, family, in_force);
    let topology = &subject.snapshot.topology;
    let by_address: BTreeMap<_, _> = ought.iter().map(|e| (e.address(), e)).collect();
    let differences = ready
        .iter()
        .filter_map(|has| {
            let ought = by_address.get(&has.address())?;
            (has.hints != ought.hints).then(|| Difference {
                endpoint: EndpointName::new(has, topology),
                has: names(has.hints.as_ref(), topology),
                ought: names(ought.hints.as_ref(), topology),
            })
        })
        .collect();
    let known = |e: &&Endpoint| endpoints.iter().any(|has| has.address() == e.address());
    let missing = ought.iter().filter(|e| e.is_ready() && !known(e));
    HintsView {
        in_force: coverage(&ready),
        ought: self::outcome(outcome, in_force, topology).into(),
        differences,
        missing_pods: missing.filter_map(|e| Some(Arc::clone(&e.target.as_ref()?.name))).collect(),
    }
}

/// The endpoints with the hints that the policy gives them: from Pods where they are known, else
/// from the slices as they are.
fn ought(
    subject: &Subject<'_>,
    family: AddressType,
    in_force: bool,
) -> (HintOutcome, Vec<Endpoint>) {
    let state = subject.state;
    let existing: Vec<Slice> =
        state.slices.iter().filter(|s| subject.manages(s)).cloned().collect();
    let nodes: NodeTable = subject.snapshot.nodes.iter().cloned().collect();
    let sync = Sync {
        service: &state.service,
        pods: &state.pods,
        nodes: &nodes,
        capacity: subject.capacity.as_ref(),
        existing: &existing,
        populated: in_force,
        settings: subject.settings,
    };
    if !state.pods.is_empty() && !nodes.is_empty() {
        let plan = plan(&sync);
        let outcome = plan.families.iter().find(|f| f.family == family);
        let outcome = outcome.map_or(HintOutcome::NotAsked, |f| f.hints.clone());
        let unchanged = existing.iter().filter(|s| plan.unchanged.contains(&s.name));
        let slices = plan.create.iter().chain(&plan.update).chain(unchanged);
        return (outcome, of_family(slices, family));
    }
    let slices = existing.iter().filter(|s| s.address_type == family);
    let mut drafts: Vec<Draft<'_>> =
        slices.map(|slice| Draft { role: Role::Unchanged, slice: Cow::Borrowed(slice) }).collect();
    let outcome = plan::hint(&mut drafts, &subject.asked, in_force, &sync);
    (outcome, of_family(drafts.iter().map(|d| &*d.slice), family))
}

fn of_family<'a>(slices: impl Iterator<Item = &'a Slice>, family: AddressType) -> Vec<Endpoint> {
    let slices = slices.filter(|s| s.address_type == family);
    slices.flat_map(|s| s.endpoints.iter().cloned()).collect()
}

fn coverage(ready: &[&Endpoint]) -> Coverage {
    let hinted = ready.iter().filter(|e| !e.zone_hints().is_empty()).count();
    match (ready.len(), hinted) {
        (0, _) => Coverage::NoEndpoints,
        (_, 0) => Coverage::None,
        (ready, hinted) if ready == hinted => Coverage::All,
        _ => Coverage::Some,
    }
}

/// The outcome in words' form; `kept`: hints were in force before.
pub(crate) fn outcome(outcome: HintOutcome, kept: bool, topology: &Topology) -> Outcome {
    match outcome {
        HintOutcome::NotAsked => Outcome::NotAsked,
        HintOutcome::OwnZone => Outcome::OwnZone,
        HintOutcome::OwnNode => Outcome::OwnNode,
        HintOutcome::AutoRefused(why) => Outcome::Refused { why },
        HintOutcome::Auto(counts) => Outcome::SharedOut {
            zones: counts
                .iter()
                .map(|(zone, n)| (Arc::clone(topology.zones.name(zone)), n))
                .collect(),
            kept,
        },
    }
}

/// Hints as words: zones, then `node/NAME`.
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::NotAsked => write!(f, "none"),
            Outcome::SharedOut { zones, kept } => {
                let zones: Vec<String> = zones.iter().map(|(z, n)| format!("{z} {n}")).collect();
                let how = if *kept { "kept" } else { "shared out by CPU" };
                write!(f, "{how}: {}", zones.join(", "))
            }
            Outcome::Refused { why } => write!(f, "none: {why}"),
            Outcome::OwnZone => write!(f, "each endpoint for its own zone"),
            Outcome::OwnNode => write!(f, "each endpoint for its own node and zone"),
        }
    }
}
