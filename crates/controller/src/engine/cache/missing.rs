//! Nodes that are gone, and until when they count as there all the same.
//!
//! A Node that is deleted and comes back within seconds would otherwise take its ready endpoints out
//! of all slices. The clock is known when the engine is asked what to do, so that the time of a Node
//! counts from there. O(log missing) for each step.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    time::Duration,
};

use evenkeel_model::NodeId;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Missing {
    /// `None` until its time is known.
    nodes: FxHashMap<NodeId, Option<Duration>>,
    new: Vec<NodeId>,
    due: BTreeSet<(Duration, NodeId)>,
}

impl Missing {
    pub(super) fn add(&mut self, id: NodeId) {
        if let Entry::Vacant(entry) = self.nodes.entry(id) {
            entry.insert(None);
            self.new.push(id);
        }
    }

    /// The Node is there again.
    pub(super) fn remove(&mut self, id: NodeId) {
        if let Some(Some(until)) = self.nodes.remove(&id) {
            self.due.remove(&(until, id));
        }
    }

    /// Those whose time is over.
    pub(super) fn expire(&mut self, now: Duration, grace: Duration) -> Vec<NodeId> {
        for id in self.new.drain(..) {
            // It may have come back meanwhile, and have gone again.
            if let Some(until @ None) = self.nodes.get_mut(&id) {
                *until = Some(now + grace);
                self.due.insert((now + grace, id));
            }
        }
        let mut expired = Vec::new();
        while let Some(&(until, id)) = self.due.first().filter(|(until, _)| *until <= now) {
            self.due.remove(&(until, id));
            self.nodes.remove(&id);
            expired.push(id);
        }
        expired
    }

    /// When [`Missing::expire`] is to be called.
    pub(super) fn next_due(&self) -> Option<Duration> {
        if !self.new.is_empty() {
            return Some(Duration::ZERO);
        }
        self.due.first().map(|(until, _)| *until)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Id;

    use super::*;

    #[test]
    fn a_node_counts_as_there_until_its_time_is_over_or_it_is_back() {
        let [a, b, c] = [1, 2, 3].map(NodeId::from_index);
        let second = Duration::from_secs(1);
        let grace = 10 * second;
        let mut missing = Missing::default();
        for id in [a, b, c, a] {
            missing.add(id);
        }
        assert_eq!(missing.next_due(), Some(Duration::ZERO));
        missing.remove(b);
        assert_eq!(missing.expire(second, grace), []);
        missing.remove(c);
        missing.add(a);
        assert_eq!(missing.next_due(), Some(11 * second), "the first deletion counts");
        assert_eq!(missing.expire(11 * second, grace), [a]);
        assert_eq!((missing.next_due(), missing.nodes.len()), (None, 0));
        missing.add(a);
        assert_eq!(missing.expire(second, Duration::ZERO), [a], "without grace at once");
    }
}
