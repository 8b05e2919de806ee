//! The five safeguards of the docs page "Topology Aware Hints", each with its reason or rule as
//! data. They hold in both profiles.

use evenkeel_model::{AddressType, HintsIgnored, Rule};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};
use evenkeel_topology::{HintEvent, NoHints, plan::HintOutcome};

/// The first three guard the giving of hints: none are given, and the Event says why.
fn check_not_given(cluster: &Cluster, pods: &[(&str, usize)], why: &NoHints) {
    for (profile, settings) in profiles() {
        let mut world =
            World::new(cluster.clone(), service("web").auto(), settings).with_pods(pods);
        let plan = world.sync();
        let refused = HintOutcome::AutoRefused(why.clone());
        assert_eq!(plan.families[0].hints, refused, "{profile}");
        let event = HintEvent::Disabled { family: AddressType::IPv4, why: why.clone() };
        assert_eq!(plan.events, [event], "{profile}");
        assert!(world.endpoints().all(|e| e.hints.is_none()), "{profile}");
    }
}

/// The last two guard their use: a client on `node` uses all endpoints.
fn check_not_used(change: impl Fn(&mut World), node: &str, why: HintsIgnored) {
    for (profile, settings) in profiles() {
        let mut world = World::new(Cluster::equal_zones(2), service("web").auto(), settings)
            .with_pods(&[("a", 2), ("b", 2)]);
        world.sync();
        change(&mut world);
        let reached = world.select_from(node).cluster.expect("policy Cluster");
        assert_eq!(reached.rule, Rule::All(why), "{profile}");
        assert_eq!(reached.pods, ["pod-a1", "pod-a2", "pod-b1", "pod-b2"]);
    }
}

// 1. Insufficient number of endpoints: If there are less endpoints than zones in a cluster, the
//    controller will not assign any hints.
#[test]
fn fewer_endpoints_than_zones_get_no_hints() {
    let why = NoHints::NotEnoughEndpoints { endpoints: 2, zones: 3 };
    check_not_given(&Cluster::equal_zones(3), &[("a", 1), ("b", 1)], &why);
}

// 2. Impossible to achieve balanced allocation: … if zone-a is twice as large as zone-b, but there
//    are only 2 endpoints, an endpoint allocated to zone-a may receive twice as much traffic as
//    zone-b.
#[test]
fn endpoints_that_cannot_be_balanced_get_no_hints() {
    let why = NoHints::Overload { endpoints: 2, zones: 2, required: 3, threshold: 0.2 };
    let cluster = Cluster::of(&[("a", 8), ("b", 4)]);
    check_not_given(&cluster, &[("a", 1), ("b", 1)], &why);
}

// 3. One or more Nodes has insufficient information: If any node does not have a
//    topology.kubernetes.io/zone label or is not reporting a value for allocatable CPU, the control
//    plane does not set any topology-aware endpoint hints.
#[test]
fn a_node_without_zone_or_cpu_leaves_all_without_hints() {
    let pods = [("a", 2), ("b", 2)];
    let mut without_zone = Cluster::equal_zones(2);
    without_zone.add_node("lost", None, 4);
    let node = "lost".into();
    check_not_given(&without_zone, &pods, &NoHints::NodeWithoutZone { node });

    let mut without_cpu = Cluster::equal_zones(2);
    without_cpu.add_node("silent", Some("b"), 0);
    let node = "silent".into();
    check_not_given(&without_cpu, &pods, &NoHints::NodeWithoutCpu { node });
}

// A node that is not counted need not tell anything: those not ready, and the control plane.
#[test]
fn a_node_that_is_not_counted_needs_neither_zone_nor_cpu() {
    for (profile, settings) in profiles() {
        let mut cluster = Cluster::equal_zones(2);
        cluster.add_node("starting", None, 0).ready = false;
        cluster.add_node("apiserver", None, 0).control_plane = true;
        let mut world =
            World::new(cluster, service("web").auto(), settings).with_pods(&[("a", 2), ("b", 2)]);
        world.sync();
        assert_eq!(world.hinted(), [("a", 2), ("b", 2)], "{profile}");
    }
}

// 4. One or more endpoints does not have a zone hint: When this happens, the kube-proxy assumes
//    that a transition from or to Topology Aware Hints is underway. … falls back to using all
//    endpoints.
#[test]
fn one_endpoint_without_a_hint_stops_the_use_of_all() {
    let change = |world: &mut World| world.endpoint_mut("pod-a1").hints = None;
    let why = HintsIgnored::MissingOn { endpoints: 1 };
    check_not_used(change, "node-b1", why);
}

// 5. A zone is not represented in hints: If the kube-proxy is unable to find at least one endpoint
//    with a hint targeting the zone it is running in, it falls to using endpoints from all zones.
//    This is most likely to happen as you add a new zone into your existing cluster.
#[test]
fn a_zone_without_hints_uses_the_endpoints_of_all_zones() {
    let change = |world: &mut World| {
        world.cluster.add_node("node-c1", Some("c"), 4);
    };
    check_not_used(change, "node-c1", HintsIgnored::NoneForZone);
}

// The fifth, for a client whose own zone is not known.
#[test]
fn a_client_without_zone_uses_the_endpoints_of_all_zones() {
    let change = |world: &mut World| {
        world.cluster.add_node("lost", None, 4);
    };
    check_not_used(change, "lost", HintsIgnored::ClientWithoutZone);
}
