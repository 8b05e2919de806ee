//! `slice_packing.jsonl`: Pods in, slices out.

mod case;

use std::collections::BTreeMap;

use evenkeel_model::{Endpoint, EndpointPort, Slice, Topology};
use evenkeel_topology::{Demand, Plan, Settings, Sync, plan, plan::NodeTable};
use serde_json::{Value, json};

pub(super) use self::case::Case;
use self::case::Step;
use super::{hints_auto, world};
use crate::report::{diff, diff_any};

pub(super) fn run(case: &Case) -> Vec<String> {
    let steps = case.steps.iter().enumerate();
    steps
        .flat_map(|(number, step)| {
            let diffs = run_step(step, case.max_endpoints_per_slice);
            diffs.into_iter().map(move |diff| format!("step {number}{diff}"))
        })
        .collect()
}

fn run_step(step: &Step, max_endpoints_per_slice: usize) -> Vec<String> {
    let settings = Settings { max_endpoints_per_slice, ..Settings::kubernetes() };
    let mut topology = Topology::default();
    let nodes = world::nodes(&mut topology, &step.nodes);
    let service = step.service.service();
    let pods: Vec<_> = step.pods.iter().map(|pod| pod.pod(&mut topology)).collect();
    let existing: Vec<_> =
        step.existing_slices.iter().map(|s| s.slice(&mut topology, &settings)).collect();
    let capacity = world::capacity(&topology, Some(&nodes));
    let planned = plan(&Sync {
        service: &service,
        pods: &pods.iter().collect::<Vec<_>>(),
        nodes: &nodes.iter().cloned().collect::<NodeTable>(),
        capacity: capacity.as_ref(),
        demand: &Demand::default(),
        existing: &existing.iter().collect::<Vec<_>>(),
        populated: step.hints_already_enabled,
        settings: &settings,
    });

    let after = apply(&existing, &planned);
    let expect = &step.expect;
    let accepted: Vec<Value> = expect.accept.iter().map(canonical).collect();
    let mut diffs = diff_any(&accepted, &canonical(&outcome(&after, &planned, &topology)));
    diffs.extend(diff(".error", &json!(expect.error), &json!(!planned.without_node.is_empty())));
    let mut endpoints = endpoints(&after, &topology);
    if expect.endpoint_hints_vary {
        for endpoint in &mut endpoints {
            let fields = endpoint.as_object_mut().expect("made below");
            fields.remove("hint_zones");
        }
    }
    diffs.extend(diff(
        ".endpoints",
        &canonical(&json!(expect.endpoints)),
        &canonical(&json!(endpoints)),
    ));
    if let Some(labels) = &expect.slice_labels {
        let got: Vec<Value> = after.iter().map(|s| json!(text_labels(s))).collect();
        if !got.contains(labels) {
            diffs.extend(diff(".slice_labels", labels, &json!(got)));
        }
    }
    diffs
}

/// The slices after the plan was applied.
fn apply(existing: &[Slice], plan: &Plan) -> Vec<Slice> {
    let updated = |name: &str| plan.update.iter().find(|s| &*s.name == name);
    let kept = existing.iter().filter(|s| !plan.delete.contains(&s.name));
    let kept = kept.map(|s| updated(&s.name).unwrap_or(s).clone());
    kept.chain(plan.create.iter().cloned()).collect()
}

fn outcome(after: &[Slice], plan: &Plan, topology: &Topology) -> Value {
    let mut per_zone: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for slice in after {
        for endpoint in slice.endpoints.iter().filter(|e| e.is_ready()) {
            for zone in world::zone_names(topology, endpoint) {
                let family = per_zone.entry(slice.address_type.to_string()).or_default();
                *family.entry(zone).or_default() += 1;
            }
        }
    }
    let slices = after.iter().map(|s| {
        let ports = ports(&s.ports);
        json!({"address_type": s.address_type, "ports": ports, "size": s.endpoints.len()})
    });
    json!({
        "created": plan.create.len(),
        "updated": plan.update.len(),
        "deleted": plan.delete.len(),
        "slices": slices.collect::<Vec<_>>(),
        "hints_per_zone": per_zone,
        "events": plan.events.iter().map(hints_auto::event).collect::<Vec<_>>(),
    })
}

fn endpoints(after: &[Slice], topology: &Topology) -> Vec<Value> {
    let all = after.iter().flat_map(|s| s.endpoints.iter().map(move |e| (s, e)));
    all.map(|(slice, endpoint)| endpoint_json(slice, endpoint, topology)).collect()
}

/// An endpoint as written in the cases: unset fields are omitted.
fn endpoint_json(slice: &Slice, endpoint: &Endpoint, topology: &Topology) -> Value {
    let target = endpoint.target.as_ref().expect("made from a Pod");
    let zones = world::zone_names(topology, endpoint);
    let nodes = world::node_names(topology, endpoint);
    let addresses: Vec<String> = endpoint.addresses.iter().map(ToString::to_string).collect();
    let mut json = json!({
        "address_type": slice.address_type,
        "ports": ports(&slice.ports),
        "addresses": addresses,
        "pod": target.name,
        "uid": (target.uid != target.name).then(|| target.uid.to_string()),
        "hostname": endpoint.hostname,
        "ready": endpoint.conditions.ready,
        "serving": endpoint.conditions.serving,
        "terminating": endpoint.conditions.terminating,
        "zone": endpoint.zone.map(|z| topology.zones.name(z).to_string()),
        "node": endpoint.node.map(|n| topology.nodes.name(n).to_string()),
        "hint_zones": (!zones.is_empty()).then_some(zones),
        "hint_nodes": (!nodes.is_empty()).then_some(nodes),
    });
    json.as_object_mut().expect("made above").retain(|_, value| !value.is_null());
    json
}

fn ports(ports: &[EndpointPort]) -> Vec<Value> {
    let port = |p: &EndpointPort| {
        let mut port = json!({"name": p.name, "port": p.port, "protocol": p.protocol});
        if let Some(app) = &p.app_protocol {
            port["app_protocol"] = json!(app);
        }
        port
    };
    ports.iter().map(port).collect()
}

fn text_labels(slice: &Slice) -> BTreeMap<String, String> {
    slice.labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

/// Lists are sets in these cases: sorted by their text.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(canonical).collect();
            items.sort_by_cached_key(ToString::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), canonical(value))).collect()
        }
        other => other.clone(),
    }
}
