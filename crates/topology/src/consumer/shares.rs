//! Ready endpoints by zone and by set of ports, for ports that zone shares may apply to.

use std::sync::Arc;

use evenkeel_model::{EndpointPort, Selectable, SharesAnnotation, ZoneId};

use super::{
    endpoint::Stored,
    entry::{Entry, SliceState},
    port::Port,
};
use crate::routing::{Basis, Group, PortRouting};

#[derive(Debug, Default)]
pub(super) struct SharesState {
    /// Ready endpoints by zone, sorted by zone.
    zones: Vec<(ZoneId, u32)>,
    /// Sets of ports with their ready endpoints, sorted.
    groups: Vec<(Arc<[EndpointPort]>, u32)>,
    /// The groups' numbers of ready endpoints have changed since their tables were averaged.
    pub is_outdated: bool,
}

/// How a port is routed now.
pub(super) fn route<E>(port: &mut Port, entry: &Entry<E>) -> PortRouting {
    if !matches!(entry.basis, Basis::Shares { .. }) {
        port.shares = None;
        return PortRouting::combined(entry.basis, []);
    }
    let shares = port.shares.take();
    let slices = || {
        let has_port = |s: &&SliceState| port.number_in(s.family, &s.ports).is_some();
        entry.slices.iter().flatten().filter(has_port)
    };
    let mut sets: Vec<&Arc<[EndpointPort]>> = slices().map(|slice| &slice.ports).collect();
    sets.sort_unstable();
    sets.dedup();
    let is_known = shares
        .as_ref()
        .is_some_and(|shares| shares.groups.iter().map(|(set, _)| set).eq(sets.iter().copied()));
    let mut shares = shares
        .filter(|_| is_known)
        .unwrap_or_else(|| Box::new(SharesState::count(port, entry, &sets)));
    let carrier = |set: &Arc<[EndpointPort]>| -> Option<&SharesAnnotation> {
        let carriers = slices().filter(|slice| slice.ports == *set && slice.carried.is_some());
        carriers.min_by_key(|slice| &slice.name)?.carried.as_deref()
    };
    let groups =
        shares.groups.iter().map(|(set, ready)| Group { ready: *ready, carried: carrier(set) });
    let routing = PortRouting::combined(entry.basis, groups.collect::<Vec<_>>());
    shares.is_outdated = false;
    port.shares = Some(shares);
    routing
}

// === impl SharesState ===

impl SharesState {
    fn count<E>(port: &Port, entry: &Entry<E>, sets: &[&Arc<[EndpointPort]>]) -> Self {
        let groups = sets.iter().map(|&set| (Arc::clone(set), 0)).collect();
        let mut shares = SharesState { groups, ..SharesState::default() };
        for place in port.counting_places(entry) {
            shares.change(entry, None, Some(entry.stored(place.slot)));
        }
        shares
    }

    /// Another endpoint counts for an address, or the same one in another state.
    pub(super) fn change<E>(
        &mut self,
        entry: &Entry<E>,
        before: Option<&Stored<E>>,
        after: Option<&Stored<E>>,
    ) {
        let ready = |stored: Option<&Stored<E>>| -> Option<(ZoneId, usize)> {
            let stored = stored.filter(|stored| stored.candidate.ready())?;
            let set = &entry.slice(stored.slice).ports;
            let group = self.groups.iter().position(|(known, _)| known == set)?;
            Some((stored.candidate.zone(), group))
        };
        let (before, after) = (ready(before), ready(after));
        if before == after {
            return;
        }
        for (of, step) in [(before, u32::MAX), (after, 1)] {
            let Some((zone, group)) = of else { continue };
            let count = &mut self.groups[group].1;
            *count = count.wrapping_add(step);
            match self.zones.binary_search_by_key(&zone, |(zone, _)| *zone) {
                Ok(at) => self.zones[at].1 = self.zones[at].1.wrapping_add(step),
                Err(at) => self.zones.insert(at, (zone, step)),
            }
        }
        let group = |of: Option<(ZoneId, usize)>| of.map(|(_, group)| group);
        self.is_outdated |= self.groups.len() > 1 && group(before) != group(after);
    }

    pub(super) fn ready_in(&self, zone: ZoneId) -> u32 {
        let found = self.zones.binary_search_by_key(&zone, |(zone, _)| *zone);
        found.map_or(0, |at| self.zones[at].1)
    }
}
