//! `select_endpoints.jsonl`: what a proxy on one node uses.

use evenkeel_model::{
    Candidate, Conditions, Exposure, Hints, Routing, Topology, TrafficPolicy, Viewpoint,
};
use evenkeel_topology::{Settings, select};
use serde::Deserialize;
use serde_json::{Value, json};

use super::packets;
use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    pub node: NodeCase,
    pub service: ServiceCase,
    pub endpoints: Vec<EndpointCase>,
    pub expect: Value,
}

#[derive(Deserialize)]
pub(super) struct NodeCase {
    pub name: String,
    pub zone: String,
}

#[derive(Deserialize)]
pub(super) struct ServiceCase {
    #[serde(rename = "type")]
    kind: String,
    internal_traffic_policy: Option<String>,
    external_traffic_policy: Option<String>,
    pub node_port: u16,
    #[serde(default)]
    external_ips: Vec<String>,
    #[serde(default)]
    load_balancer_ips: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct EndpointCase {
    pub ip: String,
    pub port: u16,
    pub node: Option<String>,
    pub ready: bool,
    pub serving: bool,
    pub terminating: bool,
    pub zone_hints: Option<Vec<String>>,
    pub node_hints: Option<Vec<String>>,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let mut topology = Topology::default();
    let from = Viewpoint {
        node: Some(topology.nodes.intern(&case.node.name)),
        zone: Some(&*case.node.zone).filter(|z| !z.is_empty()).map(|z| topology.zones.intern(z)),
    };
    let candidates: Vec<Candidate> =
        case.endpoints.iter().map(|e| e.candidate(&mut topology)).collect();
    let exposure = case.service.exposure();
    let selected = select(from, exposure, &candidates, Routing::Hints, &Settings::kubernetes());

    let text = |indices: Vec<u32>| {
        let at = |i: u32| case.endpoints[i as usize].text();
        let mut list: Vec<String> = indices.into_iter().map(at).collect();
        list.sort();
        json!(list)
    };
    let shares = |s: &Option<evenkeel_model::Selection>| {
        let shares = s.as_ref().map(|s| s.shares.as_slice()).unwrap_or_default();
        text(shares.iter().map(|s| s.endpoint).collect())
    };
    let got = json!({
        "uses_cluster_endpoints": exposure.uses_cluster(),
        "uses_local_endpoints": exposure.uses_local(),
        "cluster": shares(&selected.cluster),
        "local": shares(&selected.local),
        "all_reachable": text(selected.reachable()),
        "has_any": selected.any_in_cluster,
    });
    let mut wrong = diff("", &without_nulls(&case.expect), &got);
    wrong.extend(packets::run(case));
    wrong
}

/// A list that was never built counts as empty.
fn without_nulls(expect: &Value) -> Value {
    let mut expect = expect.clone();
    for list in ["cluster", "local", "all_reachable"] {
        if expect[list].is_null() {
            expect[list] = json!([]);
        }
    }
    expect
}

impl ServiceCase {
    pub(super) fn exposure(&self) -> Exposure {
        let local = |policy: &Option<String>| policy.as_deref() == Some("Local");
        let policy = |local| {
            if local { TrafficPolicy::Local } else { TrafficPolicy::Cluster }
        };
        let accessible = self.node_port != 0
            || !self.external_ips.is_empty()
            || !self.load_balancer_ips.is_empty();
        let may_be_local = self.kind != "ClusterIP" || !self.external_ips.is_empty();
        let external_local = local(&self.external_traffic_policy) && may_be_local;
        Exposure {
            internal: policy(local(&self.internal_traffic_policy)),
            external: accessible.then_some(policy(external_local)),
        }
    }
}

impl EndpointCase {
    fn candidate(&self, topology: &mut Topology) -> Candidate {
        let names = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        let node = self.node.as_deref().filter(|n| !n.is_empty());
        let hints = Hints {
            zones: names(&self.zone_hints).iter().map(|z| topology.zones.intern(z)).collect(),
            nodes: names(&self.node_hints).iter().map(|n| topology.nodes.intern(n)).collect(),
        };
        let conditions = Conditions {
            ready: Some(self.ready),
            serving: Some(self.serving),
            terminating: Some(self.terminating),
        };
        let node = node.map(|n| topology.nodes.intern(n));
        Candidate::new(conditions, node, None, Some(&hints))
    }

    fn text(&self) -> String {
        if self.ip.contains(':') {
            format!("[{}]:{}", self.ip, self.port)
        } else {
            format!("{}:{}", self.ip, self.port)
        }
    }
}
