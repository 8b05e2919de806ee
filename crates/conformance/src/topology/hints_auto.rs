//! `hints_auto.jsonl`: zone hints in Auto mode.

use std::collections::BTreeMap;

use evenkeel_model::{Conditions, Topology};
use evenkeel_topology::{
    Draft, HintEvent, Role, Settings,
    auto::{self, ZoneCounts},
    overload::is_overloaded,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::world::{self, NodeCase, SliceCase};
use crate::report::{diff, diff_any};

#[derive(Deserialize)]
pub(super) struct Case {
    address_type: String,
    nodes: Option<Vec<NodeCase>>,
    cached_hints: Option<BTreeMap<String, u32>>,
    slices: Vec<SliceCase<EndpointCase>>,
    expect: Expect,
}

#[derive(Deserialize)]
struct EndpointCase {
    address: String,
    zone: Option<String>,
    node: Option<String>,
    ready: Option<bool>,
    #[serde(default)]
    hint_zones: Vec<String>,
}

#[derive(Deserialize)]
struct Expect {
    ready_endpoints: usize,
    accept: Vec<Value>,
    exact_hints: Option<Value>,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let mut topology = Topology::default();
    let family = world::address_type(&case.address_type);
    let slices = world::slices(&case.slices, family, &mut topology, EndpointCase::endpoint);
    let nodes = case.nodes.as_ref().map(|nodes| world::nodes(&mut topology, nodes));
    let capacity = world::capacity(&topology, nodes.as_deref());
    let mut drafts = world::drafts(&case.slices, &slices);
    let populated = case.cached_hints.is_some();
    let settings = Settings::kubernetes();

    let outcome = auto::assign(&mut drafts, capacity.as_ref(), populated, &settings);
    let events: Vec<HintEvent> = match &outcome {
        Ok(_) if populated => vec![],
        Ok(_) => vec![HintEvent::Enabled { family }],
        Err(why) => vec![HintEvent::Disabled { family, why: why.clone() }],
    };
    let overloaded = outcome.as_ref().is_ok_and(|counts: &ZoneCounts| {
        is_overloaded(counts, capacity.as_ref().ok(), settings.keep_threshold)
    });
    let got = outcome_of(&drafts, &topology, outcome.is_ok(), &events, overloaded);

    let ready = drafts.iter().flat_map(|d| &d.slice.endpoints).filter(|e| e.is_ready()).count();
    let mut diffs = diff_any(&case.expect.accept, &got);
    diffs.extend(diff("ready", &json!(case.expect.ready_endpoints), &json!(ready)));
    if let Some(exact) = &case.expect.exact_hints {
        diffs.extend(diff("exact_hints", exact, &exact_hints(&drafts, &topology)));
    }
    diffs
}

fn outcome_of(
    drafts: &[Draft<'_>],
    topology: &Topology,
    assigned: bool,
    events: &[HintEvent],
    overloaded: bool,
) -> Value {
    let mut per_zone: BTreeMap<String, u32> = BTreeMap::new();
    let mut same_zone = 0;
    for endpoint in drafts.iter().flat_map(|d| &d.slice.endpoints).filter(|e| e.is_ready()) {
        for zone in world::zone_names(topology, endpoint) {
            *per_zone.entry(zone).or_default() += 1;
        }
        let own = |z| endpoint.zone == Some(z);
        same_zone += u32::from(endpoint.zone_hints().iter().any(|&z| own(z)));
    }
    let named = |role: Role| {
        let with = drafts.iter().filter(|d| d.role == role);
        let mut names: Vec<&str> = with.map(|d| &*d.slice.name).collect();
        names.sort_unstable();
        names
    };
    json!({
        "hints_assigned": assigned,
        "events": events.iter().map(event).collect::<Vec<_>>(),
        "hints_per_zone": per_zone,
        "same_zone": same_zone,
        "create": named(Role::Create),
        "update": named(Role::Update),
        "unchanged": named(Role::Unchanged),
        "overloaded_after": overloaded,
    })
}

/// An Event as written in the cases.
pub(super) fn event(event: &HintEvent) -> Value {
    let kind = if event.is_warning() { "Warning" } else { "Normal" };
    json!({"type": kind, "reason": event.reason(), "message": event.message()})
}

fn exact_hints(drafts: &[Draft<'_>], topology: &Topology) -> Value {
    let endpoints = drafts.iter().flat_map(|d| &d.slice.endpoints);
    let hinted = endpoints.filter(|e| !e.zone_hints().is_empty());
    let by_address: BTreeMap<String, Vec<String>> = hinted
        .filter_map(|e| Some((e.address()?.to_string(), world::zone_names(topology, e))))
        .collect();
    json!(by_address)
}

impl EndpointCase {
    fn endpoint(&self, topology: &mut Topology) -> evenkeel_model::Endpoint {
        let place = (self.zone.as_deref(), self.node.as_deref());
        let conditions = Conditions { ready: self.ready, ..Conditions::default() };
        let mut endpoint = world::endpoint(topology, &self.address, place, conditions);
        if !self.hint_zones.is_empty() {
            endpoint.hints = Some(world::hints(topology, &self.hint_zones, &[]));
        }
        endpoint
    }
}
