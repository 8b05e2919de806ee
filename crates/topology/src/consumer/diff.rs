//! Changes of one Service's slices and ports, carried into its ports and written down.

use core::{net::IpAddr, ops::Range};
use std::mem;

use evenkeel_model::{Endpoint, PortId};

use super::{
    Backend, Detail,
    endpoint::{Stored, ip_of},
    entry::{Entry, SliceState},
    port::{Place, Port},
    record::Log,
    shares::route,
    slab::Slab,
};

/// One Service of the view, with all that a change of it reaches.
pub(super) struct Editor<'a, E> {
    pub entry: &'a mut Entry<E>,
    pub ports: &'a mut Slab<PortId, Port>,
    pub log: &'a mut Log,
    pub scratch: &'a mut Scratch,
}

/// Kept so that changes need no memory of their own.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Addresses that a slice has, with their index in it and their slot.
    old: Vec<(IpAddr, u32, u32)>,
    new: Vec<Wanted>,
}

/// An endpoint that a slice shall have.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    ip: IpAddr,
    /// Its index in the slice.
    nth: u32,
    slot: u32,
    /// It was in the slice already.
    is_known: bool,
}

impl<E: Detail> Editor<'_, E> {
    /// Makes these the endpoints of a slice.
    ///
    /// A slice is written as a whole, and mostly one endpoint of it differs: equal ones at its start
    /// and end are passed over, and what is between is matched by address, in order.
    pub(super) fn set_endpoints(&mut self, slice: u32, endpoints: &[Endpoint]) {
        let SliceState { slots, family, .. } = self.entry.slice(slice);
        let same = |slot: u32, endpoint: &Endpoint| self.entry.stored(slot).is_same(endpoint);
        let mut pairs = slots.iter().zip(endpoints);
        let start = pairs.position(|(slot, endpoint)| !same(*slot, endpoint));
        let start = start.unwrap_or(slots.len().min(endpoints.len()));
        let (old, new) = (&slots[start..], &endpoints[start..]);
        let mut pairs = old.iter().rev().zip(new.iter().rev());
        let end = pairs.position(|(slot, endpoint)| !same(*slot, endpoint));
        let end = end.unwrap_or(old.len().min(new.len()));
        let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
        if old.is_empty() && new.is_empty() {
            return;
        }
        let has_ip =
            |slot: u32, endpoint| ip_of(endpoint, *family) == Some(self.entry.stored(slot).ip);
        let in_place = old.len() == new.len()
            && old.iter().zip(new).all(|(slot, endpoint)| has_ip(*slot, endpoint));
        if in_place {
            for (nth, endpoint) in (start..).zip(new) {
                self.update(slice, self.entry.slice(slice).slots[nth], endpoint);
            }
        } else {
            self.rearrange(slice, start..start + old.len(), new);
        }
    }

    /// Makes `new` the endpoints of the slice in place of those at `old`. The nth endpoint of an
    /// address stays the nth of that address, so that those of one address keep their order.
    fn rearrange(&mut self, slice: u32, old: Range<usize>, new: &[Endpoint]) {
        let mut before = mem::take(&mut self.scratch.old);
        let mut after = mem::take(&mut self.scratch.new);
        before.clear();
        after.clear();
        let SliceState { slots, family, .. } = self.entry.slice(slice);
        let slots = (0u32..).zip(&slots[old.clone()]);
        before.extend(slots.map(|(nth, slot)| (self.entry.stored(*slot).ip, nth, *slot)));
        after.extend((0u32..).zip(new).filter_map(|(nth, endpoint)| {
            let ip = ip_of(endpoint, *family)?;
            Some(Wanted { ip, nth, slot: 0, is_known: false })
        }));
        before.sort_unstable();
        after.sort_unstable();
        self.match_up(&before, &mut after);
        after.sort_unstable_by_key(|wanted| wanted.nth);
        self.entry.reserve(after.len());
        for wanted in after.iter_mut().filter(|wanted| !wanted.is_known) {
            let endpoint = &new[wanted.nth as usize];
            wanted.slot = self.entry.store(Stored::new(wanted.ip, slice, endpoint));
        }
        let slots = &mut self.entry.slice_mut(slice).slots;
        if slots.is_empty() {
            slots.reserve_exact(after.len());
        }
        slots.splice(old, after.iter().map(|wanted| wanted.slot));
        for wanted in &after {
            match wanted.is_known {
                true => self.update(slice, wanted.slot, &new[wanted.nth as usize]),
                false => self.insert(slice, wanted.slot),
            }
        }
        (self.scratch.old, self.scratch.new) = (before, after);
    }

    /// Finds the slots of endpoints that stay, and removes those that don't. Both lists are sorted by
    /// address.
    fn match_up(&mut self, before: &[(IpAddr, u32, u32)], after: &mut [Wanted]) {
        let mut wanted = after.iter_mut().peekable();
        for &(ip, _, slot) in before {
            while wanted.next_if(|wanted| wanted.ip < ip).is_some() {}
            match wanted.next_if(|wanted| wanted.ip == ip) {
                Some(wanted) => (wanted.slot, wanted.is_known) = (slot, true),
                None => self.remove(slot),
            }
        }
    }

    /// Takes in a stored endpoint.
    fn insert(&mut self, slice: u32, slot: u32) {
        let entry = &*self.entry;
        for &(id, number) in &entry.slice(slice).targets {
            let Some(port) = self.ports.get_mut(id) else { continue };
            let backend = Backend { ip: entry.stored(slot).ip, port: number };
            let (before, after) = port.insert(entry, slot, number);
            if before != Some(after) {
                let before = before.map(|slot| entry.stored(slot));
                note(port, id, self.log, entry, backend, before, Some(entry.stored(after)));
            }
        }
    }

    /// Replaces a stored endpoint by one of the same address.
    fn update(&mut self, slice: u32, slot: u32, endpoint: &Endpoint) {
        if self.entry.stored(slot).is_like(endpoint) {
            return;
        }
        let ip = self.entry.stored(slot).ip;
        let old = self.entry.replace(slot, Stored::new(ip, slice, endpoint));
        let entry = &*self.entry;
        for &(id, number) in &entry.slice(slice).targets {
            let Some(port) = self.ports.get_mut(id) else { continue };
            let backend = Backend { ip, port: number };
            let Some((before, after)) = port.replaced(entry, slot, number) else { continue };
            if before != after || after == slot {
                let before = if before == slot { &old } else { entry.stored(before) };
                note(port, id, self.log, entry, backend, Some(before), Some(entry.stored(after)));
            }
        }
    }

    /// Takes out a stored endpoint and frees its slot.
    fn remove(&mut self, slot: u32) {
        self.take_out(slot);
        self.entry.free(slot);
    }

    fn take_out(&mut self, slot: u32) {
        let entry = &*self.entry;
        let stored = entry.stored(slot);
        for &(id, number) in &entry.slice(stored.slice).targets {
            let Some(port) = self.ports.get_mut(id) else { continue };
            if let Some(after) = port.remove(entry, slot, number) {
                let backend = Backend { ip: stored.ip, port: number };
                let after = after.map(|slot| entry.stored(slot));
                note(port, id, self.log, entry, backend, Some(stored), after);
            }
        }
    }

    /// Takes all endpoints of a slice out of the Service's ports, finds the ports that it has now, and
    /// takes them in there.
    pub(super) fn retarget(&mut self, slice: u32, change: impl FnOnce(&mut SliceState)) {
        for nth in 0..self.entry.slice(slice).slots.len() {
            let slot = self.entry.slice(slice).slots[nth];
            self.take_out(slot);
        }
        change(self.entry.slice_mut(slice));
        self.find_targets(slice);
        for nth in 0..self.entry.slice(slice).slots.len() {
            let slot = self.entry.slice(slice).slots[nth];
            self.insert(slice, slot);
        }
    }

    pub(super) fn find_targets(&mut self, slice: u32) {
        let SliceState { family, ports, .. } = self.entry.slice(slice);
        let numbers = self.entry.ports.iter().filter_map(|&id| {
            let number = self.ports.get(id)?.number_in(*family, ports)?;
            Some((id, number))
        });
        self.entry.slice_mut(slice).targets = numbers.collect();
    }

    /// Takes the endpoints of all slices into a new port.
    pub(super) fn fill(&mut self, id: PortId) {
        let Some(port) = self.ports.get_mut(id) else { return };
        let mut places = Vec::new();
        for slice in self.entry.slices.iter_mut().flatten() {
            let Some(number) = port.number_in(slice.family, &slice.ports) else { continue };
            slice.targets.push((id, number));
            places.extend(slice.slots.iter().map(|&slot| Place { slot, number }));
        }
        let entry = &*self.entry;
        places.sort_by(|a, b| {
            let backends = entry.backend(*a).cmp(&entry.backend(*b));
            backends.then_with(|| entry.order(a.slot, b.slot))
        });
        port.places = places;
    }

    /// Finds out how a port is routed, after its Service or the metadata of its slices changed.
    pub(super) fn reroute(&mut self, id: PortId) {
        let Some(port) = self.ports.get_mut(id) else { return };
        let routing = route(port, self.entry);
        if routing != port.routing {
            port.routing = routing;
            list(port, id, self.log);
        }
    }

    pub(super) fn reroute_all(&mut self) {
        for nth in 0..self.entry.ports.len() {
            self.reroute(self.entry.ports[nth]);
        }
    }

    /// Averages zone shares anew where the numbers of ready endpoints changed.
    pub(super) fn reroute_outdated(&mut self) {
        for nth in 0..self.entry.ports.len() {
            let id = self.entry.ports[nth];
            let shares = self.ports.get(id).and_then(|port| port.shares.as_ref());
            if shares.is_some_and(|shares| shares.is_outdated) {
                self.reroute(id);
            }
        }
    }
}

/// Another endpoint counts for an address, or the same one in another state.
fn note<E>(
    port: &mut Port,
    id: PortId,
    log: &mut Log,
    entry: &Entry<E>,
    backend: Backend,
    before: Option<&Stored<E>>,
    after: Option<&Stored<E>>,
) {
    if let Some(shares) = &mut port.shares {
        shares.change(entry, before, after);
    }
    if !port.is_new {
        let candidate = |stored: &Stored<E>| stored.candidate.clone();
        log.endpoint(id, backend, before.map(candidate), after.map(candidate));
    }
    list(port, id, log);
}

/// Lists a port as changed.
pub(super) fn list(port: &mut Port, id: PortId, log: &mut Log) {
    if !port.is_listed {
        port.is_listed = true;
        log.ports.push(id);
    }
}
