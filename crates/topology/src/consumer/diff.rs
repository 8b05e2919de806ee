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
    /// Indices of the endpoints that have an address.
    valid: Vec<u32>,
    /// Addresses that a slice has, with their index in it.
    old: Vec<(IpAddr, u32)>,
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
        let family = self.entry.slice(slice).family;
        let mut valid = mem::take(&mut self.scratch.valid);
        valid.clear();
        valid.extend(
            (0u32..).zip(endpoints).filter(|(_, e)| ip_of(e, family).is_some()).map(|(i, _)| i),
        );
        let endpoint = |nth: usize| &endpoints[valid[nth] as usize];
        let slots = &self.entry.slice(slice).slots;
        let same = |old: usize, new: usize| self.entry.stored(slots[old]).is_same(endpoint(new));
        let shorter = slots.len().min(valid.len());
        let start = (0..shorter).take_while(|&nth| same(nth, nth)).count();
        let from_end = |nth: &usize| same(slots.len() - 1 - nth, valid.len() - 1 - nth);
        let end = (0..shorter - start).take_while(from_end).count();
        let old = start..slots.len() - end;
        let new = start..valid.len() - end;
        if !old.is_empty() || !new.is_empty() {
            let in_place = old == new
                && old.clone().all(|nth| {
                    ip_of(endpoint(nth), family) == Some(self.entry.stored(slots[nth]).ip)
                });
            if in_place {
                for nth in old {
                    let slot = self.entry.slice(slice).slots[nth];
                    self.update(slice, slot, endpoint(nth));
                }
            } else {
                self.rearrange(slice, old, new, &endpoint);
            }
        }
        self.scratch.valid = valid;
    }

    /// Makes the endpoints at `new` those of the slice that are at `old` now. The nth endpoint of an
    /// address stays the nth of that address, so that those of one address keep their order.
    fn rearrange<'e>(
        &mut self,
        slice: u32,
        old: Range<usize>,
        new: Range<usize>,
        endpoint: &impl Fn(usize) -> &'e Endpoint,
    ) {
        let family = self.entry.slice(slice).family;
        let mut before = mem::take(&mut self.scratch.old);
        let mut after = mem::take(&mut self.scratch.new);
        before.clear();
        after.clear();
        let slots = &self.entry.slice(slice).slots;
        let is_known = false;
        before.extend(slots[old.clone()].iter().map(|slot| (self.entry.stored(*slot).ip, *slot)));
        after.extend((0u32..).zip(new.clone()).filter_map(|(nth, at)| {
            let ip = ip_of(endpoint(at), family)?;
            Some(Wanted { ip, nth, slot: 0, is_known })
        }));
        // A stable sort, though of few: those of one address stay in order.
        before.sort_by_key(|(ip, _)| *ip);
        after.sort_unstable();
        self.match_up(&before, &mut after);
        after.sort_unstable_by_key(|wanted| wanted.nth);
        self.entry.reserve(after.len());
        for (wanted, at) in after.iter_mut().zip(new.clone()).filter(|(w, _)| !w.is_known) {
            wanted.slot = self.entry.store(Stored::new(wanted.ip, slice, endpoint(at)));
        }
        let slots = &mut self.entry.slice_mut(slice).slots;
        if slots.is_empty() {
            slots.reserve_exact(after.len());
        }
        slots.splice(old, after.iter().map(|wanted| wanted.slot));
        for (wanted, at) in after.iter().zip(new) {
            match wanted.is_known {
                true => self.update(slice, wanted.slot, endpoint(at)),
                false => self.insert(slice, wanted.slot),
            }
        }
        (self.scratch.old, self.scratch.new) = (before, after);
    }

    /// Finds the slots of endpoints that stay, and removes those that don't. Both lists are sorted by
    /// address.
    fn match_up(&mut self, before: &[(IpAddr, u32)], after: &mut [Wanted]) {
        let mut wanted = after.iter_mut().peekable();
        for &(ip, slot) in before {
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
            let before = port.insert(entry, slot, number);
            let after = port.counting(entry, backend);
            if before != after {
                let before = before.map(|slot| entry.stored(slot));
                let after = after.map(|slot| entry.stored(slot));
                note(port, id, self.log, entry, backend, before, after);
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
            let before = port.replaced(entry, slot, number);
            let after = port.counting(entry, backend);
            if before != after || after == Some(slot) {
                let stored = |s| if s == slot { &old } else { entry.stored(s) };
                let after = after.map(|slot| entry.stored(slot));
                note(port, id, self.log, entry, backend, before.map(stored), after);
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
            if port.remove(entry, slot, number) {
                let backend = Backend { ip: stored.ip, port: number };
                let after = port.counting(entry, backend).map(|slot| entry.stored(slot));
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
