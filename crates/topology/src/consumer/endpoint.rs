//! One endpoint of a slice, as small as it can be kept.

use core::net::IpAddr;
use std::sync::Arc;

pub use evenkeel_model::Backend;
use evenkeel_model::{
    Address, AddressType, Candidate, Endpoint, NodeId, Selectable, Target, ZoneId,
};

/// What a [`View`](super::View) keeps of each endpoint beside what selection needs: nothing (`()`), or
/// the object behind it.
pub trait Detail: Sized {
    fn of(endpoint: &Endpoint) -> Self;
    /// Equal to what `of` would make.
    fn is_of(&self, endpoint: &Endpoint) -> bool;
}

/// An endpoint of a Service port, merged from all its slices.
#[derive(Debug)]
pub struct MergedEndpoint<'a, E> {
    pub backend: Backend,
    pub candidate: &'a Candidate,
    pub detail: &'a E,
}

/// An endpoint of a slice.
#[derive(Debug)]
pub(super) struct Stored<E> {
    pub candidate: Candidate,
    pub ip: IpAddr,
    /// The slice that it is in.
    pub slice: u32,
    pub detail: E,
}

/// The address that counts: the first, if it is of the slice's family. The view has no use for names.
pub(super) fn ip_of(endpoint: &Endpoint, family: AddressType) -> Option<IpAddr> {
    match endpoint.address()? {
        Address::Ip(ip) => match (ip, family) {
            (IpAddr::V4(_), AddressType::IPv4) | (IpAddr::V6(_), AddressType::IPv6) => Some(*ip),
            _ => None,
        },
        Address::Name(_) => None,
    }
}

// === impl Stored ===

impl<E: Detail> Stored<E> {
    pub(super) fn new(ip: IpAddr, slice: u32, endpoint: &Endpoint) -> Self {
        Stored { candidate: endpoint.into(), ip, slice, detail: E::of(endpoint) }
    }

    /// Equal to what `endpoint` would become, apart from its address.
    #[inline]
    pub(super) fn is_like(&self, endpoint: &Endpoint) -> bool {
        self.candidate.is_like(endpoint) && self.detail.is_of(endpoint)
    }

    /// Equal to what `endpoint` would become.
    #[inline]
    pub(super) fn is_same(&self, endpoint: &Endpoint) -> bool {
        matches!(endpoint.address(), Some(Address::Ip(ip)) if *ip == self.ip)
            && self.is_like(endpoint)
    }
}

// === impl Detail ===

impl Detail for () {
    fn of(_: &Endpoint) {}

    fn is_of(&self, _: &Endpoint) -> bool {
        true
    }
}

impl Detail for Option<Arc<Target>> {
    fn of(endpoint: &Endpoint) -> Self {
        endpoint.target.clone()
    }

    fn is_of(&self, endpoint: &Endpoint) -> bool {
        *self == endpoint.target
    }
}

// === impl MergedEndpoint ===

impl<E> Clone for MergedEndpoint<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for MergedEndpoint<'_, E> {}

impl<E> Selectable for MergedEndpoint<'_, E> {
    fn ready(&self) -> bool {
        self.candidate.ready()
    }
    fn serving_terminating(&self) -> bool {
        self.candidate.serving_terminating()
    }
    fn on_node(&self) -> Option<NodeId> {
        self.candidate.on_node()
    }
    fn zone(&self) -> ZoneId {
        self.candidate.zone()
    }
    fn has_zone_hint(&self) -> bool {
        self.candidate.has_zone_hint()
    }
    fn has_node_hint(&self) -> bool {
        self.candidate.has_node_hint()
    }
    fn is_for_zone(&self, zone: ZoneId) -> bool {
        self.candidate.is_for_zone(zone)
    }
    fn is_for_node(&self, node: NodeId) -> bool {
        self.candidate.is_for_node(node)
    }
    fn zone_hints(&self) -> &[ZoneId] {
        self.candidate.zone_hints()
    }
    fn node_hints(&self) -> &[NodeId] {
        self.candidate.node_hints()
    }
}
