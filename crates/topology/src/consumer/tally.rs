//! Counts of a port's endpoints as seen from one place: all that the rules of selection ask for.

use evenkeel_model::{Candidate, Selectable, Viewpoint};

use crate::select::{Survey, required_zone, zone_of};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub hints: Survey,
    /// Serving while they terminate.
    pub terminating: u32,
    pub usable: u32,
    /// Of the client's zone.
    pub zone_ready: u32,
    pub zone_terminating: u32,
    /// On the client's node.
    pub local_ready: u32,
    pub local_terminating: u32,
}

impl Tally {
    pub(super) fn add(&mut self, candidate: &Candidate, from: Viewpoint) {
        self.count(candidate, from, 1);
    }

    pub(super) fn remove(&mut self, candidate: &Candidate, from: Viewpoint) {
        self.count(candidate, from, u32::MAX);
    }

    /// `step`: one, or minus one.
    fn count(&mut self, candidate: &Candidate, from: Viewpoint, step: u32) {
        let count = |count: &mut u32, counts: bool| {
            if counts {
                *count = count.wrapping_add(step);
            }
        };
        let (ready, terminating) = (candidate.ready(), candidate.serving_terminating());
        let in_zone = required_zone(from.zone) == Some(candidate.zone());
        let is_local = from.node.is_some() && candidate.on_node() == from.node;
        count(&mut self.usable, candidate.is_usable());
        count(&mut self.terminating, terminating);
        count(&mut self.zone_terminating, terminating && in_zone);
        count(&mut self.local_terminating, terminating && is_local);
        if !ready {
            return;
        }
        let for_node = from.node.is_some_and(|node| candidate.is_for_node(node));
        count(&mut self.hints.ready, true);
        count(&mut self.hints.with_zone_hint, candidate.has_zone_hint());
        count(&mut self.hints.for_zone, candidate.is_for_zone(zone_of(from)));
        count(&mut self.hints.with_node_hint, candidate.has_node_hint());
        count(&mut self.hints.for_node, for_node);
        count(&mut self.zone_ready, in_zone);
        count(&mut self.local_ready, is_local);
    }
}
