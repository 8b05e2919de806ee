//! "Controller Unit Tests", all 19 rows in their order. Each row holds in both profiles.

use evenkeel_model::{Rule, Service, TrafficPolicy};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};
use evenkeel_topology::{
    Gates, NoHints, Settings, UnknownCpu,
    overload::Resync,
    plan::{HintOutcome, Plan},
};

enum Expected {
    /// So many endpoints hinted for each zone.
    Hinted(&'static [(&'static str, usize)]),
    Refused(NoHints),
    NotRequested,
}
use Expected::{Hinted, NotRequested, Refused};

struct Case {
    cluster: Cluster,
    service: Service,
    pods: &'static [(&'static str, usize)],
    gates: Gates,
    unknown_cpu: UnknownCpu,
}

impl Default for Case {
    fn default() -> Self {
        Case {
            cluster: Cluster::equal_zones(2),
            service: service("web").auto(),
            pods: &[("a", 2), ("b", 2)],
            gates: Gates::ALL_ON,
            unknown_cpu: UnknownCpu::NoHints,
        }
    }
}

fn check(case: &Case, expected: &Expected) {
    for (profile, settings) in profiles() {
        let mut world = world(case, settings);
        let plan = world.sync();
        compare(profile, &world, &plan, expected);
    }
}

/// As [`check`], with a change after hints were given; the Service is planned again.
fn check_after(case: &Case, change: impl Fn(&mut World), before: &Expected, after: &Expected) {
    for (profile, settings) in profiles() {
        let mut world = world(case, settings);
        let plan = world.sync();
        compare(profile, &world, &plan, before);
        change(&mut world);
        let plan = world.sync();
        compare(profile, &world, &plan, after);
    }
}

fn world(case: &Case, settings: Settings) -> World {
    let settings = Settings { gates: case.gates, unknown_cpu: case.unknown_cpu, ..settings };
    World::new(case.cluster.clone(), case.service.clone(), settings).with_pods(case.pods)
}

fn compare(profile: &str, world: &World, plan: &Plan, expected: &Expected) {
    let hinted = world.hinted();
    let outcome = &plan.families[0].hints;
    match expected {
        Hinted(zones) => assert_eq!(hinted, *zones, "{profile}: {outcome:?}"),
        Refused(why) => {
            assert_eq!(*outcome, HintOutcome::AutoRefused(why.clone()), "{profile}");
            assert_eq!(hinted, [], "{profile}");
        }
        NotRequested => {
            assert_eq!(*outcome, HintOutcome::NotRequested, "{profile}");
            assert_eq!(hinted, [], "{profile}");
        }
    }
}

const GATE_OFF: Gates = Gates { topology_aware_hints: false, ..Gates::ALL_ON };

// Row 1: Feature Gate On, TrafficPolicy == 'PreferZone', 2+ zones | Hints set
#[test]
fn auto_in_two_zones_or_more_sets_hints() {
    check(&Case::default(), &Hinted(&[("a", 2), ("b", 2)]));
    let three = Case {
        cluster: Cluster::equal_zones(3),
        pods: &[("a", 2), ("b", 2), ("c", 2)],
        ..Case::default()
    };
    check(&three, &Hinted(&[("a", 2), ("b", 2), ("c", 2)]));
}

// Row 2: Feature Gate On, TrafficPolicy == 'PreferZone', 1 zone | No hints set
#[test]
fn auto_in_one_zone_sets_no_hints() {
    let case =
        Case { cluster: Cluster::of(&[("a", 4), ("a", 4)]), pods: &[("a", 4)], ..Case::default() };
    check(&case, &Refused(NoHints::OneZoneOnly { zone: "a".into() }));
}

// Row 3: Feature Gate On, TrafficPolicy == 'Local', 2+ zones | No hints
#[test]
fn local_alone_sets_no_hints() {
    let case = Case {
        service: service("web").internal(TrafficPolicy::Local).external(TrafficPolicy::Local),
        ..Case::default()
    };
    check(&case, &NotRequested);
}

// Row 3 again. Today one Service may have both; then hints exist and Local traffic ignores them.
#[test]
fn local_traffic_ignores_the_hints_of_auto() {
    for (profile, settings) in profiles() {
        let service = service("web").auto().internal(TrafficPolicy::Local);
        // All Pods are in one zone, so some are hinted for the other.
        let mut world =
            World::new(Cluster::equal_zones(2), service, settings).with_pods(&[("a", 4)]);
        world.sync();
        assert_eq!(world.hinted(), [("a", 2), ("b", 2)], "{profile}");
        let view = world.select_from("node-a1");
        assert_eq!(view.cluster, None, "{profile}");
        let local = view.local.expect("policy Local");
        assert_eq!(local.rule, Rule::LocalReady, "{profile}");
        assert_eq!(local.pods, ["pod-a1", "pod-a2", "pod-a3", "pod-a4"]);
    }
}

// Row 4: Feature Gate On, TrafficPolicy Unset, 2+ zones | No hints
#[test]
fn a_service_that_asks_for_nothing_gets_no_hints() {
    let case = Case { service: service("web"), ..Case::default() };
    check(&case, &NotRequested);
}

// Row 5: Feature Gate Off, TrafficPolicy == 'PreferZone', 2+ zones | No hints
#[test]
fn auto_with_the_gate_off_sets_no_hints() {
    let case = Case { gates: GATE_OFF, ..Case::default() };
    check(&case, &NotRequested);
}

// Row 6: Feature Gate Off, TrafficPolicy Unset, 2+ zones | No hints
#[test]
fn with_the_gate_off_a_service_that_asks_for_nothing_gets_no_hints() {
    let case = Case { service: service("web"), gates: GATE_OFF, ..Case::default() };
    check(&case, &NotRequested);
}

// Row 7: Feature Gate Off, TrafficPolicy Unset, 2+ zones | No hints
// The KEP has this row twice; here it takes hints away that were set before the gate went off.
#[test]
fn with_the_gate_off_hints_of_a_service_that_asks_for_nothing_are_removed() {
    let leave = |world: &mut World| {
        world.service = service("web");
        world.settings.gates = GATE_OFF;
    };
    let before = Hinted(&[("a", 2), ("b", 2)]);
    check_after(&Case::default(), leave, &before, &NotRequested);
}

// Row 8: 2 endpoints, 3 zones | No hints
#[test]
fn two_endpoints_in_three_zones_get_no_hints() {
    let case =
        Case { cluster: Cluster::equal_zones(3), pods: &[("a", 1), ("b", 1)], ..Case::default() };
    let why = NoHints::NotEnoughEndpoints { endpoints: 2, zones: 3 };
    check(&case, &Refused(why));
}

// Row 9: 3 endpoints, 3 zones | Hints set
#[test]
fn three_endpoints_in_three_zones_get_hints() {
    let case = Case {
        cluster: Cluster::equal_zones(3),
        pods: &[("a", 1), ("b", 1), ("c", 1)],
        ..Case::default()
    };
    check(&case, &Hinted(&[("a", 1), ("b", 1), ("c", 1)]));
}

// Row 10: 4 endpoints, 3 zones | No hints
#[test]
fn four_endpoints_in_three_zones_get_no_hints() {
    let case = Case {
        cluster: Cluster::equal_zones(3),
        pods: &[("a", 2), ("b", 1), ("c", 1)],
        ..Case::default()
    };
    let why = NoHints::Overload { endpoints: 4, zones: 3, required: 6, threshold: 0.2 };
    check(&case, &Refused(why));
}

// Row 11: 4 endpoints, 2 zones | Hints set
#[test]
fn four_endpoints_in_two_zones_get_hints() {
    let case = Case { pods: &[("a", 1), ("b", 3)], ..Case::default() };
    check(&case, &Hinted(&[("a", 2), ("b", 2)]));
}

// Row 12: 4 endpoints all from 1 zone, 2 zones | Hints set
#[test]
fn four_endpoints_all_from_one_zone_get_hints_for_both() {
    let case = Case { pods: &[("b", 4)], ..Case::default() };
    check(&case, &Hinted(&[("a", 2), ("b", 2)]));
}

// Row 13: 4 endpoints, 3 zones, 1 zone with 2x cores | Hints set
#[test]
fn four_endpoints_fit_three_zones_when_one_has_twice_the_cores() {
    let case = Case {
        cluster: Cluster::of(&[("a", 8), ("b", 4), ("c", 4)]),
        pods: &[("a", 2), ("b", 1), ("c", 1)],
        ..Case::default()
    };
    check(&case, &Hinted(&[("a", 2), ("b", 1), ("c", 1)]));
}

// Row 14: 400 endpoints, 4 zones with slightly different cores | Hints set
#[test]
fn four_hundred_endpoints_follow_slightly_different_cores() {
    let case = Case {
        cluster: Cluster::of(&[("a", 24), ("b", 25), ("c", 25), ("d", 26)]),
        pods: &[("a", 100), ("b", 100), ("c", 100), ("d", 100)],
        ..Case::default()
    };
    let by_cores = Hinted(&[("a", 96), ("b", 100), ("c", 100), ("d", 104)]);
    check(&case, &by_cores);
}

/// Two equal zones of four nodes. All Pods run on the first node of their zone.
fn eight_nodes(settings: Settings) -> World {
    let cluster = Cluster::of(&[("a", 2), ("b", 2)]);
    let mut world = World::new(cluster, service("web").auto(), settings);
    for zone in ["a", "b"] {
        world.add_pods(zone, 4);
        for number in 2..=4 {
            let name = format!("node-{zone}{number}");
            world.cluster.add_node(&name, Some(zone), 2);
        }
    }
    world
}

fn check_removal(nodes: &[&str], resync: Option<Resync>, after: [&[(&str, usize)]; 2]) {
    for ((profile, settings), after) in profiles().into_iter().zip(after) {
        let mut world = eight_nodes(settings);
        world.sync();
        for node in nodes {
            world.cluster.remove_node(node);
        }
        assert_eq!(world.resync(), resync, "{profile}");
        let plan = world.sync();
        assert_eq!(plan.is_empty(), resync.is_none(), "{profile}");
        assert_eq!(world.hinted(), after, "{profile}");
    }
}

// Row 15: Node removal that does not trigger threshold transition | No EndpointSlice changes
#[test]
fn a_node_removal_below_the_threshold_changes_no_slice() {
    let same: &[_] = &[("a", 4), ("b", 4)];
    check_removal(&["node-a4"], None, [same, same]);
}

// Row 16: Node removal that triggers threshold transition | EndpointSlice updates
#[test]
fn a_node_removal_beyond_the_threshold_updates_slices() {
    // Zone a has four fifths of the CPU now. The default profile moves what it must, one endpoint.
    let (least, fair): (&[_], &[_]) = (&[("a", 5), ("b", 3)], &[("a", 6), ("b", 2)]);
    let gone = ["node-b2", "node-b3", "node-b4"];
    check_removal(&gone, Some(Resync::Overloaded), [least, fair]);
}

fn one_node_without_cpu(unknown_cpu: UnknownCpu) -> Case {
    Case {
        cluster: Cluster::of(&[("a", 64), ("b", 4), ("c", 0)]),
        pods: &[("a", 2), ("b", 2), ("c", 2)],
        unknown_cpu,
        ..Case::default()
    }
}

// Row 17: Node without way to determine cores | All Nodes treated equally
#[test]
fn with_a_node_without_cores_all_nodes_can_be_treated_equally() {
    let case = one_node_without_cpu(UnknownCpu::OneCorePerNode);
    check(&case, &Hinted(&[("a", 2), ("b", 2), ("c", 2)]));
}

// Row 17 as the docs page has it since: its third safeguard.
#[test]
fn with_a_node_without_cores_there_are_no_hints_unless_asked_otherwise() {
    let node = "node-c1".into();
    let case = one_node_without_cpu(UnknownCpu::NoHints);
    check(&case, &Refused(NoHints::NodeWithoutCpu { node }));
}

// Row 18: Endpoint additions that require redistribution | Hints updated
#[test]
fn endpoint_additions_that_require_redistribution_update_hints() {
    let add = |world: &mut World| world.add_pods("a", 4);
    let (before, after) = (Hinted(&[("a", 2), ("b", 2)]), Hinted(&[("a", 4), ("b", 4)]));
    check_after(&Case::default(), add, &before, &after);
}

// Row 19: Endpoint removals that require redistribution | Hints updated
#[test]
fn endpoint_removals_that_require_redistribution_update_hints() {
    let case = Case { pods: &[("a", 4), ("b", 4)], ..Case::default() };
    let remove = |world: &mut World| world.remove_pods("b", 2);
    let (before, after) = (Hinted(&[("a", 4), ("b", 4)]), Hinted(&[("a", 3), ("b", 3)]));
    check_after(&case, remove, &before, &after);
}
