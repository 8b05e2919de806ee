//! KEP-4444: its end-to-end tests, and its user stories.

use evenkeel_testkit::netns::Protocol;
use serde_json::{Value, json};

use crate::{
    cluster::{PODS, until},
    space::Space,
};

/// Zones of the hints of each endpoint, once all have some.
fn zone_hints(space: &Space, service: &str) -> Result<Vec<(String, String)>, String> {
    let slices = serde_json::to_value(space.slices(service)).unwrap();
    let endpoints = slices
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default());
    let hint = |endpoint: Value| {
        let zone = endpoint["zone"].as_str()?.to_owned();
        let hint = endpoint["hints"]["forZones"][0]["name"].as_str()?.to_owned();
        Some((zone, hint))
    };
    let hints: Option<Vec<_>> = endpoints.map(hint).collect();
    hints.filter(|hints| !hints.is_empty()).ok_or_else(|| slices.to_string())
}

/// "EndpointSlice hints are correctly populated when `trafficDistribution` is set to `PreferClose`".
#[test]
fn hints_are_the_zones_of_endpoints() {
    let space = Space::new("hints");
    space.pods(&PODS);
    for distribution in ["PreferClose", "PreferSameZone", "PreferSameNode"] {
        let name = distribution.to_lowercase();
        space.service(&name, json!({"trafficDistribution": distribution}));
        let hints = until("hints", || {
            zone_hints(&space, &name).and_then(|hints| {
                (hints.len() == 6).then_some(hints).ok_or_else(|| "not all".to_owned())
            })
        });
        assert!(hints.iter().all(|(zone, hint)| zone == hint), "{hints:?}");
    }
}

/// "Requests originating from a zone which has service pods get sent to a pod in the same zone."
#[test]
fn from_a_zone_with_pods_all_requests_stay_in_it() {
    let space = Space::new("same-zone");
    space.pods(&PODS);
    for distribution in ["PreferClose", "PreferSameZone"] {
        let name = distribution.to_lowercase();
        let web = space.service(&name, json!({"trafficDistribution": distribution}));
        for (client, pods) in
            [("a1", ["a1", "a2"]), ("a2", ["a1", "a2"]), ("b1", ["b1", "b2"]), ("c1", ["c1", "c2"])]
        {
            space.reaches(space.client(client), web.http(), &pods);
        }
        // The node itself is a client as well.
        space.reaches(space.cluster.network.host("node-b1"), web.http(), &["b1", "b2"]);
    }
}

/// "Requests should not get blackholed and should rather be forwarded to any service pod".
#[test]
fn from_a_zone_without_pods_none_is_lost_and_all_pods_are_reached() {
    let space = Space::new("no-pods");
    space.pods(&["a1", "a2", "b1"]);
    for distribution in ["PreferClose", "PreferSameZone"] {
        let name = distribution.to_lowercase();
        let web = space.service(&name, json!({"trafficDistribution": distribution}));
        space.reaches(space.client("c1"), web.http(), &["a1", "a2", "b1"]);
        space.reaches(space.client("b1"), web.http(), &["b1"]);
    }
}

#[test]
fn without_a_distribution_all_pods_are_reached_from_everywhere() {
    let space = Space::new("no-distribution");
    space.pods(&PODS);
    let web = space.service("web", json!({}));
    for client in ["a1", "b1", "c1"] {
        space.reaches(space.client(client), web.http(), &PODS);
    }
}

#[test]
fn prefer_same_node_uses_the_pod_of_the_node_else_those_of_the_zone_else_all() {
    let space = Space::new("same-node");
    space.pods(&["a1", "b1", "b2"]);
    let web = space.service("web", json!({"trafficDistribution": "PreferSameNode"}));
    space.reaches(space.client("a1"), web.http(), &["a1"]);
    space.reaches(space.client("b1"), web.http(), &["b1", "b2"]);
    space.reaches(space.client("a2"), web.http(), &["a1"]);
    space.reaches(space.client("c1"), web.http(), &["a1", "b1", "b2"]);
}

/// Story 4: CoreDNS as a DaemonSet, by UDP and TCP, while its Pods come and go.
#[test]
fn dns_of_the_node_else_of_the_zone_else_of_anywhere() {
    let space = Space::new("dns");
    let ports = json!([
        {"name": "dns", "port": 53, "targetPort": 5353, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "targetPort": 8080, "protocol": "TCP"},
    ]);
    let pods = ["a1", "a2", "b1", "c1"];
    space.pods(&pods);
    let more = json!({"trafficDistribution": "PreferSameNode", "ports": ports});
    let dns = space.service("dns", more);
    let asks = |from: &str, pods: &[&str]| {
        space.reaches(space.client(from), dns.udp(), pods);
        // A socket may get the port of an earlier one, whose connection is kept while its endpoint
        // serves.
        space.forget(&format!("node-{from}"), dns.udp());
        space.reaches_by(&space.client(from).client(), Protocol::Udp, dns.udp(), pods);
    };
    for (node, pod) in [("a1", "a1"), ("a2", "a2"), ("b1", "b1"), ("c1", "c1")] {
        asks(node, &[pod]);
    }
    space.remove(&["a1"]);
    asks("a1", &["a2"]);
    space.remove(&["a2"]);
    asks("a1", &["b1", "c1"]);
    space.pods(&["a1"]);
    asks("a1", &["a1"]);
    asks("a2", &["a1"]);
}

/// KEP-2433: enough endpoints for the CPU of each zone.
#[test]
fn auto_keeps_traffic_in_zones_that_have_enough_endpoints() {
    let space = Space::new("auto");
    space.pods(&PODS);
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let web = space.annotated("web", auto, json!({}));
    for (client, pods) in [("a1", ["a1", "a2"]), ("b1", ["b1", "b2"]), ("c1", ["c1", "c2"])] {
        space.reaches(space.client(client), web.http(), &pods);
    }
    // Too few for three zones of equal size: hints go, and all are used.
    space.remove(&["a2", "b1", "b2", "c1"]);
    space.reaches(space.client("a1"), web.http(), &["a1", "c2"]);
}

/// "Precedence is given to the annotation", here with too few endpoints for hints.
#[test]
fn the_annotation_precedes_the_field() {
    let space = Space::new("annotation-first");
    space.pods(&["a1", "c1"]);
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let both = space.annotated("both", auto, json!({"trafficDistribution": "PreferSameZone"}));
    let field = space.service("field", json!({"trafficDistribution": "PreferSameZone"}));
    space.reaches(space.client("a1"), field.http(), &["a1"]);
    space.reaches(space.client("a1"), both.http(), &["a1", "c1"]);
}
