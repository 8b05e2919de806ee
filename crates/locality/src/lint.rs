//! What is valid in a policy and yet hardly meant.
//!
//! A rule is compared with each rule before it: O(r² · z) set lookups for r ≤ 128 rules with at most
//! z zones each, and O(r · k) for k known zones. Coverage by several rules together is not seen.

mod finding;
mod plans;
mod resources;
mod rules;

use std::{collections::BTreeSet, sync::Arc};

pub use self::{
    finding::{Finding, ListOfZones, Severity},
    plans::{FoundInPlans, lint_plans},
    resources::{FoundIn, Strategies, lint_resources},
};
use crate::{
    Compat, Strategy,
    strategy::{
        Affinity, IntOrText, LocalityAwareness, Ranking, Reach, Rule, ZoneSet,
        overprovisioning_factor,
    },
};

/// The most zones that are found to be unable to fail over by name.
const MOST_ZONES_NAMED: usize = 20;
/// A group with less than one part in so many of the traffic gets about none.
const PARTS_OF_ALMOST_NOTHING: u64 = 1000;

/// Checks a valid policy. `zones` are all zones known; if there are none, what depends on them is
/// not looked at. A policy that is not valid has no findings.
pub fn lint(awareness: &LocalityAwareness, zones: &ZoneSet, compat: Compat) -> Vec<Finding> {
    let mut findings = Vec::new();
    if awareness.disabled == Some(true) && !awareness.failover().is_empty() {
        findings.push(Finding::DisabledWithRules { rules_count: compat == Compat::Kuma });
    }
    let Ok(Strategy::Ranked(ranking)) = Strategy::new(Some(awareness), compat) else {
        return findings;
    };
    threshold(awareness, compat, &mut findings);
    affinity(awareness, &ranking.affinity, &mut findings);
    rules::lists(awareness.failover(), zones, &mut findings);
    rules::unused(awareness.failover(), compat, &mut findings);
    never_fails_over(&ranking, zones, &mut findings);
    findings
}

fn threshold(awareness: &LocalityAwareness, compat: Compat, findings: &mut Vec<Finding>) {
    let Some(percentage) = awareness.percentage() else { return };
    if awareness.failover().is_empty() {
        findings.push(Finding::ThresholdWithoutRules { percentage: text(percentage) });
    }
    let factor = |compat| overprovisioning_factor(Some(percentage), compat).ok();
    let (Some(meant), Some(used)) = (factor(Compat::Record), factor(compat)) else { return };
    if used < meant {
        findings.push(Finding::ThresholdTruncated {
            percentage: text(percentage),
            factor: used.get(),
            meant: meant.get(),
        });
    }
}

fn text(percentage: &IntOrText) -> Arc<str> {
    percentage.to_string().into()
}

fn affinity(awareness: &LocalityAwareness, tags: &[Affinity], findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for tag in awareness.affinity_tags().iter().filter(|tag| !seen.insert(&tag.key)) {
        findings.push(Finding::TagTwice { key: tag.key.clone() });
    }
    // The rest of the zone has weight 1.
    let total: u64 = 1 + tags.iter().map(|tag| u64::from(tag.weight.get())).sum::<u64>();
    let rest = (None, 1);
    let groups = tags.iter().map(|tag| (Some(&tag.key), u64::from(tag.weight.get())));
    for (key, weight) in groups.chain(if tags.is_empty() { None } else { Some(rest) }) {
        if weight * PARTS_OF_ALMOST_NOTHING < total {
            findings.push(Finding::AlmostNoTraffic { key: key.cloned(), weight, total });
        }
    }
}

fn never_fails_over(ranking: &Ranking, zones: &ZoneSet, findings: &mut Vec<Finding>) {
    let ends_all = |rule: &&Rule| rule.reach == Reach::Stop && rule.from.is_none();
    let mut used = ranking.rules.iter().take_while(|rule| !ends_all(rule));
    if used.all(|rule| rule.reach == Reach::Stop) {
        return findings.push(Finding::NeverFailsOver);
    }
    if zones.len() < 2 {
        return;
    }
    // Of the zones that a rule accepts two are enough: one of them is not the client's own.
    let accepted = |rule: &Rule| -> Vec<Arc<str>> {
        zones.iter().filter(|zone| rule.reach.accepts(zone)).take(2).cloned().collect()
    };
    let rules: Vec<_> = ranking.rules.iter().map(|rule| (rule, accepted(rule))).collect();
    let fails_over = |zone: &Arc<str>| {
        let rules = rules.iter().filter(|(rule, _)| rule.is_for(zone));
        let mut rules = rules.take_while(|(rule, _)| rule.reach != Reach::Stop);
        rules.any(|(_, accepted)| accepted.iter().any(|to| to != zone))
    };
    let stuck: Vec<Arc<str>> = zones.iter().filter(|zone| !fails_over(zone)).cloned().collect();
    if !stuck.is_empty() {
        let n = stuck.len();
        let zones = stuck.into_iter().take(MOST_ZONES_NAMED).collect();
        findings.push(Finding::ZonesNeverFailOver { zones, n });
    }
}
