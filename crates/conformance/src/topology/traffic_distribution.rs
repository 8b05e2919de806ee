//! `traffic_distribution.jsonl`: hints from the trafficDistribution field.

use std::collections::BTreeMap;

use evenkeel_model::{
    AddressType, Conditions, Endpoint, Exposure, Frontends, Service, ServiceKey, Topology,
};
use evenkeel_topology::{Demand, Draft, NoHints, Settings, Sync, plan, policy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::world::{self, SliceCase};
use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    traffic_distribution: Option<String>,
    slices: Vec<SliceCase<EndpointCase>>,
    expect: Vec<Value>,
}

#[derive(Deserialize)]
struct EndpointCase {
    address: String,
    zone: Option<String>,
    node: Option<String>,
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
    hints: Option<HintsCase>,
}

#[derive(Deserialize)]
struct HintsCase {
    zones: Option<Vec<String>>,
    nodes: Option<Vec<String>>,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let mut topology = Topology::default();
    let slices =
        world::slices(&case.slices, AddressType::IPv4, &mut topology, EndpointCase::endpoint);
    let mut drafts = world::drafts(&case.slices, &slices);
    hint(case.traffic_distribution.as_deref(), &mut drafts);

    let mut diffs = Vec::new();
    for ((draft, before), expect) in drafts.iter().zip(&slices).zip(&case.expect) {
        let pairs = draft.slice.endpoints.iter().zip(&before.endpoints);
        let changed = pairs.clone().any(|(after, before)| after.hints != before.hints);
        let hints: Vec<Value> = pairs.map(|(after, _)| hints_of(&topology, after)).collect();
        let mut expect = expect.clone();
        if let Some(fields) = expect.as_object_mut() {
            fields.remove("name");
        }
        let got = json!({
            "role": world::role_name(draft.role),
            "hints_changed": changed,
            "hints": hints,
        });
        diffs.extend(diff(&before.name, &expect, &got));
    }
    diffs.extend(diff("slices", &json!(case.expect.len()), &json!(drafts.len())));
    diffs
}

/// Applies the policy of a Service with this field.
fn hint(traffic_distribution: Option<&str>, drafts: &mut [Draft<'_>]) {
    let settings = Settings::kubernetes();
    let service = Service {
        key: ServiceKey::new("ns", "web"),
        uid: "uid".into(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        selector: None,
        opted_in: false,
        ports: Vec::new(),
        families: vec![AddressType::IPv4],
        headless: false,
        cluster_ip_none: false,
        external_name: false,
        publish_not_ready: false,
        traffic_distribution: traffic_distribution.map(Into::into),
        exposure: Exposure::default(),
        frontends: Frontends::default(),
        deleting: false,
    };
    let requested = policy::requested(&service, settings.gates);
    let sync = Sync {
        service: &service,
        pods: &[],
        nodes: &plan::NodeTable::default(),
        capacity: Err(&NoHints::NodesUnknown),
        demand: &Demand::default(),
        existing: &[],
        populated: false,
        settings: &settings,
    };
    plan::hint(drafts, &requested, false, &sync);
}

fn hints_of(topology: &Topology, endpoint: &Endpoint) -> Value {
    match endpoint.hints {
        None => Value::Null,
        Some(_) => json!({
            "zones": world::zone_names(topology, endpoint),
            "nodes": world::node_names(topology, endpoint),
        }),
    }
}

impl EndpointCase {
    fn endpoint(&self, topology: &mut Topology) -> Endpoint {
        let place = (self.zone.as_deref(), self.node.as_deref());
        let conditions =
            Conditions { ready: self.ready, serving: self.serving, terminating: self.terminating };
        let mut endpoint = world::endpoint(topology, &self.address, place, conditions);
        endpoint.hints = self.hints.as_ref().map(|hints| {
            let names = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
            world::hints(topology, &names(&hints.zones), &names(&hints.nodes))
        });
        endpoint
    }
}
