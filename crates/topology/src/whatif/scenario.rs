//! Forecasts of one Service after the other in one cluster.

use std::{borrow::Cow, sync::Arc};

use evenkeel_model::{Endpoint, RegionId, Service, ServiceState, Snapshot, WithMessage, label};

use super::{
    Caveat, Figures, Forecast, Forecasts, Needs, Price, RegionFigures, TrafficProfile, ZoneLost,
    cluster::{self, Cluster, ZonePart, moved},
    pool::{Hinted, Pool},
    profile::Traffic,
    recommend::{self, Subject},
    replicas, routes,
    spread::{Clients, spread},
};
use crate::{
    DataPlane, Environment, Policy, PortRouting, Profile, Settings,
    explain::{EndpointName, Outcome, outcome},
    policy::{self, CannotAct},
    routing::Basis,
    threshold,
};

/// The cluster as forecasts see it, shared by all Services.
#[derive(Debug)]
pub struct Scenario<'a> {
    snapshot: &'a Snapshot,
    environment: &'a Environment,
    profile: &'a TrafficProfile,
    price: Price,
    zones: Vec<ZonePart>,
    has_regions: bool,
    whole: Cluster,
    /// The cluster without each of the zones that have a name.
    lost: Vec<Cluster>,
}

/// What all forecasts of one Service share.
struct Case<'a> {
    state: &'a ServiceState,
    /// As the controller of its slices reads it.
    service: Cow<'a, Service>,
    data_plane: DataPlane,
    settings: Settings,
    pool: Pool,
    current: Policy,
    /// Endpoints are as they are, not planned.
    is_real: bool,
    /// Auto hints are there already, which moves the threshold.
    hinted: bool,
    /// Replicas that no node takes.
    unschedulable: usize,
    traffic: Traffic,
    /// What an endpoint takes when traffic is even.
    fair: f64,
}

/// A cluster, whole or without a zone, and the traffic of each of its zones.
#[derive(Clone, Copy)]
struct Demand<'a> {
    cluster: &'a Cluster,
    by_zone: &'a [f64],
}

/// What clients go by under a policy: what its author meant, and what the proxy understands.
#[derive(Clone, Copy)]
struct Route {
    meant: Basis,
    understood: Basis,
}

impl<'a> Scenario<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        profile: &'a TrafficProfile,
        environment: &'a Environment,
    ) -> Self {
        let settings = environment.common();
        let (whole, zones) = cluster::whole(snapshot, settings);
        let lost = whole.named_zones().map(|zone| whole.without(zone, snapshot, settings));
        let price = profile.price();
        let lost = lost.collect();
        let has_regions = has_regions(&whole.demand);
        Scenario { lost, snapshot, environment, profile, price, zones, has_regions, whole }
    }

    /// The zones that clients are in, each with its share of the CPU.
    pub fn client_zones(&self) -> &[(Arc<str>, f64)] {
        &self.zones
    }

    /// Forecasts one Service, with another number of replicas if wanted.
    pub fn forecast(&self, state: &ServiceState, replicas: Option<u32>) -> Forecasts {
        let service = &state.service;
        let case = self.case(state, replicas);
        let none = self.policy(&case, Policy::None, None);
        let others = Policy::ALL.into_iter().filter(|&policy| policy != Policy::None);
        let others: Vec<Forecast> =
            others.map(|policy| self.policy(&case, policy, Some(&none))).collect();
        let policies: Vec<Forecast> = std::iter::once(none).chain(others).collect();
        let (recommendation, trades) = recommend::recommend(&self.subject(&case, &policies));
        let caveats = self.caveats(&case, &policies);
        Forecasts {
            namespace: Arc::clone(&service.key.namespace),
            service: Arc::clone(&service.key.name),
            current: case.current,
            endpoints: case.pool.ready(),
            replicas,
            gb_per_month: case.traffic.is_known.then(|| case.traffic.total()),
            data_plane: case.data_plane,
            caveats,
            recommendation,
            trades,
            policies,
        }
    }

    fn subject<'s>(&'s self, case: &'s Case<'s>, forecasts: &'s [Forecast]) -> Subject<'s> {
        let by_zone = &case.traffic.by_zone;
        let threshold = case.settings.assign_threshold;
        let pods = &case.state.pods;
        Subject {
            service: &case.service,
            current: case.current,
            forecasts,
            endpoints: case.pool.ready(),
            is_daemon_set: !pods.is_empty() && pods.iter().all(|pod| pod.daemon_set),
            has_zones: self.whole.named_zones().next().is_some(),
            traffic: case.traffic.total(),
            mostly_from: TrafficProfile::mostly_from(by_zone, &self.zones, threshold),
            price: &self.price,
            capacity: self.whole.capacity.as_ref().ok(),
            settings: &case.settings,
        }
    }

    fn case<'s>(&self, state: &'s ServiceState, replicas: Option<u32>) -> Case<'s> {
        let data_plane = self.environment.data_plane(state);
        let service = as_read(&state.service, &data_plane);
        let settings = self.environment.settings(&data_plane);
        let settings = threshold::for_service(&settings, &service).into_owned();
        let mut pool = Pool::new(state, &settings);
        let hinted = pool.in_force();
        let mut unschedulable = 0;
        if let Some(n) = replicas {
            let endpoints = workload(&mut pool, state);
            replicas::scale(endpoints, n as usize, state, self.snapshot);
            unschedulable = (n as usize) - endpoints.len();
            pool.carried.clear();
        }
        let traffic = self.profile.of_service(&state.service.key.to_string(), &self.zones);
        Case {
            current: self.environment.requested(&service, &settings).policy,
            is_real: replicas.is_none(),
            hinted,
            unschedulable,
            fair: traffic.total() / pool.len().max(1) as f64,
            state,
            service,
            data_plane,
            settings,
            pool,
            traffic,
        }
    }

    /// Why `policy` can have no effect. That the API server is too old is told with the version.
    fn cannot_act(&self, case: &Case<'_>, policy: Policy) -> Option<CannotAct> {
        let why = policy::can_act(&case.service, policy, case.settings.gates).err()?;
        if let CannotAct::GateOff { gate } = &why
            && let Some(version) = self.environment.missing(gate)
        {
            return Some(CannotAct::UnavailableBefore { version });
        }
        Some(why)
    }

    /// `none`: the forecast of no policy, once there is one.
    fn policy(&self, case: &Case<'_>, policy: Policy, none: Option<&Forecast>) -> Forecast {
        let cannot_act = self.cannot_act(case, policy);
        let needs = Needs::controller(policy, &case.data_plane);
        if let (true, Some(none)) = (cannot_act.is_some() || needs.is_some(), none) {
            let (cannot_act, needs) = (cannot_act.map(WithMessage::from), needs.map(Into::into));
            return Forecast { policy, cannot_act, needs, once_applied: None, ..none.clone() };
        }
        let route = case.route(policy);
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let hinted = self.hint(case, policy, here.cluster, case.pool.clone(), case.hinted);
        let given = self.figures(case, here, &hinted.endpoints, route.planned(&hinted), None);
        let in_force = (policy == case.current && case.is_real).then(|| {
            let routing = routes::in_force(route.understood, &case.pool.carried);
            self.figures(case, here, &case.pool.as_they_are(), routing, None)
        });
        let differs = in_force.as_ref().is_some_and(|now| !now.is_close(&given));
        Forecast {
            policy,
            cannot_act: None,
            needs: self.needs_proxy(case, policy, route, &hinted).map(WithMessage::from),
            zone_lost: self.zones_lost(case, policy, route, was_hinted(&hinted.outcome)),
            otherwise: self.otherwise(case, policy, &hinted.outcome),
            hints: hinted.outcome.into(),
            once_applied: differs.then(|| given.clone()),
            figures: in_force.unwrap_or(given),
        }
    }

    /// What the policy would do with a proxy that knows all of it, if this one does not.
    fn needs_proxy(
        &self,
        case: &Case<'_>,
        policy: Policy,
        route: Route,
        hinted: &Hinted<Outcome>,
    ) -> Option<Needs> {
        let full = routes::planned(route.meant, hinted.shares.as_ref());
        let is_missed = matches!(full, PortRouting::Shares(_) | PortRouting::SameZoneOnly);
        if route.understood == route.meant || !is_missed {
            return None;
        }
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let figures = self.figures(case, here, &hinted.endpoints, full, None);
        Some(Needs::proxy(policy, &figures))
    }

    fn zones_lost(
        &self,
        case: &Case<'_>,
        policy: Policy,
        route: Route,
        was_hinted: bool,
    ) -> Vec<ZoneLost> {
        let zones = self.lost.iter().zip(self.whole.named_zones()).enumerate();
        let figures = |(index, (cluster, zone))| {
            let by_zone = moved(&case.traffic.by_zone, &self.zones, index);
            let here = Demand { cluster, by_zone: &by_zone };
            let left = case.pool.without(zone);
            let hinted = self.hint(case, policy, cluster, left, was_hinted);
            let routing = route.planned(&hinted);
            let figures = self.figures(case, here, &hinted.endpoints, routing, Some(case.fair));
            ZoneLost { zone: Arc::clone(&self.zones[index].0), figures }
        };
        zones.map(figures).collect()
    }

    fn otherwise(
        &self,
        case: &Case<'_>,
        policy: Policy,
        hints: &Outcome,
    ) -> Option<WithMessage<Outcome>> {
        if policy != Policy::Auto {
            return None;
        }
        let pool = case.pool.clone();
        let other = self.hint(case, policy, &self.whole, pool, !case.hinted).outcome;
        (recommend::is_refusal(&other) != recommend::is_refusal(hints)).then(|| other.into())
    }

    fn hint(
        &self,
        case: &Case<'_>,
        policy: Policy,
        cluster: &Cluster,
        pool: Pool,
        in_force: bool,
    ) -> Hinted<Outcome> {
        let Hinted { outcome: hints, endpoints, shares } =
            pool.hint(policy, &case.service, cluster, in_force, &case.settings);
        let outcome = outcome(hints, in_force, &self.snapshot.topology);
        Hinted { outcome, endpoints, shares }
    }

    /// Spreads the traffic. `fair`: what loads are measured by, if not by what these endpoints get.
    fn figures(
        &self,
        case: &Case<'_>,
        here: Demand<'_>,
        endpoints: &[Endpoint],
        routing: PortRouting,
        fair: Option<f64>,
    ) -> Figures {
        let Demand { cluster, by_zone } = here;
        let clients = Clients {
            zones: &cluster.zones,
            gb: by_zone,
            nodes: &cluster.nodes,
            routing: routing.routing(),
            regions: &self.whole.demand,
        };
        let spread = spread(clients, endpoints, case.service.exposure.internal, &case.settings);
        let served = spread.served_gb();
        let share = |of: f64, gb: f64| if of > 0.0 { gb / of } else { 0.0 };
        let busiest = spread.worst(fair.unwrap_or(served / endpoints.len().max(1) as f64));
        let name = |index: usize| EndpointName::new(&endpoints[index], &self.snapshot.topology);
        // Without any zone left, there is nobody to send traffic and nobody to serve it.
        let gone = if by_zone.is_empty() { case.traffic.total() } else { 0.0 };
        let cross_zone_gb = case.traffic.is_known.then_some(spread.cross_zone_gb);
        let regions = || RegionFigures {
            in_region_share: share(served, spread.in_region_gb),
            cross_region_share: share(served, spread.cross_region_gb),
            cross_region_gb: case.traffic.is_known.then_some(spread.cross_region_gb),
        };
        Figures {
            regions: self.has_regions.then(regions),
            in_zone_share: share(served, spread.in_zone_gb),
            cross_zone_share: share(served, spread.cross_zone_gb),
            unknown_zone_share: share(served, spread.unknown_gb),
            unserved_share: share(case.traffic.total(), spread.unserved_gb + gone),
            max_load: busiest.map_or(0.0, |(_, load)| load),
            busiest_endpoint: busiest.map(|(index, _)| name(index)),
            cross_zone_gb,
            cost: cross_zone_gb.map(|gb| gb * self.price.per_gb()),
        }
    }

    fn caveats(&self, case: &Case<'_>, policies: &[Forecast]) -> Vec<WithMessage<Caveat>> {
        let now = policies.iter().find(|f| f.policy == case.current);
        let outdated = now.and_then(|f| f.once_applied.as_ref());
        let outdated = outdated.map(|then| Caveat::HintsOutdated {
            in_zone_share: then.in_zone_share,
            max_load: then.max_load,
        });
        let share = now.map_or(0.0, |f| f.figures.unknown_zone_share);
        let unknown = (share > 0.0).then_some(Caveat::UnknownZone { share });
        let unmanaged = now.filter(|f| self.is_limited(case, f));
        let unmanaged =
            unmanaged.map(|_| Caveat::UnmanagedSlices { endpoints: case.pool.foreign.len() });
        let unschedulable = (case.unschedulable > 0).then_some(Caveat::ReplicasUnschedulable {
            endpoints: case.pool.len(),
            unschedulable: case.unschedulable,
        });
        let all = [outdated, unmanaged, unschedulable, unknown];
        all.into_iter().flatten().map(WithMessage::from).collect()
    }

    /// Whether unmanaged slices limit what the policy in force does.
    fn is_limited(&self, case: &Case<'_>, now: &Forecast) -> bool {
        let pool = &case.pool;
        if pool.foreign.is_empty() || now.policy == Policy::None || !now.acts() {
            return false;
        }
        let hinted = self.hint(case, now.policy, &self.whole, pool.all_managed(), case.hinted);
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let routing = case.route(now.policy).planned(&hinted);
        let alone = self.figures(case, here, &hinted.endpoints, routing, None);
        !alone.is_close(now.settled())
    }
}

/// The endpoints that another number of replicas is about: the workload's.
fn workload<'p>(pool: &'p mut Pool, state: &ServiceState) -> &'p mut Vec<Endpoint> {
    if state.service.selector.is_some() { &mut pool.managed } else { &mut pool.foreign }
}

/// Auto's hints were given.
fn was_hinted(hints: &Outcome) -> bool {
    matches!(hints, Outcome::Allocated { .. } | Outcome::Balanced { auto: None, .. })
}

/// Kubernetes' controller does not look at annotations of Evenkeel's.
fn as_read<'a>(service: &'a Service, plane: &DataPlane) -> Cow<'a, Service> {
    let ours = [label::TRAFFIC_DISTRIBUTION, label::OVERLOAD_THRESHOLD];
    let has_any = ours.iter().any(|name| service.annotations.contains_key(*name));
    if plane.hints.profile == Profile::Evenkeel || !has_any {
        return Cow::Borrowed(service);
    }
    let mut read = service.clone();
    ours.iter().for_each(|name| drop(read.annotations.remove(*name)));
    Cow::Owned(read)
}

fn has_regions(demand: &crate::Demand) -> bool {
    let regions = demand.zones().iter().map(|zone| zone.region);
    let mut named = regions.filter(|region| *region != RegionId::EMPTY);
    let first = named.next();
    named.any(|region| Some(region) != first)
}

// === impl Case ===

impl Case<'_> {
    fn route(&self, policy: Policy) -> Route {
        let meant = routes::basis(&self.service, policy, self.current, &self.settings);
        let proxy = self.data_plane.routing.profile;
        Route { meant, understood: routes::understood(meant, proxy) }
    }
}

// === impl Route ===

impl Route {
    fn planned(self, hinted: &Hinted<Outcome>) -> PortRouting {
        routes::planned(self.understood, hinted.shares.as_ref())
    }
}
