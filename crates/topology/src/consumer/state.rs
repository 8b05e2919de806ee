//! The rule in force for one kind of traffic, and which endpoints it picks. Both follow from counts.

use evenkeel_model::{Candidate, HintsIgnored, Routing, Rule, Selectable, Viewpoint, ZoneId};

use super::{PortView, ZoneWeight, tally::Tally};
use crate::{
    Settings,
    select::{required_zone, rule_from_hints, weigh, zone_of},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub rule: Rule,
    pub fits: Fits,
    /// The zones of the client's row with their weights; empty if all endpoints have weight 1.
    pub weights: Vec<ZoneWeight>,
}

/// Which endpoints are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fits {
    None,
    Ready,
    ReadyForNode,
    ReadyForZone,
    ReadyInZone,
    /// Those in a zone of the client's row.
    ReadyByShares,
    ReadyLocal,
    Terminating,
    TerminatingInZone,
    TerminatingLocal,
}

// === impl State ===

impl State {
    pub(super) fn new() -> Self {
        State { rule: Rule::Nothing, fits: Fits::None, weights: Vec::new() }
    }

    /// For traffic that may leave the node.
    pub(super) fn set_cluster<E>(
        &mut self,
        tally: &Tally,
        port: PortView<'_, E>,
        from: Viewpoint,
        settings: &Settings,
    ) {
        self.weights.clear();
        let routing = port.routing();
        (self.rule, self.fits) = match routing {
            Routing::SameZoneOnly => required(tally),
            _ if tally.hints.ready == 0 => terminating(tally.terminating, Fits::Terminating),
            Routing::Shares(table) if let Some(row) = table.row(zone_of(from)) => {
                self.by_shares(row, port)
            }
            Routing::IgnoreHints => (Rule::All(HintsIgnored::GateOff), Fits::Ready),
            _ => by_hints(rule_from_hints(&tally.hints, from, settings)),
        };
    }

    /// For traffic that must stay on the node.
    pub(super) fn set_local(&mut self, tally: &Tally) {
        self.weights.clear();
        (self.rule, self.fits) = match tally.local_ready {
            0 => terminating(tally.local_terminating, Fits::TerminatingLocal),
            _ => (Rule::LocalReady, Fits::ReadyLocal),
        };
    }

    fn by_shares<E>(&mut self, row: &[(ZoneId, u16)], port: PortView<'_, E>) -> (Rule, Fits) {
        let zone = |&(zone, part): &(ZoneId, u16)| {
            let ready = port.ready_in(zone);
            ZoneWeight { zone, part, ready, weight: 0 }
        };
        self.weights.extend(row.iter().map(zone));
        if self.weights.iter().all(|zone| zone.ready == 0) {
            self.weights.clear();
            return (Rule::All(HintsIgnored::NoneInShares), Fits::Ready);
        }
        weigh_zones(row, &mut self.weights);
        (Rule::ZoneShares, Fits::ReadyByShares)
    }

    pub(super) fn picks(&self, candidate: &Candidate, from: Viewpoint) -> bool {
        let (ready, terminating) = (candidate.ready(), candidate.serving_terminating());
        let in_zone = || required_zone(from.zone) == Some(candidate.zone());
        let is_local = || from.node.is_some() && candidate.on_node() == from.node;
        match self.fits {
            Fits::None => false,
            Fits::Ready => ready,
            Fits::ReadyForNode => ready && from.node.is_some_and(|n| candidate.is_for_node(n)),
            Fits::ReadyForZone => ready && candidate.is_for_zone(zone_of(from)),
            Fits::ReadyInZone => ready && in_zone(),
            Fits::ReadyByShares => ready && self.zone(candidate.zone()).is_some(),
            Fits::ReadyLocal => ready && is_local(),
            Fits::Terminating => terminating,
            Fits::TerminatingInZone => terminating && in_zone(),
            Fits::TerminatingLocal => terminating && is_local(),
        }
    }

    pub(super) fn weight(&self, zone: ZoneId) -> u32 {
        self.zone(zone).map_or(1, |zone| zone.weight)
    }

    fn zone(&self, zone: ZoneId) -> Option<&ZoneWeight> {
        let found = self.weights.binary_search_by_key(&zone, |weight| weight.zone);
        found.ok().map(|at| &self.weights[at])
    }

    /// Picks the same of all endpoints as the other would.
    pub(super) fn picks_as(&self, other: &State) -> bool {
        let zones = |state: &State| state.weights.len();
        let zone = |(a, b): (&ZoneWeight, &ZoneWeight)| a.zone == b.zone;
        self.fits == other.fits
            && zones(self) == zones(other)
            && self.weights.iter().zip(&other.weights).all(zone)
    }
}

fn required(tally: &Tally) -> (Rule, Fits) {
    match (tally.zone_ready, tally.zone_terminating) {
        (0, 0) => (Rule::RequiredZoneEmpty, Fits::None),
        (0, _) => (Rule::ServingTerminating, Fits::TerminatingInZone),
        _ => (Rule::RequiredZone, Fits::ReadyInZone),
    }
}

fn terminating(n: u32, fits: Fits) -> (Rule, Fits) {
    match n {
        0 => (Rule::Nothing, Fits::None),
        _ => (Rule::ServingTerminating, fits),
    }
}

fn by_hints(rule: Rule) -> (Rule, Fits) {
    let fits = match rule {
        Rule::SameNode => Fits::ReadyForNode,
        Rule::SameZone => Fits::ReadyForZone,
        _ => Fits::Ready,
    };
    (rule, fits)
}

/// Sets the weights of a row's zones by their parts and ready endpoints.
fn weigh_zones(row: &[(ZoneId, u16)], zones: &mut [ZoneWeight]) {
    let (mut few, mut many) = ([0; 16], Vec::new());
    let counts: &mut [u32] = match few.get_mut(..row.len()) {
        Some(enough) => enough,
        None => {
            many.resize(row.len(), 0);
            &mut many
        }
    };
    for (count, zone) in counts.iter_mut().zip(&*zones) {
        *count = zone.ready;
    }
    weigh(row, counts);
    for (count, zone) in counts.iter().zip(zones) {
        zone.weight = *count;
    }
}
