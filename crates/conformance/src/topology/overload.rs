//! `overload.jsonl`: which Services a node change concerns.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{Node, ServiceKey, Topology};
use evenkeel_topology::{
    Settings,
    overload::{AutoServices, Resync},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::world::{self, NodeCase};
use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(flatten)]
    op: Op,
    expect: Value,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Op {
    SetNodes { nodes: Vec<NodeCase> },
    SetHints { service: String, address_type: String, zones: BTreeMap<String, u32> },
    RemoveHints { service: String, address_type: String },
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let mut topology = Topology::default();
    let mut nodes: Option<Vec<Node>> = None;
    let mut auto_services = AutoServices::default();
    let mut seen = BTreeSet::new();
    let mut diffs = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        match &step.op {
            Op::SetNodes { nodes: cases } => nodes = Some(world::nodes(&mut topology, cases)),
            Op::SetHints { service, address_type, zones } => {
                let counts = zones.iter();
                let counts = counts.map(|(z, n)| (topology.zones.intern(z), *n)).collect();
                let key = key(service);
                auto_services.hinted(&key, world::address_type(address_type), counts);
                seen.insert(key);
            }
            Op::RemoveHints { service, address_type } => {
                auto_services.removed(&key(service), world::address_type(address_type));
            }
        }
        let capacity = world::capacity(&topology, nodes.as_deref());
        let due = auto_services.resync(capacity.as_ref().ok(), &Settings::kubernetes());
        let overloaded = due.iter().filter(|(_, why)| *why == Resync::Overloaded);
        let populated = seen.iter().filter(|key| auto_services.is_populated(key));
        let got = json!({
            "overloaded": overloaded.map(|(key, _)| key.to_string()).collect::<Vec<_>>(),
            "populated": populated.map(ToString::to_string).collect::<Vec<_>>(),
        });
        diffs.extend(diff(&format!("step {number}"), &step.expect, &got));
    }
    diffs
}

fn key(text: &str) -> ServiceKey {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    ServiceKey::new(namespace, name)
}
