//! Forecasts of one Service after the other in one cluster.

use std::sync::Arc;

use evenkeel_model::{Endpoint, ServiceState, Snapshot, WithMessage};

use super::{
    Caveat, Figures, Forecast, Forecasts, Needs, Price, RegionFigures, TrafficProfile, ZoneLost,
    case::Case,
    cluster::{self, Cluster, ZonePart, moved},
    pool::{Hinted, Pool},
    recommend::{self, Subject},
    routes::Route,
    spread::{Between, Clients, Spread, spread},
};
use crate::{
    Environment, Policy, PortRouting,
    explain::{EndpointName, Outcome, outcome},
    policy::{self, CannotAct},
};

/// The cluster as forecasts see it, shared by all Services.
#[derive(Debug)]
pub struct Scenario<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) environment: &'a Environment,
    pub(super) profile: &'a TrafficProfile,
    price: Price,
    pub(super) zones: Vec<ZonePart>,
    has_regions: bool,
    pub(super) whole: Cluster,
    /// The cluster without each of the zones that have a name.
    pub(super) lost: Vec<Cluster>,
}

/// A cluster, whole or without a zone, and the traffic of each of its zones.
#[derive(Clone, Copy)]
pub(super) struct Demand<'a> {
    pub cluster: &'a Cluster,
    pub by_zone: &'a [f64],
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
        let has_regions = whole.has_regions();
        Scenario { lost, snapshot, environment, profile, price, zones, has_regions, whole }
    }

    /// The zones that clients are in, each with its share of the CPU.
    pub fn client_zones(&self) -> &[(Arc<str>, f64)] {
        &self.zones
    }

    /// Forecasts one Service, with another number of replicas if wanted.
    pub fn forecast(&self, state: &ServiceState, replicas: Option<u32>) -> Forecasts {
        let service = &state.service;
        let traffic = self.profile.of_service(&service.key.to_string(), &self.zones);
        let mut case = Case::new(state, self.environment, traffic);
        if let Some(n) = replicas {
            case = case.scaled(n, self.snapshot);
        }
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

    /// Where traffic goes now: the policy in force with the figures that it has in
    /// [`forecast`](Self::forecast), without the others. O(zones · endpoints).
    pub fn now(&self, state: &ServiceState) -> (Policy, Figures) {
        let traffic = self.profile.of_service(&state.service.key.to_string(), &self.zones);
        let case = Case::new(state, self.environment, traffic);
        let can_act = self.cannot_act(&case, case.current).is_none()
            && Needs::controller(case.current, &case.data_plane).is_none();
        if can_act || case.current == Policy::None {
            return (case.current, self.in_force(&case));
        }
        let none = self.hint(&case, Policy::None, &self.whole, case.pool.clone(), case.hinted);
        let routing = case.route(Policy::None).planned(none.shares.as_ref());
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        (case.current, self.figures(&case, here, &none.endpoints, &routing))
    }

    /// Of the policy in force, with the hints that are there.
    fn in_force(&self, case: &Case<'_>) -> Figures {
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let routing = case.route(case.current).in_force(&case.pool.carried);
        self.figures(case, here, &case.pool.as_they_are(), &routing)
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

    /// Why `policy` can have no effect. That the API server is too old is told with the version.
    pub(super) fn cannot_act(&self, case: &Case<'_>, policy: Policy) -> Option<CannotAct> {
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
        let given =
            self.figures(case, here, &hinted.endpoints, &route.planned(hinted.shares.as_ref()));
        let in_force = (policy == case.current && case.is_real).then(|| self.in_force(case));
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
        let full = route.not_understood(hinted.shares.as_ref())?;
        let here = Demand { cluster: &self.whole, by_zone: &case.traffic.by_zone };
        let figures = self.figures(case, here, &hinted.endpoints, &full);
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
            let routing = route.planned(hinted.shares.as_ref());
            let figures = self.figures(case, here, &hinted.endpoints, &routing);
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

    pub(super) fn hint(
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

    /// Spreads the traffic. Loads are measured by what all endpoints would get of all traffic: what is
    /// refused makes nobody busier.
    fn figures(
        &self,
        case: &Case<'_>,
        here: Demand<'_>,
        endpoints: &[Endpoint],
        routing: &PortRouting,
    ) -> Figures {
        let by_zone = here.by_zone;
        let spread = self.spread(case, here, endpoints, routing, None);
        let served = spread.served_gb();
        let share = |of: f64, gb: f64| if of > 0.0 { gb / of } else { 0.0 };
        let busiest = spread.worst(case.fair());
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

    pub(super) fn spread(
        &self,
        case: &Case<'_>,
        here: Demand<'_>,
        endpoints: &[Endpoint],
        routing: &PortRouting,
        between: Option<Between>,
    ) -> Spread {
        let Demand { cluster, by_zone } = here;
        let clients = Clients {
            zones: &cluster.zones,
            gb: by_zone,
            nodes: &cluster.nodes,
            routing: routing.routing(),
            regions: &self.whole.demand,
        };
        spread(clients, endpoints, case.service.exposure.internal, &case.settings, between)
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
        let routing = case.route(now.policy).planned(hinted.shares.as_ref());
        let alone = self.figures(case, here, &hinted.endpoints, &routing);
        !alone.is_close(now.settled())
    }
}

/// Auto's hints were given.
pub(super) fn was_hinted(hints: &Outcome) -> bool {
    matches!(hints, Outcome::Allocated { .. } | Outcome::Balanced { auto: None, .. })
}
