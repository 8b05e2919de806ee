//! What becomes of a zone as a whole.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::Place;
use crate::{
    Strategy,
    strategy::{Ranking, Reach, Rule},
};

/// What becomes of the endpoints of one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The client's own zone, grouped by affinity if there is a policy.
    Own,
    /// No policy: another zone.
    OtherZone,
    /// All zones are alike.
    Alike,
    /// Accepted by the rule at this position.
    Accepted(u32),
    LeftOut(LeftOut),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The policy has no rules.
    NoRules,
    /// No rule is for the client's zone.
    NoRuleForClient,
    /// The rules for the client's zone name other zones.
    NoRuleAccepts,
    /// The last rule that decided about it is AnyExcept, and names it.
    Excluded(u32),
    /// A None came first.
    Stopped(u32),
}

/// Decides about zones for one place, each once.
pub(super) struct Zones<'a> {
    place: &'a Place,
    strategy: &'a Strategy,
    /// The rules for the place's zone, without those after a Stop.
    rules: Vec<&'a Rule>,
    known: HashMap<&'a str, Verdict, FxBuildHasher>,
}

impl<'a> Zones<'a> {
    pub(super) fn new(place: &'a Place, strategy: &'a Strategy) -> Self {
        let mut rules: Vec<&Rule> = Vec::new();
        if let Strategy::Ranked(ranking) = strategy {
            rules.extend(ranking.rules.iter().filter(|rule| rule.is_for(place.zone_name())));
            if let Some(stop) = rules.iter().position(|rule| rule.reach == Reach::Stop) {
                rules.truncate(stop + 1);
            }
        }
        Zones { place, strategy, rules, known: HashMap::default() }
    }

    pub(super) fn verdict(&mut self, zone: Option<&'a str>) -> Verdict {
        let name = zone.unwrap_or_default();
        if let Some(verdict) = self.known.get(name) {
            return *verdict;
        }
        let verdict = self.decide(name);
        self.known.insert(name, verdict);
        verdict
    }

    fn decide(&self, zone: &str) -> Verdict {
        match self.strategy {
            Strategy::AllAlike | Strategy::Topology { .. } => Verdict::Alike,
            _ if zone == self.place.zone_name() => Verdict::Own,
            // Nothing says that an endpoint without a zone is far.
            Strategy::OwnZoneFirst if zone.is_empty() => Verdict::Own,
            Strategy::OwnZoneFirst => Verdict::OtherZone,
            Strategy::Ranked(ranking) => match self.rules.iter().find(|r| r.reach.accepts(zone)) {
                Some(rule) => Verdict::Accepted(rule.position),
                None => Verdict::LeftOut(self.why_left_out(ranking)),
            },
        }
    }

    fn why_left_out(&self, ranking: &Ranking) -> LeftOut {
        match self.rules.last() {
            None if ranking.rules.is_empty() => LeftOut::NoRules,
            None => LeftOut::NoRuleForClient,
            Some(last) => match last.reach {
                Reach::Stop => LeftOut::Stopped(last.position),
                // No rule accepted the zone, so it is among those that are excepted.
                Reach::AnyExcept(_) => LeftOut::Excluded(last.position),
                Reach::Any | Reach::Only(_) => LeftOut::NoRuleAccepts,
            },
        }
    }
}
