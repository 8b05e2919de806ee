//! A Service with its slices. Either may come first, and be gone before the other.

use core::cmp::Ordering;
use std::sync::Arc;

use evenkeel_model::{AddressType, EndpointPort, PortId, Service, ServiceKey, SharesAnnotation};

use super::{Backend, endpoint::Stored, merge::better, port::Place};
use crate::routing::Basis;

#[derive(Debug)]
pub(super) struct Entry<E> {
    pub key: ServiceKey,
    pub service: Option<Box<Service>>,
    pub basis: Basis,
    /// A slice keeps its index.
    pub slices: Vec<Option<SliceState>>,
    pub ports: Vec<PortId>,
    /// The list of Services in which it was last.
    pub listed: u32,
    stored: Vec<Stored<E>>,
    free: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct SliceState {
    pub name: Arc<str>,
    pub family: AddressType,
    pub ports: Arc<[EndpointPort]>,
    /// What the annotation has, if the slice is ours.
    pub carried: Option<Box<SharesAnnotation>>,
    /// Its endpoints, in its order.
    pub slots: Vec<u32>,
    /// The Service's ports that it has, with their target ports.
    pub targets: Vec<(PortId, u16)>,
    /// The list of slices in which it was last.
    pub listed: u32,
}

// === impl Entry ===

impl<E> Entry<E> {
    pub(super) fn new(key: ServiceKey) -> Self {
        Entry {
            key,
            service: None,
            basis: Basis::Hints,
            slices: Vec::new(),
            ports: Vec::new(),
            listed: 0,
            stored: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.service.is_none() && self.slices.iter().all(Option::is_none)
    }

    pub(super) fn slice(&self, index: u32) -> &SliceState {
        self.slices[index as usize].as_ref().expect("an index is kept as long as its slice")
    }

    pub(super) fn slice_mut(&mut self, index: u32) -> &mut SliceState {
        self.slices[index as usize].as_mut().expect("an index is kept as long as its slice")
    }

    pub(super) fn add_slice(&mut self, slice: SliceState) -> u32 {
        let free = self.slices.iter().position(Option::is_none);
        let index = free.unwrap_or(self.slices.len());
        match free {
            Some(index) => self.slices[index] = Some(slice),
            None => {
                self.slices.reserve_exact(1);
                self.slices.push(Some(slice));
            }
        }
        u32::try_from(index).expect("fewer than 2^32 slices")
    }

    pub(super) fn stored(&self, slot: u32) -> &Stored<E> {
        &self.stored[slot as usize]
    }

    pub(super) fn replace(&mut self, slot: u32, stored: Stored<E>) -> Stored<E> {
        std::mem::replace(&mut self.stored[slot as usize], stored)
    }

    pub(super) fn store(&mut self, stored: Stored<E>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.stored[slot as usize] = stored;
            return slot;
        }
        self.stored.push(stored);
        u32::try_from(self.stored.len() - 1).expect("fewer than 2^32 endpoints")
    }

    /// Most Services have all their endpoints in one slice: room for just these.
    pub(super) fn reserve(&mut self, endpoints: usize) {
        if self.stored.is_empty() {
            self.stored.reserve_exact(endpoints);
        }
    }

    /// Frees a slot that no list has any more.
    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
        if self.free.len() == self.stored.len() {
            (self.free, self.stored) = (Vec::new(), Vec::new());
        }
    }

    pub(super) fn backend(&self, place: Place) -> Backend {
        Backend { ip: self.stored(place.slot).ip, port: place.number }
    }

    /// Which of two endpoints of one address counts.
    pub(super) fn order(&self, a: u32, b: u32) -> Ordering {
        let (one, other) = (self.stored(a), self.stored(b));
        let name = |stored: &Stored<E>| &self.slice(stored.slice).name;
        let place = |stored: &Stored<E>, slot| {
            self.slice(stored.slice).slots.iter().position(|s| *s == slot)
        };
        better(&one.candidate, &other.candidate)
            .then_with(|| name(one).cmp(name(other)))
            .then_with(|| place(one, a).cmp(&place(other, b)))
    }
}
