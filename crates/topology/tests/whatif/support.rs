use evenkeel_model::{Endpoint, Routing, Selectable, ServiceState, Snapshot, Viewpoint, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Environment, Policy, Profile, Server, Settings,
    policy::OWN,
    routing, select,
    whatif::{Figures, Forecasts, Scenario, Supposed, TrafficProfile, ZoneFlow},
};

/// A world without a policy, its slices written by Evenkeel's controller.
pub(crate) fn world(
    nodes: &[(&str, u64)],
    pods: &[(&str, usize)],
    mut settings: Settings,
) -> World {
    settings.controller_name = label::EVENKEEL.into();
    let mut world = World::new(Cluster::of(nodes), service("web"), settings).with_pods(pods);
    world.sync();
    world
}

pub(crate) fn forecast(
    world: &World,
    profile: &TrafficProfile,
    replicas: Option<u32>,
) -> Forecasts {
    let environment = Environment::fixed(Profile::Evenkeel, &world.settings);
    forecast_in(&environment, world, profile, replicas)
}

/// Where slices are managed as their labels say, and nodes run kube-proxy.
pub(crate) fn forecast_behind_kube_proxy(world: &World) -> Forecasts {
    let environment = Environment::new(None, Server::default(), |_| {}).expect("defaults");
    forecast_in(&environment, world, &TrafficProfile::default(), None)
}

pub(crate) fn forecast_in(
    environment: &Environment,
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
        services: vec![state.into()],
        ..Snapshot::default()
    };
    let (scenario, state) = (Scenario::new(&snapshot, profile, environment), &snapshot.services[0]);
    let (policy, now) = scenario.now(state);
    let as_they_are = scenario.forecast(state, None);
    assert_eq!(Some(&now), as_they_are.of(policy).map(|f| &f.figures), "{policy} in short");
    flows_add_up(&scenario, state, &as_they_are, None);
    if replicas.is_none() {
        return as_they_are;
    }
    let scaled = scenario.forecast(state, replicas);
    flows_add_up(&scenario, state, &scaled, replicas);
    scaled
}

/// The flows of each state that a forecast is about give its figures.
fn flows_add_up(
    scenario: &Scenario<'_>,
    state: &ServiceState,
    forecasts: &Forecasts,
    replicas: Option<u32>,
) {
    for forecast in &forecasts.policies {
        let policy = Some(forecast.policy);
        let is_now = forecast.policy == forecasts.current && replicas.is_none();
        let now = if is_now { &forecast.figures } else { forecast.settled() };
        let lost = forecast.zone_lost.iter().map(|lost| (Some(&*lost.zone), &lost.figures));
        for (lost, figures) in std::iter::once((None, now)).chain(lost) {
            let supposed = Supposed { policy, replicas, lost };
            let flows = scenario.flows(state, &supposed).expect("a zone of the forecast");
            let sum = |of: fn(&ZoneFlow) -> bool| -> f64 {
                flows.iter().filter(|flow| of(flow)).map(|flow| flow.part).sum()
            };
            let served = sum(|flow| flow.to.is_some());
            let stays = sum(|flow| !flow.from.is_empty() && flow.to.as_ref() == Some(&flow.from));
            let near = figures.in_zone_share * served;
            assert!((stays - near).abs() < 1e-9, "{supposed:?}: {flows:?} {figures:?}");
            // Where no zone is left, there is nobody to send anything.
            if !flows.is_empty() {
                let refused = sum(|flow| flow.to.is_none());
                assert!((refused - figures.unserved_share).abs() < 1e-9, "{supposed:?}: {flows:?}");
            }
        }
    }
    let nowhere = Supposed { lost: Some("nowhere"), ..Supposed::default() };
    assert_eq!(scenario.flows(state, &nowhere), None);
}

pub(crate) fn figures(forecasts: &Forecasts, policy: Policy) -> &Figures {
    &forecasts.policies.iter().find(|f| f.policy == policy).expect("all policies").figures
}

pub(crate) fn ask(world: &mut World, policy: &str) {
    let service = world.service.clone();
    world.service = match policy {
        "none" => service,
        "Auto" => service.auto(),
        own if OWN.iter().any(|policy| policy.as_str() == own) => {
            service.annotated(label::TRAFFIC_DISTRIBUTION, own)
        }
        other => service.distribution(other),
    };
}

/// What becomes of the traffic. Parts are of what is served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub in_zone: f64,
    pub in_region: f64,
    pub worst: f64,
    pub unserved: f64,
}

/// What becomes of the traffic once `policy` is applied.
pub(crate) fn slow(world: &World, policy: Policy) -> Seen {
    select_everywhere(&applied(world, policy))
}

/// The same, where nodes run kube-proxy: hints decide, whatever else the policy writes.
pub(crate) fn slow_by_hints(world: &World, policy: Policy) -> Seen {
    select_everywhere_by(&applied(world, policy), Routing::Hints)
}

fn applied(world: &World, policy: Policy) -> World {
    let mut world = world.clone();
    ask(&mut world, policy.as_str());
    world.sync();
    world
}

/// By selecting on every node from the slices as they are, and adding up.
pub(crate) fn select_everywhere(world: &World) -> Seen {
    select_everywhere_by(world, routing(&world.service, &world.slices, &world.settings))
}

fn select_everywhere_by(world: &World, routing: Routing<'_>) -> Seen {
    let endpoints: Vec<Endpoint> = world.endpoints().cloned().collect();
    let demand = world.cluster.demand();
    let total: u64 = world.cluster.nodes.iter().map(|n| n.cpu_milli).sum();
    let mut load = vec![0.0; endpoints.len()];
    let (mut in_zone, mut in_region, mut unserved) = (0.0, 0.0, 0.0);
    for node in &world.cluster.nodes {
        let traffic = node.cpu_milli as f64 / total as f64;
        let from = Viewpoint { node: Some(node.id), zone: node.zone };
        let selected = select(from, world.service.exposure, &endpoints, routing, &world.settings);
        let shares = selected.cluster.expect("policy Cluster").shares;
        let weights: u32 = shares.iter().map(|share| share.weight).sum();
        if shares.is_empty() {
            unserved += traffic;
        }
        for share in &shares {
            let endpoint = share.endpoint as usize;
            let part = traffic * f64::from(share.weight) / f64::from(weights);
            load[endpoint] += part;
            let to = endpoints[endpoint].zone;
            let region = |zone: Option<_>| demand.region_of(zone.expect("all have zones"));
            in_zone += if to == node.zone { part } else { 0.0 };
            in_region += if region(to) == region(node.zone) { part } else { 0.0 };
        }
    }
    let served = 1.0 - unserved;
    let share = |part: f64| if served > 1e-9 { part / served } else { 0.0 };
    let ready = endpoints.iter().filter(|e| e.ready()).count();
    let worst = load.iter().copied().fold(0.0, f64::max) * ready as f64;
    Seen { in_zone: share(in_zone), in_region: share(in_region), worst, unserved }
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
