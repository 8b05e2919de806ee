//! Forecasts of one Service after the other in one cluster.

use std::sync::Arc;

use evenkeel_model::{Endpoint, ServiceState, Snapshot, WithMessage};

use super::{
    Caveat, Figures, Forecast, Forecasts, TrafficProfile, ZoneLost,
    cluster::{self, Cluster, ZonePart, moved},
    patch,
    pool::Pool,
    recommend::{self, Subject},
    replicas,
    spread::{Clients, spread},
};
use crate::{
    Policy, Settings,
    explain::{EndpointName, Outcome, outcome},
    policy,
};

/// The cluster as forecasts see it, shared by all Services.
#[derive(Debug)]
pub struct Scenario<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    profile: &'a TrafficProfile,
    zones: Vec<ZonePart>,
    whole: Cluster,
    /// The cluster without each of the zones that have a name.
    lost: Vec<Cluster>,
}

/// What all forecasts of one Service share.
struct Case<'a> {
    state: &'a ServiceState,
    pool: Pool,
    current: Policy,
    /// Endpoints are as they are, not planned.
    is_real: bool,
    /// Auto hints are there already, which moves the threshold.
    hinted: bool,
    /// Replicas that found no node.
    not_placed: usize,
    /// Gigabytes of each zone.
    gb: Vec<f64>,
    /// What an endpoint takes when traffic is even.
    fair: f64,
}

/// Where to look: the cluster, and the traffic of its zones.
#[derive(Clone, Copy)]
struct Place<'a> {
    cluster: &'a Cluster,
    gb: &'a [f64],
}

impl<'a> Scenario<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        profile: &'a TrafficProfile,
        settings: &'a Settings,
    ) -> Self {
        let (whole, zones) = cluster::whole(snapshot, settings);
        let lost = whole.named_zones().map(|zone| whole.without(zone, snapshot, settings));
        Scenario { lost: lost.collect(), snapshot, settings, profile, zones, whole }
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
        let subject = Subject {
            service,
            current: case.current,
            forecasts: &policies,
            endpoints: case.pool.ready(),
            has_zones: self.whole.named_zones().next().is_some(),
            traffic: case.gb.iter().sum(),
            mostly_from: TrafficProfile::mostly_from(
                &case.gb,
                &self.zones,
                self.settings.assign_threshold,
            ),
            capacity: self.whole.capacity.as_ref().ok(),
            settings: self.settings,
        };
        Forecasts {
            namespace: Arc::clone(&service.key.namespace),
            service: Arc::clone(&service.key.name),
            current: case.current,
            endpoints: case.pool.ready(),
            replicas,
            gb_per_month: case.gb.iter().sum(),
            caveats: self.caveats(&case, &policies),
            recommendation: recommend::recommend(&subject),
            policies,
        }
    }

    fn case<'s>(&self, state: &'s ServiceState, replicas: Option<u32>) -> Case<'s> {
        let mut pool = Pool::new(state, self.settings);
        let hinted = pool.in_force();
        let mut not_placed = 0;
        if let Some(n) = replicas {
            let endpoints = workload(&mut pool, state);
            replicas::scale(endpoints, n as usize, state, self.snapshot);
            not_placed = (n as usize) - endpoints.len();
        }
        let gb = self.profile.of_service(&state.service.key.to_string(), &self.zones);
        Case {
            current: policy::requested(&state.service, self.settings.gates).policy,
            is_real: replicas.is_none(),
            hinted,
            not_placed,
            fair: gb.iter().sum::<f64>() / pool.len().max(1) as f64,
            state,
            pool,
            gb,
        }
    }

    /// `none`: the forecast of no policy, once there is one.
    fn policy(&self, case: &Case<'_>, policy: Policy, none: Option<&Forecast>) -> Forecast {
        let cannot_act = policy::can_act(&case.state.service, policy, self.settings.gates).err();
        if let (Some(why), Some(none)) = (&cannot_act, none) {
            let cannot_act = Some(why.clone().into());
            return Forecast { policy, cannot_act, once_applied: None, ..none.clone() };
        }
        let counts = self.hints_count(case, policy);
        let here = Place { cluster: &self.whole, gb: &case.gb };
        let (hints, endpoints) =
            self.hint(case, policy, here.cluster, case.pool.clone(), case.hinted);
        let given = self.figures(case, here, &endpoints, counts, None);
        let in_force = (policy == case.current && case.is_real)
            .then(|| self.figures(case, here, &case.pool.as_they_are(), counts, None));
        let differs = in_force.as_ref().is_some_and(|now| !now.is_close(&given));
        Forecast {
            policy,
            cannot_act: None,
            zone_lost: self.zones_lost(case, policy, counts, was_hinted(&hints)),
            otherwise: self.otherwise(case, policy, &hints),
            hints: hints.into(),
            once_applied: differs.then(|| given.clone()),
            figures: in_force.unwrap_or(given),
        }
    }

    /// Whether proxies look at hints under `policy`. With headless Services, none is between.
    fn hints_count(&self, case: &Case<'_>, policy: Policy) -> bool {
        let (service, gates) = (&case.state.service, self.settings.gates);
        !service.cluster_ip_none
            && if policy == case.current {
                policy::hints_count(service, gates)
            } else {
                policy::hints_count(&patch(service, policy, gates).apply(service), gates)
            }
    }

    fn zones_lost(
        &self,
        case: &Case<'_>,
        policy: Policy,
        counts: bool,
        was_hinted: bool,
    ) -> Vec<ZoneLost> {
        let zones = self.lost.iter().zip(self.whole.named_zones()).enumerate();
        let figures = |(index, (cluster, zone))| {
            let gb = moved(&case.gb, &self.zones, index);
            let here = Place { cluster, gb: &gb };
            let left = case.pool.without(zone);
            let (_, endpoints) = self.hint(case, policy, cluster, left, was_hinted);
            let figures = self.figures(case, here, &endpoints, counts, Some(case.fair));
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
        let (other, _) = self.hint(case, policy, &self.whole, pool, !case.hinted);
        (recommend::is_refusal(&other) != recommend::is_refusal(hints)).then(|| other.into())
    }

    fn hint(
        &self,
        case: &Case<'_>,
        policy: Policy,
        cluster: &Cluster,
        pool: Pool,
        in_force: bool,
    ) -> (Outcome, Vec<Endpoint>) {
        let service = &case.state.service;
        let (hints, endpoints) = pool.hint(policy, service, cluster, in_force, self.settings);
        (outcome(hints, in_force, &self.snapshot.topology), endpoints)
    }

    /// Spreads the traffic. `fair`: what loads are measured by, if not by what these endpoints get.
    fn figures(
        &self,
        case: &Case<'_>,
        here: Place<'_>,
        endpoints: &[Endpoint],
        hints_count: bool,
        fair: Option<f64>,
    ) -> Figures {
        let Place { cluster, gb } = here;
        let clients = Clients { zones: &cluster.zones, gb, nodes: &cluster.nodes, hints_count };
        let spread =
            spread(clients, endpoints, case.state.service.exposure.internal, self.settings);
        let served = spread.served_gb();
        let total: f64 = case.gb.iter().sum();
        let part = |of: f64, gb: f64| if of > 0.0 { gb / of } else { 0.0 };
        let worst = spread.worst(fair.unwrap_or(served / endpoints.len().max(1) as f64));
        let price = &self.profile.price;
        let name = |index: usize| EndpointName::new(&endpoints[index], &self.snapshot.topology);
        // Without any zone left, there is nobody to send traffic and nobody to serve it.
        let gone = if gb.is_empty() { total } else { 0.0 };
        Figures {
            in_zone_share: part(served, spread.in_zone_gb),
            worst_load: worst.map_or(0.0, |(_, load)| load),
            worst_endpoint: worst.map(|(index, _)| name(index)),
            cross_zone_gb: spread.cross_zone_gb,
            unknown_gb: spread.unknown_gb,
            cost: spread.cross_zone_gb * (price.out_per_gb + price.in_per_gb),
            unserved_share: part(total, spread.unserved_gb + gone),
        }
    }

    fn caveats(&self, case: &Case<'_>, policies: &[Forecast]) -> Vec<WithMessage<Caveat>> {
        let now = policies.iter().find(|f| f.policy == case.current);
        let behind = now.and_then(|f| f.once_applied.as_ref()).map(|then| Caveat::HintsBehind {
            in_zone_share: then.in_zone_share,
            worst_load: then.worst_load,
        });
        let unknown = now.map_or(0.0, |f| f.figures.unknown_gb);
        let unknown = (unknown > 0.0).then_some(Caveat::UnknownZones { gb: unknown });
        let others = now.filter(|f| self.is_undone(case, f));
        let others = others.map(|_| Caveat::OthersSlices { endpoints: case.pool.foreign.len() });
        let not_placed = (case.not_placed > 0).then_some(Caveat::NotAllPlaced {
            endpoints: case.pool.len(),
            not_placed: case.not_placed,
        });
        let all = [behind, others, not_placed, unknown];
        all.into_iter().flatten().map(WithMessage::from).collect()
    }

    /// Whether slices of others keep the policy in force from what it would do.
    fn is_undone(&self, case: &Case<'_>, now: &Forecast) -> bool {
        let pool = &case.pool;
        if pool.foreign.is_empty() || now.policy == Policy::None || now.cannot_act.is_some() {
            return false;
        }
        let (_, endpoints) =
            self.hint(case, now.policy, &self.whole, pool.all_managed(), case.hinted);
        let here = Place { cluster: &self.whole, gb: &case.gb };
        let alone = self.figures(case, here, &endpoints, self.hints_count(case, now.policy), None);
        !alone.is_close(now.settled())
    }
}

/// The endpoints that another number of replicas is about: the workload's.
fn workload<'p>(pool: &'p mut Pool, state: &ServiceState) -> &'p mut Vec<Endpoint> {
    if state.service.selector.is_some() { &mut pool.managed } else { &mut pool.foreign }
}

fn was_hinted(hints: &Outcome) -> bool {
    matches!(hints, Outcome::Allocated { .. })
}
