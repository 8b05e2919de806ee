//! What each value of `trafficDistribution` gives clients: the KEP's e2e tests, and the rules of
//! "Changes within kube-proxy".

use evenkeel_model::{Few, HintsIgnored, Rule};
use evenkeel_testkit::{Cluster, Reached, ServiceExt, World, profiles, service};
use evenkeel_topology::{Gates, NodeHintRule, Settings};

const ALL: &[&str] = &["pod-a1", "pod-a2", "pod-b1"];

/// Two Pods in zone a, on two nodes; one in zone b, which has a further node; none in zone c.
fn world(value: &str, settings: Settings) -> World {
    let cluster = Cluster::of(&[("a", 4), ("a", 4), ("a", 4), ("b", 4), ("b", 4), ("c", 4)]);
    let mut world = World::new(cluster, service("web").distribution(value), settings)
        .with_pods(&[("a", 2), ("b", 1)]);
    world.sync();
    world
}

/// What clients on these nodes use, in both profiles.
fn check(value: &str, change: impl Fn(&mut World), expected: &[(&str, Rule, &[&str])]) {
    for (profile, settings) in profiles() {
        let mut world = world(value, settings);
        change(&mut world);
        for &(node, rule, pods) in expected {
            let seen = world.select_from(node).cluster.expect("policy Cluster");
            assert_eq!(seen, reached(rule, pods), "{profile}: from {node}");
        }
    }
}

fn reached(rule: Rule, pods: &[&str]) -> Reached {
    let pods = pods.iter().map(ToString::to_string).collect();
    Reached { rule, pods }
}

/// The hints of each Pod: its zones, its nodes.
fn hints(world: &World) -> Vec<(Vec<&str>, Vec<&str>)> {
    let endpoints = world.endpoints();
    let hints = endpoints.map(|e| {
        let zones = e.zone_hints().iter().map(|&z| world.cluster.zone_name(z));
        let nodes = e.node_hints().iter().map(|&n| world.cluster.node_name(n));
        (zones.collect(), nodes.collect())
    });
    hints.collect()
}

// e2e: Verify that EndpointSlice hints are correctly populated when trafficDistribution is set to
// PreferClose.
#[test]
fn prefer_close_hints_every_endpoint_for_its_own_zone() {
    for value in ["PreferClose", "PreferSameZone"] {
        for (profile, settings) in profiles() {
            let expected = ["a", "a", "b"].map(|zone| (vec![zone], vec![]));
            assert_eq!(hints(&world(value, settings)), expected, "{profile}");
        }
    }
}

// e2e: Verify … that for PreferClose, requests originating from a zone which has service pods get
// sent to a pod in the same zone.
#[test]
fn a_client_in_a_zone_with_pods_stays_in_its_zone() {
    let expected: &[(_, _, &[_])] = &[
        ("node-a1", Rule::SameZone, &["pod-a1", "pod-a2"]),
        ("node-a3", Rule::SameZone, &["pod-a1", "pod-a2"]),
        ("node-b2", Rule::SameZone, &["pod-b1"]),
    ];
    check("PreferClose", |_| (), expected);
    check("PreferSameZone", |_| (), expected);
}

// e2e: For requests originating from zones with no service pods, requests should not get blackholed
// and should rather be forwarded to any service pod from the cluster.
#[test]
fn a_client_in_a_zone_without_pods_reaches_them_all() {
    let expected = [("node-c1", Rule::All(HintsIgnored::NoneForZone), ALL)];
    for value in ["PreferClose", "PreferSameZone", "PreferSameNode"] {
        check(value, |_| (), &expected);
    }
}

#[test]
fn prefer_same_node_hints_every_endpoint_for_its_node_and_its_zone() {
    for (profile, settings) in profiles() {
        let expected = [("a", "node-a1"), ("a", "node-a2"), ("b", "node-b1")]
            .map(|(zone, node)| (vec![zone], vec![node]));
        let world = world("PreferSameNode", settings);
        assert_eq!(hints(&world), expected, "{profile}");
    }
}

// PreferSameNode: Attempts to route traffic to endpoints on the same node as the client. If no
// endpoints are available on the same node, it falls back to PreferClose behavior.
#[test]
fn prefer_same_node_uses_the_node_then_the_zone_then_all() {
    let expected: &[(_, _, &[_])] = &[
        ("node-a2", Rule::SameNode, &["pod-a2"]),
        ("node-a3", Rule::SameZone, &["pod-a1", "pod-a2"]),
        ("node-b2", Rule::SameZone, &["pod-b1"]),
        ("node-c1", Rule::All(HintsIgnored::NoneForZone), ALL),
    ];
    check("PreferSameNode", |_| (), expected);
}

#[test]
fn an_unknown_value_gives_no_hints() {
    for (profile, settings) in profiles() {
        let world = world("PreferFar", settings);
        assert!(world.endpoints().all(|e| e.hints.is_none()), "{profile}");
    }
    let expected = [("node-a1", Rule::All(HintsIgnored::NoHints), ALL)];
    check("PreferFar", |_| (), &expected);
}

// Other service proxy implementations that don't process the new hint will still be able to treat
// the Service as PreferClose.
#[test]
fn a_consumer_without_the_gate_treats_prefer_same_node_as_prefer_close() {
    let off = |world: &mut World| world.settings.gates.prefer_same_traffic_distribution = false;
    let expected: &[(_, _, &[_])] = &[("node-a2", Rule::SameZone, &["pod-a1", "pod-a2"])];
    check("PreferSameNode", off, expected);
}

// If there are any endpoints that have a ForNodes hint that contains the proxy's node, then the
// proxy will only route connections to endpoints that are hinted as being for this node.
#[test]
fn a_node_hint_is_obeyed_though_other_endpoints_have_none() {
    let rules: [(NodeHintRule, Rule, &[&str]); 2] = [
        (NodeHintRule::AnyForThisNode, Rule::SameNode, &["pod-a2"]),
        (NodeHintRule::AllHaveOne, Rule::SameZone, &["pod-a1", "pod-a2"]),
    ];
    for ((_, settings), (node_hint_rule, rule, pods)) in profiles().into_iter().zip(rules) {
        assert_eq!(settings.node_hint_rule, node_hint_rule);
        let mut world = world("PreferSameNode", settings);
        let hints = &mut world.endpoint_mut("pod-b1").hints;
        hints.as_mut().expect("hinted").nodes = Few::None;
        let seen = world.select_from("node-a2").cluster;
        assert_eq!(seen, Some(reached(rule, pods)), "{node_hint_rule:?}");
    }
}

// Irrespective of what the annotation or field are set to (or even if they are not set at all),
// kube-proxy will always consider EndpointSlice hints (assuming this feature-gate is enabled).
#[test]
fn hints_count_whoever_wrote_them_while_the_gate_is_on() {
    let forget = |world: &mut World| world.service.traffic_distribution = None;
    let expected: &[(_, _, &[_])] = &[("node-b1", Rule::SameZone, &["pod-b1"])];
    check("PreferClose", forget, expected);

    let older = |world: &mut World| {
        forget(world);
        world.settings.gates = Gates { service_traffic_distribution: false, ..Gates::ALL_ON };
    };
    let expected = [("node-b1", Rule::All(HintsIgnored::GateOff), ALL)];
    check("PreferClose", older, &expected);
}
