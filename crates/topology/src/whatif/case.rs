//! One Service of a forecast: what all policies have in common.

use std::borrow::Cow;

use evenkeel_model::{Endpoint, Service, ServiceState, Snapshot, label};

use super::{pool::Pool, profile::Traffic, replicas, routes::Route};
use crate::{DataPlane, Environment, Policy, Profile, Settings, threshold};

/// What all forecasts of one Service share.
pub(super) struct Case<'a> {
    pub state: &'a ServiceState,
    /// As the controller of its slices reads it.
    pub service: Cow<'a, Service>,
    pub data_plane: DataPlane,
    pub settings: Settings,
    pub pool: Pool,
    pub current: Policy,
    /// Endpoints are as they are, not planned.
    pub is_real: bool,
    /// Auto hints are there already, which moves the threshold.
    pub hinted: bool,
    /// Replicas that no node takes.
    pub unschedulable: usize,
    pub traffic: Traffic,
}

impl<'a> Case<'a> {
    /// The Service with the endpoints it has.
    pub(super) fn new(
        state: &'a ServiceState,
        environment: &Environment,
        traffic: Traffic,
    ) -> Self {
        let data_plane = environment.data_plane(state);
        let service = as_read(&state.service, &data_plane);
        let settings = environment.settings(&data_plane);
        let settings = threshold::for_service(&settings, &service).into_owned();
        let pool = Pool::new(state, &settings);
        Case {
            current: environment.requested(&service, &settings).policy,
            is_real: true,
            hinted: pool.in_force(),
            unschedulable: 0,
            state,
            service,
            data_plane,
            settings,
            pool,
            traffic,
        }
    }

    /// The same with another number of replicas.
    pub(super) fn scaled(mut self, n: u32, snapshot: &Snapshot) -> Self {
        let endpoints = workload(&mut self.pool, self.state);
        replicas::scale(endpoints, n as usize, self.state, snapshot);
        self.unschedulable = (n as usize) - endpoints.len();
        self.pool.carried.clear();
        self.is_real = false;
        self
    }

    /// What an endpoint takes when traffic is even.
    pub(super) fn fair(&self) -> f64 {
        self.traffic.total() / self.pool.len().max(1) as f64
    }

    pub(super) fn route(&self, policy: Policy) -> Route {
        let proxy = self.data_plane.routing.profile;
        Route::new(&self.service, policy, self.current, proxy, &self.settings)
    }
}

/// The endpoints that another number of replicas is about: the workload's.
fn workload<'p>(pool: &'p mut Pool, state: &ServiceState) -> &'p mut Vec<Endpoint> {
    if state.service.selector.is_some() { &mut pool.managed } else { &mut pool.foreign }
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
