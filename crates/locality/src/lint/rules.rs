//! Findings about failover rules and their lists of zones.

use std::{collections::BTreeSet, sync::Arc};

use super::{Finding, ListOfZones};
use crate::{
    Compat,
    strategy::{Failover, Reach, Rule, ZoneSet},
};

/// Zones that are named twice in a list, or are not known.
pub(super) fn lists(rules: &[Failover], zones: &ZoneSet, findings: &mut Vec<Finding>) {
    let mut unknown = BTreeSet::new();
    for (rule, written) in (1..).zip(rules) {
        let from = written.from.as_ref().map_or(&[][..], |from| &from.zones);
        for (list, named) in [(ListOfZones::From, from), (ListOfZones::To, written.to.zones())] {
            let mut seen = BTreeSet::new();
            let mut twice = BTreeSet::new();
            twice.extend(named.iter().filter(|zone| !seen.insert(*zone)));
            for zone in twice {
                findings.push(Finding::ZoneTwice { rule, list, zone: Arc::clone(zone) });
            }
            let strangers = seen.into_iter().filter(|zone| !zones.contains(*zone));
            for zone in strangers.filter(|_| !zones.is_empty()) {
                if unknown.insert(Arc::clone(zone)) {
                    findings.push(Finding::UnknownZone { rule, list, zone: Arc::clone(zone) });
                }
            }
        }
    }
}

/// Rules that never accept a zone.
pub(super) fn unused(written: &[Failover], compat: Compat, findings: &mut Vec<Finding>) {
    let rules: Vec<Rule> = (1..).zip(written).filter_map(|(n, rule)| Rule::new(n, rule)).collect();
    for (index, rule) in rules.iter().enumerate() {
        let position = rule.position;
        let is_stop = rule.reach == Reach::Stop;
        if is_stop && compat == Compat::Kuma {
            findings.push(Finding::NoneDoesNothing { rule: position });
            continue;
        }
        let before = rules.get(..index).unwrap_or_default();
        let hides = |earlier: &&Rule| match earlier.reach {
            Reach::Stop => compat == Compat::Record && covers_clients(earlier, rule),
            // After an Any nothing is left for which None could end the list.
            _ => covers_clients(earlier, rule) && covers(&earlier.reach, &rule.reach),
        };
        if let Some(earlier) = before.iter().find(hides) {
            findings.push(match earlier.reach {
                Reach::Stop => Finding::RuleAfterNone { rule: position, none: earlier.position },
                _ => Finding::RuleNeverUsed { rule: position, because_of: earlier.position },
            });
        }
    }
}

fn covers_clients(earlier: &Rule, later: &Rule) -> bool {
    match (&earlier.from, &later.from) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(earlier), Some(later)) => later.is_subset(earlier),
    }
}

/// Whether every zone that `later` accepts is accepted by `earlier`.
fn covers(earlier: &Reach, later: &Reach) -> bool {
    match (earlier, later) {
        (Reach::Any, _) => true,
        (_, Reach::Stop) | (Reach::Stop, _) => false,
        (Reach::Only(earlier), Reach::Only(later)) => later.is_subset(earlier),
        (Reach::Only(_), Reach::Any | Reach::AnyExcept(_)) => false,
        (Reach::AnyExcept(except), Reach::Only(zones)) => except.is_disjoint(zones),
        (Reach::AnyExcept(_), Reach::Any) => false,
        (Reach::AnyExcept(earlier), Reach::AnyExcept(later)) => earlier.is_subset(later),
    }
}
