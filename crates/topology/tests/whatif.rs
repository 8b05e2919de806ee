//! Forecasts against the slow way: give hints for real, select on every node, add up.

use evenkeel_model::{Endpoint, Viewpoint};
use evenkeel_model::{ServiceState, Snapshot, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Policy, Settings, policy, select,
    whatif::{Figures, Forecasts, Scenario, TrafficProfile, Why},
};
use proptest::prelude::*;

/// A world without a policy, its slices written.
fn world(nodes: &[(&str, u64)], pods: &[(&str, usize)], settings: Settings) -> World {
    let mut world = World::new(Cluster::of(nodes), service("web"), settings).with_pods(pods);
    world.sync();
    world
}

fn forecast(world: &World, profile: &TrafficProfile, replicas: Option<u32>) -> Forecasts {
    let state = ServiceState {
        service: world.service.clone(),
        slices: world.slices.clone(),
        pods: world.pods.clone(),
        events: Vec::new(),
        autoscaler: None,
    };
    let snapshot = Snapshot {
        topology: world.cluster.topology.clone(),
        nodes: world.cluster.nodes.clone(),
        services: vec![state],
        orphans: Vec::new(),
    };
    Scenario::new(&snapshot, profile, &world.settings).forecast(&snapshot.services[0], replicas)
}

fn figures(forecasts: &Forecasts, policy: Policy) -> &Figures {
    &forecasts.policies.iter().find(|f| f.policy == policy).expect("all policies").figures
}

/// The part that stays in zone and the worst load, by selecting on every node.
fn slow(world: &World, policy: Policy, gb: f64) -> (f64, f64) {
    let mut world = world.clone();
    let service = &mut world.service;
    match policy {
        Policy::None => {}
        Policy::Auto => {
            service.annotations.insert(label::TOPOLOGY_MODE.into(), "Auto".into());
        }
        other => service.traffic_distribution = Some(other.as_str().into()),
    }
    world.sync();
    let endpoints: Vec<Endpoint> = world.endpoints().cloned().collect();
    let counts = policy::hints_count(&world.service, world.settings.gates);
    let total: u64 = world.cluster.nodes.iter().map(|n| n.cpu_milli).sum();
    let mut load = vec![0.0; endpoints.len()];
    let mut near = 0.0;
    for node in &world.cluster.nodes {
        let traffic = gb * node.cpu_milli as f64 / total as f64;
        let from = Viewpoint { node: Some(node.id), zone: node.zone };
        let selected = select(from, world.service.exposure, &endpoints, counts, &world.settings);
        let shares = selected.cluster.expect("policy Cluster").shares;
        for share in &shares {
            let endpoint = share.endpoint as usize;
            load[endpoint] += traffic / shares.len() as f64;
            if endpoints[endpoint].zone == node.zone {
                near += traffic / shares.len() as f64;
            }
        }
    }
    let worst = load.iter().copied().fold(0.0, f64::max) * load.len() as f64 / gb;
    (near / gb, worst)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_forecast_is_what_selecting_on_every_node_adds_up_to(
        nodes in prop::collection::vec((0..3usize, 1..6u64), 3..8),
        pods in prop::collection::vec(0..5usize, 3),
        kubernetes in any::<bool>(),
    ) {
        let zones = ["a", "b", "c"];
        let nodes: Vec<(&str, u64)> = nodes.iter().map(|(z, cpu)| (zones[*z], *cpu)).collect();
        let has_nodes = |zone: &str| nodes.iter().any(|(z, _)| *z == zone);
        let pods: Vec<(&str, usize)> = zones
            .into_iter()
            .zip(pods)
            .filter(|(zone, _)| has_nodes(zone))
            .collect();
        prop_assume!(pods.iter().any(|(_, n)| *n > 0));
        let settings = if kubernetes { Settings::kubernetes() } else { Settings::default() };
        let world = world(&nodes, &pods, settings);
        let forecasts = forecast(&world, &TrafficProfile::default(), None);
        for policy in Policy::ALL {
            let (near, worst) = slow(&world, policy, 1000.0);
            let fast = figures(&forecasts, policy);
            prop_assert!(close(fast.in_zone_share, near), "{policy}: {fast:?} is not {near}");
            prop_assert!(close(fast.worst_load, worst), "{policy}: {fast:?} is not {worst}");
            prop_assert!(close(fast.cross_zone_gb, 1000.0 * (1.0 - near)), "{policy}: {fast:?}");
        }
    }
}

#[test]
fn a_lost_zone_moves_its_clients_to_the_others() {
    let world = world(
        &[("a", 4), ("b", 4), ("c", 4)],
        &[("a", 2), ("b", 2), ("c", 2)],
        Settings::default(),
    );
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    let same_zone = &forecasts.policies[2];
    assert_eq!(same_zone.policy, Policy::PreferSameZone);
    assert_eq!(same_zone.zone_lost.len(), 3);
    for lost in &same_zone.zone_lost {
        assert!(close(lost.figures.in_zone_share, 1.0), "{lost:?}");
        assert!(close(lost.figures.worst_load, 1.0), "{lost:?}");
    }
    let none = &forecasts.policies[0].zone_lost[0].figures;
    assert!(close(none.cross_zone_gb, 500.0), "half of all traffic: {none:?}");
    assert!(close(none.cost, 10.0), "a cent each way: {none:?}");
}

#[test]
fn the_cheapest_safe_policy_is_recommended() {
    let equal = [("a", 4), ("b", 4), ("c", 4)];
    let cases: [(&[(&str, usize)], Policy); 4] = [
        // Even: the predictable one.
        (&[("a", 2), ("b", 2), ("c", 2)], Policy::PreferSameZone),
        // Uneven, but shared out it fits.
        (&[("a", 4), ("b", 1), ("c", 1)], Policy::Auto),
        // Uneven, and it can't be shared out: 4 over 3 zones.
        (&[("a", 2), ("b", 1), ("c", 1)], Policy::None),
        // A zone without endpoints spreads its traffic evenly: nothing is overloaded.
        (&[("a", 2), ("b", 2)], Policy::PreferSameZone),
    ];
    for (pods, policy) in cases {
        let world = world(&equal, pods, Settings::default());
        let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
        assert_eq!(got.policy, policy, "{pods:?}: {}", got.why.message);
    }
}

#[test]
fn a_policy_in_force_is_kept_within_the_keep_threshold() {
    let mut world = world(
        &[("a", 4), ("b", 4), ("c", 4)],
        &[("a", 4), ("b", 4), ("c", 3)],
        Settings::default(),
    );
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
    assert_eq!(got.policy, Policy::PreferSameZone, "122 % of the fair share is within 30 %");
    assert!(matches!(got.why.reason, Why::AlreadyBest { .. }));
}

#[test]
fn replicas_are_spread_over_zones() {
    let world = world(&[("a", 4), ("b", 4), ("c", 4)], &[("a", 3), ("b", 1)], Settings::default());
    let at = |n| forecast(&world, &TrafficProfile::default(), Some(n));
    assert!(close(figures(&at(6), Policy::PreferSameZone).in_zone_share, 1.0));
    assert_eq!(at(0).endpoints, 0);
    assert_eq!(at(9).endpoints, 9);
    assert!(matches!(at(0).recommendation.why.reason, Why::NoEndpoints));
}
