//! The endpoints that a forecast is about.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use evenkeel_model::{AddressType, Endpoint, Selectable, Service, ServiceState, Slice, ZoneId};

use crate::{
    Draft, Policy, PolicyReason, RequestedPolicy, Role, Settings, Sync, auto,
    plan::{self, HintOutcome, NodeTable},
};

use super::cluster::Cluster;

/// The endpoints of one family that take traffic: those that are ready, as consumers count them, or
/// if none is, those that still serve while they terminate.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// Of slices that an endpoint controller manages: policies assign their hints.
    pub managed: Vec<Endpoint>,
    /// Of other slices: they keep the hints they have.
    pub foreign: Vec<Endpoint>,
}

impl Pool {
    /// The endpoints of the first address family that has any.
    pub(super) fn new(state: &ServiceState, settings: &Settings) -> Self {
        let ready = Pool::of(state, settings, Endpoint::ready);
        if ready.len() > 0 { ready } else { Pool::of(state, settings, Endpoint::is_usable) }
    }

    fn of(state: &ServiceState, settings: &Settings, fits: fn(&Endpoint) -> bool) -> Self {
        let mut pool = Pool::default();
        let with_any = state.slices.iter().filter(|s| s.endpoints.iter().any(fits));
        let Some(family) = with_any.map(|s| s.address_type).min() else {
            return pool;
        };
        let slices = state.slices.iter().filter(|s| s.address_type == family);
        let endpoints = slices.flat_map(|s| s.endpoints.iter().map(move |e| (s, e)));
        let mut seen = BTreeSet::new();
        for (slice, endpoint) in endpoints.filter(|(_, e)| fits(e)) {
            if !seen.insert(endpoint.address()) {
                continue;
            }
            let part = if state.service.selector.is_some() && settings.manages(slice) {
                &mut pool.managed
            } else {
                &mut pool.foreign
            };
            part.push(endpoint.clone());
        }
        pool
    }

    pub(super) fn len(&self) -> usize {
        self.managed.len() + self.foreign.len()
    }

    pub(super) fn ready(&self) -> usize {
        self.managed.iter().chain(&self.foreign).filter(|e| e.ready()).count()
    }

    /// Auto hints are in force in the slices that a controller manages.
    pub(super) fn in_force(&self) -> bool {
        auto::in_force(&self.managed)
    }

    /// What is left when a zone fails.
    pub(super) fn without(&self, lost: ZoneId) -> Pool {
        let left = |part: &[Endpoint]| {
            part.iter().filter(|e| e.zone != Some(lost)).cloned().collect::<Vec<_>>()
        };
        Pool { managed: left(&self.managed), foreign: left(&self.foreign) }
    }

    /// The same endpoints, if an endpoint controller managed all slices.
    pub(super) fn all_managed(&self) -> Pool {
        Pool { managed: self.as_they_are(), foreign: Vec::new() }
    }

    pub(super) fn as_they_are(&self) -> Vec<Endpoint> {
        self.managed.iter().chain(&self.foreign).cloned().collect()
    }

    /// Assigns hints by `policy`, through the code that assigns them for real.
    pub(super) fn hint(
        self,
        policy: Policy,
        service: &Service,
        cluster: &Cluster,
        in_force: bool,
        settings: &Settings,
    ) -> (HintOutcome, Vec<Endpoint>) {
        let slice = Slice {
            name: "forecast".into(),
            address_type: AddressType::IPv4,
            ports: Vec::new(),
            endpoints: self.managed,
            owner: None,
            labels: BTreeMap::new(),
            shares: None,
        };
        let mut drafts = [Draft { role: Role::Unchanged, slice: Cow::Owned(slice) }];
        let sync = Sync {
            service,
            pods: &[],
            nodes: &NodeTable::default(),
            capacity: cluster.capacity.as_ref(),
            demand: &cluster.demand,
            existing: &[],
            populated: in_force,
            settings,
        };
        let requested = RequestedPolicy { policy, why: PolicyReason::NotSet };
        let hints = plan::hint(&mut drafts, &requested, in_force, &sync);
        let [draft] = drafts;
        let mut endpoints = draft.slice.into_owned().endpoints;
        endpoints.extend(self.foreign);
        (hints, endpoints)
    }
}
