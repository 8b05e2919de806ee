use evenkeel_model::{Endpoint, Selectable, ServiceState, Snapshot, Viewpoint};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Environment, Policy, Profile, Settings, routing, select,
    whatif::{Figures, Forecasts, Scenario, TrafficProfile},
};

/// A world without a policy, its slices written.
pub(crate) fn world(nodes: &[(&str, u64)], pods: &[(&str, usize)], settings: Settings) -> World {
    let mut world = World::new(Cluster::of(nodes), service("web"), settings).with_pods(pods);
    world.sync();
    world
}

pub(crate) fn forecast(
    world: &World,
    profile: &TrafficProfile,
    replicas: Option<u32>,
) -> Forecasts {
    let state = ServiceState {
        slices: world.slices.clone(),
        pods: world.pods.clone(),
        ..ServiceState::new(world.service.clone())
    };
    let snapshot = Snapshot {
        topology: world.cluster.topology.clone(),
        nodes: world.cluster.nodes.clone(),
        services: vec![state],
        ..Snapshot::default()
    };
    let environment = Environment::fixed(Profile::Evenkeel, &world.settings);
    Scenario::new(&snapshot, profile, &environment).forecast(&snapshot.services[0], replicas)
}

pub(crate) fn figures(forecasts: &Forecasts, policy: Policy) -> &Figures {
    &forecasts.policies.iter().find(|f| f.policy == policy).expect("all policies").figures
}

pub(crate) fn ask(world: &mut World, policy: &str) {
    let service = world.service.clone();
    world.service = match policy {
        "none" => service,
        "Auto" => service.auto(),
        other => service.distribution(other),
    };
}

/// The part that stays in zone and the worst load once `policy` is applied.
pub(crate) fn slow(world: &World, policy: Policy, gb: f64) -> (f64, f64) {
    let mut world = world.clone();
    ask(&mut world, policy.as_str());
    world.sync();
    select_everywhere(&world, gb)
}

/// The part that stays in zone and the worst load, by selecting on every node from the slices as
/// they are.
pub(crate) fn select_everywhere(world: &World, gb: f64) -> (f64, f64) {
    let endpoints: Vec<Endpoint> = world.endpoints().cloned().collect();
    let routing = routing(&world.service, &world.slices, &world.settings);
    let total: u64 = world.cluster.nodes.iter().map(|n| n.cpu_milli).sum();
    let mut load = vec![0.0; endpoints.len()];
    let mut near = 0.0;
    for node in &world.cluster.nodes {
        let traffic = gb * node.cpu_milli as f64 / total as f64;
        let from = Viewpoint { node: Some(node.id), zone: node.zone };
        let selected = select(from, world.service.exposure, &endpoints, routing, &world.settings);
        let shares = selected.cluster.expect("policy Cluster").shares;
        for share in &shares {
            let endpoint = share.endpoint as usize;
            load[endpoint] += traffic / shares.len() as f64;
            if endpoints[endpoint].zone == node.zone {
                near += traffic / shares.len() as f64;
            }
        }
    }
    let ready = endpoints.iter().filter(|e| e.ready()).count();
    let worst = load.iter().copied().fold(0.0, f64::max) * ready as f64 / gb;
    (near / gb, worst)
}

pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// Three equal zones with one node each.
pub(crate) fn equal(pods: &[(&str, usize)]) -> World {
    world(&[("a", 4), ("b", 4), ("c", 4)], pods, Settings::default())
}

pub(crate) fn profile(yaml_zones: &[(&str, f64)]) -> TrafficProfile {
    let by_zone = yaml_zones.iter().map(|&(zone, gb)| (zone.into(), gb)).collect();
    TrafficProfile { by_zone, ..TrafficProfile::default() }
}
