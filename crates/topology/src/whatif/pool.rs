//! The endpoints that a forecast is about.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use evenkeel_model::{
    AddressType, Endpoint, EndpointPort, Selectable, Service, ServiceState, SharesAnnotation,
    Slice, ZoneId,
};

use crate::{
    Draft, Policy, PolicyReason, PortRouting, RequestedPolicy, Role, Settings, Sync, auto,
    plan::{self, HintOutcome, NodeTable},
    routing::{Basis, is_ours},
};

use super::{cluster::Cluster, routes};

/// The endpoints of one family that take traffic: those that are ready, as consumers count them, or
/// if none is, those that still serve while they terminate. (RequireSameZone would use these in a zone
/// where none is ready; they are gone soon, so a forecast does without them.)
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// Of slices that an endpoint controller manages: policies assign their hints.
    pub managed: Vec<Endpoint>,
    /// Of other slices: they keep the hints they have.
    pub foreign: Vec<Endpoint>,
    /// The zone shares of the slices as they are. What is only planned has none.
    pub carried: Vec<Carried>,
}

/// The slices of one set of ports: their ready endpoints, and the zone shares that one has.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    pub ready: u32,
    pub shares: Option<SharesAnnotation>,
}

/// Endpoints with the hints of a policy, and the zone shares that come with them.
pub(super) struct Hinted<O> {
    pub outcome: O,
    pub endpoints: Vec<Endpoint>,
    pub shares: Option<SharesAnnotation>,
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
        pool.carried = carried(state.slices.iter().filter(|s| s.address_type == family), settings);
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
        Pool { managed: left(&self.managed), foreign: left(&self.foreign), carried: Vec::new() }
    }

    /// The same endpoints, if an endpoint controller managed all slices.
    pub(super) fn all_managed(&self) -> Pool {
        let carried = self.carried.clone();
        Pool { managed: self.as_they_are(), foreign: Vec::new(), carried }
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
    ) -> Hinted<HintOutcome> {
        let slice = Slice {
            name: "forecast".into(),
            address_type: AddressType::IPv4,
            ports: Vec::new(),
            endpoints: Vec::new(),
            owner: Some(service.uid.clone()),
            labels: BTreeMap::new(),
            shares: None,
        };
        // Zone shares in force are kept while they are good enough.
        let shares = match routes::in_force(Basis::Shares { expected: true }, &self.carried) {
            PortRouting::Shares(table) => Some(SharesAnnotation::Valid(table)),
            _ => None,
        };
        let existing = Slice { shares, ..slice.clone() };
        let slice = Slice { endpoints: self.managed, ..slice };
        let mut drafts = [Draft { role: Role::Unchanged, slice: Cow::Owned(slice) }];
        let sync = Sync {
            service,
            pods: &[],
            nodes: &NodeTable::default(),
            capacity: cluster.capacity.as_ref(),
            demand: &cluster.demand,
            existing: &[&existing],
            populated: in_force,
            settings,
        };
        let requested = RequestedPolicy { policy, why: PolicyReason::NotSet };
        let outcome = plan::hint(&mut drafts, &requested, in_force, &sync);
        let [draft] = drafts;
        let Slice { mut endpoints, shares, .. } = draft.slice.into_owned();
        endpoints.extend(self.foreign);
        Hinted { outcome, endpoints, shares }
    }
}

/// Of several slices of one set of ports that have zone shares, the first by name counts.
fn carried<'a>(slices: impl Iterator<Item = &'a Slice>, settings: &Settings) -> Vec<Carried> {
    let mut by_ports: BTreeMap<Vec<EndpointPort>, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        let mut ports = slice.ports.clone();
        ports.sort_unstable();
        by_ports.entry(ports).or_default().push(slice);
    }
    let group = |slices: Vec<&Slice>| {
        let ready = slices.iter().flat_map(|s| &s.endpoints).filter(|e| e.ready()).count();
        let ours = slices.into_iter().filter(|slice| is_ours(slice, settings));
        let carriers = ours.filter_map(|slice| Some((&slice.name, slice.shares.as_ref()?)));
        let shares = carriers.min_by_key(|(name, _)| *name).map(|(_, shares)| shares.clone());
        Carried { ready: u32::try_from(ready).unwrap_or(u32::MAX), shares }
    };
    by_ports.into_values().map(group).collect()
}
