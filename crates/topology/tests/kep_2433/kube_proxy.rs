//! "Kube-Proxy Unit Tests", all four rows in their order. Each row holds in both profiles.

use evenkeel_model::{HintsIgnored, Rule, TrafficPolicy};
use evenkeel_testkit::{Cluster, Reached, ServiceExt, View, World, profiles, service};
use evenkeel_topology::Gates;

const ALL: [&str; 4] = ["pod-a1", "pod-a2", "pod-b1", "pod-b2"];

/// What a client on `node` uses, after hints were given to two Pods in each of two zones and
/// `change` was made.
fn check(change: impl Fn(&mut World), node: &str, expected: &View) {
    for (profile, settings) in profiles() {
        let mut world = World::new(Cluster::equal_zones(2), service("web").auto(), settings)
            .with_pods(&[("a", 2), ("b", 2)]);
        world.sync();
        change(&mut world);
        assert_eq!(world.select_from(node), *expected, "{profile}");
    }
}

fn reached(rule: Rule, pods: &[&str]) -> Option<Reached> {
    let pods = pods.iter().map(ToString::to_string).collect();
    Some(Reached { rule, pods })
}

// Row 1: Feature Gate On, TrafficPolicy == 'PreferZone', hints matching zone | Endpoints filtered
#[test]
fn hints_for_the_zone_filter_endpoints() {
    let view = View { cluster: reached(Rule::SameZone, &["pod-b1", "pod-b2"]), local: None };
    check(|_| (), "node-b1", &view);
}

// Row 2: Feature Gate On, TrafficPolicy == 'Local', hints matching zone | Endpoints not filtered
#[test]
fn under_policy_local_hints_filter_nothing() {
    let change = |world: &mut World| {
        world.service.exposure.internal = TrafficPolicy::Local;
        // Hinted away, and used all the same: it runs on this node.
        let away = world.endpoint_mut("pod-a1").hints.clone();
        world.endpoint_mut("pod-b1").hints = away;
    };
    let view = View { cluster: None, local: reached(Rule::LocalReady, &["pod-b1", "pod-b2"]) };
    check(change, "node-b1", &view);
}

// Row 3: Feature Gate Off, TrafficPolicy == 'PreferZone', hints matching zone | Endpoints not
// filtered. Off means both gates: with KEP-4444's own gate on, hints always count.
#[test]
fn with_the_gates_off_hints_filter_nothing() {
    let change = |world: &mut World| {
        world.settings.gates = Gates {
            topology_aware_hints: false,
            service_traffic_distribution: false,
            ..Gates::ALL_ON
        };
    };
    let view = View { cluster: reached(Rule::All(HintsIgnored::GateOff), &ALL), local: None };
    check(change, "node-b1", &view);
}

// Row 4: Feature Gate On, TrafficPolicy == 'PreferZone', no hints matching zone | Endpoints not
// filtered
#[test]
fn without_hints_for_the_zone_nothing_is_filtered() {
    let change = |world: &mut World| {
        world.cluster.add_node("node-c1", Some("c"), 4);
    };
    let view = View { cluster: reached(Rule::All(HintsIgnored::NoneForZone), &ALL), local: None };
    check(change, "node-c1", &view);
}
