//! A Service port in one address family: its merged endpoints, in order.
//!
//! The endpoints are a list of places, sorted by address and target port. Those of one address and
//! port (a *run*, nearly always of one) are sorted by which counts; the first does.

use std::sync::Arc;

use evenkeel_model::{
    AddressType, EndpointPort, Protocol, Routing, Selectable, Service, ServiceId, ServicePort,
    ZoneId,
};

use super::{Backend, MergedEndpoint, entry::Entry, shares::SharesState};
use crate::routing::PortRouting;

#[derive(Debug)]
pub(super) struct Port {
    pub service: ServiceId,
    /// Index in the Service's ports.
    pub nth: u32,
    pub name: Arc<str>,
    pub protocol: Protocol,
    pub family: AddressType,
    pub places: Vec<Place>,
    pub routing: PortRouting,
    /// Where zone shares may apply.
    pub shares: Option<Box<SharesState>>,
    /// Listed among the changed ports.
    pub is_listed: bool,
    /// Not there when changes were last asked for.
    pub is_new: bool,
    /// The Service has changed.
    pub service_changed: bool,
}

/// Where an endpoint of a port is kept, and its target port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub slot: u32,
    pub number: u16,
}

/// A Service port of the view.
#[derive(Debug)]
pub struct PortView<'a, E = ()> {
    pub(super) port: &'a Port,
    pub(super) entry: &'a Entry<E>,
    pub(super) service: &'a Service,
}

// === impl Port ===

impl Port {
    /// The target port in slices with these ports, if they have this port.
    pub(super) fn number_in(&self, family: AddressType, ports: &[EndpointPort]) -> Option<u16> {
        if family != self.family {
            return None;
        }
        let is_meant = |p: &&EndpointPort| p.protocol == self.protocol && p.name == self.name;
        ports.iter().find(is_meant)?.port.filter(|&number| number != 0)
    }

    /// Takes in the endpoint in `slot`. The slots of the endpoints that counted before and that count
    /// now.
    pub(super) fn insert<E>(
        &mut self,
        entry: &Entry<E>,
        slot: u32,
        number: u16,
    ) -> (Option<u32>, u32) {
        let backend = Backend { ip: entry.stored(slot).ip, port: number };
        let first = self.position(entry, backend);
        let before = self.counting_at(entry, first, backend);
        self.insert_into(entry, first, Place { slot, number });
        (before, self.places[first].slot)
    }

    /// Takes out the endpoint in `slot`. If it was the one that counts: the slot of the one that
    /// does now.
    pub(super) fn remove<E>(
        &mut self,
        entry: &Entry<E>,
        slot: u32,
        number: u16,
    ) -> Option<Option<u32>> {
        let backend = Backend { ip: entry.stored(slot).ip, port: number };
        let first = self.position(entry, backend);
        let behind = self.places[first..].iter().position(|place| place.slot == slot)?;
        self.places.remove(first + behind);
        (behind == 0).then(|| self.counting_at(entry, first, backend))
    }

    /// Puts the endpoint in `slot`, whose content was replaced, into its right place. The slots of the
    /// endpoints that counted before and that count now.
    pub(super) fn replaced<E>(
        &mut self,
        entry: &Entry<E>,
        slot: u32,
        number: u16,
    ) -> Option<(u32, u32)> {
        let backend = Backend { ip: entry.stored(slot).ip, port: number };
        let first = self.position(entry, backend);
        let before = self.places.get(first)?.slot;
        let is_alone = before == slot && self.counting_at(entry, first + 1, backend).is_none();
        if !is_alone {
            let behind = self.places[first..].iter().position(|place| place.slot == slot)?;
            let place = self.places.remove(first + behind);
            self.insert_into(entry, first, place);
        }
        Some((before, self.places[first].slot))
    }

    /// Inserts into the run that starts at `first`, behind those that come before.
    fn insert_into<E>(&mut self, entry: &Entry<E>, first: usize, place: Place) {
        let backend = entry.backend(place);
        let behind = self.places[first..].iter().take_while(|other| {
            entry.backend(**other) == backend && entry.order(other.slot, place.slot).is_lt()
        });
        let at = first + behind.count();
        self.places.insert(at, place);
    }

    /// The slot of the endpoint that counts for this address and target port.
    pub(super) fn counting<E>(&self, entry: &Entry<E>, backend: Backend) -> Option<u32> {
        self.counting_at(entry, self.position(entry, backend), backend)
    }

    /// The slots of the endpoints that count, with their target ports.
    pub(super) fn counting_places<'a, E>(
        &'a self,
        entry: &'a Entry<E>,
    ) -> impl Iterator<Item = Place> + 'a {
        let mut last: Option<Backend> = None;
        self.places.iter().copied().filter(move |place| {
            let backend = entry.backend(*place);
            last.replace(backend) != Some(backend)
        })
    }

    /// Where the run of a backend starts, or would.
    fn position<E>(&self, entry: &Entry<E>, backend: Backend) -> usize {
        self.places.partition_point(|place| entry.backend(*place) < backend)
    }

    fn counting_at<E>(&self, entry: &Entry<E>, at: usize, backend: Backend) -> Option<u32> {
        let place = self.places.get(at).filter(|place| entry.backend(**place) == backend);
        place.map(|place| place.slot)
    }
}

// === impl PortView ===

impl<'a, E> PortView<'a, E> {
    pub fn service_id(self) -> ServiceId {
        self.port.service
    }

    pub fn service(self) -> &'a Service {
        self.service
    }

    pub fn port(self) -> &'a ServicePort {
        &self.service.ports[self.port.nth as usize]
    }

    pub fn family(self) -> AddressType {
        self.port.family
    }

    /// What clients go by.
    pub fn routing(self) -> Routing<'a> {
        self.port.routing.routing()
    }

    /// Each address and target port once, in their order.
    pub fn endpoints(self) -> impl Iterator<Item = MergedEndpoint<'a, E>> + use<'a, E> {
        self.port.counting_places(self.entry).map(move |place| self.endpoint_in(place))
    }

    /// The endpoint of this address and target port.
    pub fn endpoint(self, backend: Backend) -> Option<MergedEndpoint<'a, E>> {
        let slot = self.port.counting(self.entry, backend)?;
        Some(self.endpoint_in(Place { slot, number: backend.port }))
    }

    fn endpoint_in(self, place: Place) -> MergedEndpoint<'a, E> {
        let stored = self.entry.stored(place.slot);
        MergedEndpoint {
            backend: Backend { ip: stored.ip, port: place.number },
            candidate: &stored.candidate,
            detail: &stored.detail,
        }
    }

    /// The number of ready endpoints in a zone; only known where zone shares apply.
    pub(super) fn ready_in(self, zone: ZoneId) -> u32 {
        match &self.port.shares {
            Some(shares) => shares.ready_in(zone),
            None => {
                let ready = |e: &MergedEndpoint<'_, E>| e.ready() && e.zone() == zone;
                u32::try_from(self.endpoints().filter(ready).count()).unwrap_or(u32::MAX)
            }
        }
    }
}

impl<E> Clone for PortView<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for PortView<'_, E> {}
