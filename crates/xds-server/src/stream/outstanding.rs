//! Changes that a stream was told of and has not acknowledged, for the measurement of propagation.

use std::collections::VecDeque;

use evenkeel_xds::ResourceType;

use crate::propagation::KEPT;

/// In the order of their numbers; the oldest go first if there are more than are followed.
#[derive(Debug, Default)]
pub(super) struct Outstanding(VecDeque<One>);

#[derive(Debug)]
struct One {
    change: u64,
    kinds: Kinds,
    is_sent: bool,
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

// === impl Kinds ===

impl Kinds {
    pub(super) const ALL: Self = Self(0b1111);

    pub(super) fn insert(&mut self, kind: ResourceType) {
        self.0 |= 1 << kind as u8;
    }

    pub(super) fn remove(&mut self, kind: ResourceType) {
        self.0 &= !(1 << kind as u8);
    }

    pub(super) fn contains(self, kind: ResourceType) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

// === impl Outstanding ===

impl Outstanding {
    pub(super) fn add(&mut self, change: u64, kinds: Kinds) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(One { change, kinds, is_sent: false });
    }

    /// A response of this type is sent. Returns the changes that it is the first one for.
    pub(super) fn sent(&mut self, kind: ResourceType) -> Vec<u64> {
        let mut first = Vec::new();
        for one in self.0.iter_mut().filter(|one| !one.is_sent && one.kinds.contains(kind)) {
            one.is_sent = true;
            first.push(one.change);
        }
        first
    }

    /// The client has what this type was to be up to this change. Returns the changes that are done.
    pub(super) fn settled(&mut self, kind: ResourceType, newest: u64) -> Vec<u64> {
        let before = |one: &&mut One| one.change <= newest;
        self.0.iter_mut().filter(before).for_each(|one| one.kinds.remove(kind));
        self.take(|one| one.kinds.is_empty())
    }

    /// The client rejected a response of this type. Returns the changes that it may have been about.
    pub(super) fn rejected(&mut self, kind: ResourceType) -> Vec<u64> {
        self.take(|one| one.is_sent && one.kinds.contains(kind))
    }

    pub(super) fn all(&mut self) -> Vec<u64> {
        self.take(|_| true)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.0.front().map(|one| one.change)
    }

    fn take(&mut self, is_done: impl Fn(&One) -> bool) -> Vec<u64> {
        let done = self.0.iter().filter(|one| is_done(one)).map(|one| one.change).collect();
        self.0.retain(|one| !is_done(one));
        done
    }
}
