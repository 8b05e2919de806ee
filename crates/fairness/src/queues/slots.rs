//! The requests of one level: a slab of slots, threaded into lists. A slot is used again and again,
//! so that a request that does not wait allocates nothing.

use std::ops::{Deref, DerefMut, Index, IndexMut};

use super::{stats::SchemaStats, work::Work};
use crate::{Time, seats::Width, stripes::STRIPES};

/// Identifies a request of one level from its arrival until it has left.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ticket {
    pub(super) slot: u32,
    generation: u32,
}

/// No slot, no queue.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Free,
    /// In its queue.
    Waiting,
    /// Timed out; its owner has not noticed yet.
    TimedOut,
    /// Has its seats.
    Executing,
    /// Has its seats, and its response has begun: it is in the list of holds.
    Responding,
    /// Still running, but its seats were taken away.
    Detached,
    /// Has ended, but its seats are busy for a while.
    Lingering,
}

/// A slot of the slab; it derefs to the request. Two of them have no cache line in common.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot<W> {
    pub(super) state: State,
    generation: u32,
    /// Neighbours in the queue, in the list of holds, or in the list of free slots; and in the list
    /// of those that have not run for long.
    links: [Link; 2],
    request: Request,
    pub(super) waker: Option<W>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// Whether a request that runs counts for how slow its flow is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tracked {
    No,
    /// Its flow is not known to be slow: it counts once it has run for long.
    Young,
    Counted,
}

/// A request, as its level knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// [`NONE`] if it went through no queue, or its queue was removed.
    pub(super) queue: u32,
    pub(super) schema: u32,
    pub(super) flow: u64,
    pub(super) watch: bool,
    /// Whether it is in the list of slow flows.
    pub(super) slow: bool,
    pub(super) tracked: Tracked,
    pub(super) width: Width,
    pub(super) work: Work,
    /// Its estimated service time in nanoseconds; corrected when it is known.
    pub(super) charge: u64,
    /// The number of its arrival in the level; once it runs, that of its dispatch.
    pub(super) number: u64,
    pub(super) arrived: Time,
    pub(super) arrival_r: Work,
    /// When it was dispatched, if it was.
    pub(super) dispatched: Time,
    /// Until when it waits; then until when it holds seats.
    pub(super) until: Time,
}

impl Request {
    /// What it would be charged by the guess.
    pub(super) fn guessed_work(&self, guess: u64) -> Work {
        if self.charge == guess {
            return self.work;
        }
        let mut work = self.work;
        work -= Work::of(self.width.initial_seats.into(), self.charge as f64);
        work.plus(Work::of(self.width.initial_seats.into(), guess as f64))
    }
}

#[derive(Debug)]
pub(super) struct Slots<W> {
    slots: Vec<Slot<W>>,
    /// By stripe the slots that are free, those used last first: they are in the cache of its core.
    free: [u32; STRIPES],
    /// The stripe that slots are taken from and returned to.
    stripe: u32,
}

/// A list of slots in order: append, take from anywhere, both in constant time.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: u32,
    tail: u32,
    pub(super) len: u32,
    via: u32,
}

// === impl Slots ===

impl<W> Slots<W> {
    pub(super) fn with_capacity(n: usize) -> Self {
        Slots { slots: Vec::with_capacity(n), free: [NONE; STRIPES], stripe: 0 }
    }

    pub(super) fn use_stripe(&mut self, stripe: usize) {
        self.stripe = (stripe % STRIPES) as u32;
    }

    pub(super) fn insert(&mut self, request: Request) -> Ticket {
        let (state, links) = (State::Waiting, [Link { prev: NONE, next: NONE }; 2]);
        let slot = Slot { state, generation: 0, links, request, waker: None };
        let list = self.free_list();
        match self.slots.get_mut(self.free[list] as usize) {
            Some(free) => {
                let ticket = Ticket { slot: self.free[list], generation: free.generation };
                self.free[list] = free.links[0].next;
                *free = Slot { generation: ticket.generation, ..slot };
                ticket
            }
            None => {
                let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 at once");
                self.slots.push(slot);
                Ticket { slot: index, generation: 0 }
            }
        }
    }

    /// The slot is free for the next; its ticket is no longer valid.
    pub(super) fn remove(&mut self, index: u32) -> Option<W> {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Free;
        slot.generation = slot.generation.wrapping_add(1);
        slot.links[0].next = std::mem::replace(&mut self.free[self.stripe as usize], index);
        slot.waker.take()
    }

    /// The list of this stripe if it has a free slot, otherwise any that has.
    fn free_list(&self) -> usize {
        let own = self.stripe as usize;
        if self.free[own] != NONE {
            return own;
        }
        self.free.iter().position(|first| *first != NONE).unwrap_or(own)
    }

    /// None: the ticket's request has left.
    pub(super) fn find(&self, ticket: Ticket) -> Option<u32> {
        let slot = self.slots.get(ticket.slot as usize)?;
        let live = slot.generation == ticket.generation && slot.state != State::Free;
        live.then_some(ticket.slot)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Ticket, &Slot<W>)> {
        let ticket = |index, slot: &Slot<W>| Ticket { slot: index, generation: slot.generation };
        let all = (0..).zip(&self.slots).filter(|(_, slot)| slot.state != State::Free);
        all.map(move |(index, slot)| (ticket(index, slot), slot))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot<W>> {
        self.slots.iter_mut().filter(|slot| slot.state != State::Free)
    }
}

impl<W> Slot<W> {
    /// Adds it to those of its schema that wait or run.
    pub(super) fn count(&self, stats: &mut SchemaStats) {
        let seats = u64::from(self.width.max_seats());
        match self.state {
            State::Waiting => {
                stats.waiting += 1;
                stats.seats_waiting += seats;
            }
            State::Executing | State::Responding => {
                stats.executing += 1;
                stats.seats_executing += seats;
            }
            State::Lingering => stats.seats_executing += seats,
            State::Detached => stats.detached += 1,
            State::TimedOut | State::Free => {}
        }
    }
}

impl<W> Deref for Slot<W> {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl<W> DerefMut for Slot<W> {
    fn deref_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

impl<W> Index<u32> for Slots<W> {
    type Output = Slot<W>;

    fn index(&self, index: u32) -> &Slot<W> {
        &self.slots[index as usize]
    }
}

impl<W> IndexMut<u32> for Slots<W> {
    fn index_mut(&mut self, index: u32) -> &mut Slot<W> {
        &mut self.slots[index as usize]
    }
}

// === impl List ===

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE, len: 0, via: 0 }
    }
}

impl List {
    /// A list that a slot can be in besides another.
    pub(super) fn beside() -> Self {
        List { via: 1, ..List::default() }
    }

    pub(super) fn append<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        slots[index].links[self.via as usize] = Link { prev: self.tail, next: NONE };
        match self.tail {
            NONE => self.head = index,
            tail => slots[tail].links[self.via as usize].next = index,
        }
        self.tail = index;
        self.len += 1;
    }

    /// The slot must be in this list.
    pub(super) fn take<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        let Link { prev, next } = slots[index].links[self.via as usize];
        match prev {
            NONE => self.head = next,
            prev => slots[prev].links[self.via as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => slots[next].links[self.via as usize].prev = prev,
        }
        self.len -= 1;
    }
}
