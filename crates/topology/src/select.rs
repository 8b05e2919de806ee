//! The consumer's half: which endpoints a client on one node uses.
//!
//! Source: KEP-4444 ("Changes within kube-proxy", the precedence table) and the docs page's fourth
//! and fifth safeguard. For traffic that may leave the node:
//!
//! 1. a ready endpoint hinted for this node: those hinted for it;
//! 2. else all ready endpoints have zone hints and one is hinted for this zone: those hinted for it;
//! 3. else all ready endpoints;
//! 4. and if none is ready, those that still serve while they terminate.
//!
//! Traffic under policy Local uses ready endpoints of this node, or failing those its
//! serving-terminating ones; hints don't count there. Kubernetes obeys rule 1 only when all ready
//! endpoints have node hints ([`NodeHintRule`]).
//!
//! Two passes over the candidates, no allocation but the result, no string compares.

use evenkeel_model::{Exposure, NodeId, Selectable, Selection, Share, Viewpoint, ZoneId};

use crate::{NodeHintRule, Settings};

/// The rule that chose the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    SameNode,
    SameZone,
    /// All ready endpoints, hints not obeyed.
    All(HintsIgnored),
    /// Policy Local: ready endpoints of this node.
    LocalReady,
    /// Nothing is ready, but some endpoints still serve while they terminate.
    ServingTerminating,
    /// There is nothing to use.
    Nothing,
}

/// Why hints are not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintsIgnored {
    /// Feature gates turn hints off for the consumer.
    GateOff,
    /// No ready endpoint has a hint.
    NoHints,
    /// Some ready endpoints lack a zone hint: a transition may be under way (safeguard 4).
    MissingOn { endpoints: u32 },
    /// The client's node has no zone label.
    ClientWithoutZone,
    /// No ready endpoint is hinted for the client's zone (safeguard 5).
    NoneForZone,
}

/// What a node uses for each kind of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// For traffic that may leave the node; `None` when all must stay.
    pub cluster: Option<Selection<Rule>>,
    /// For traffic that must stay on the node; `None` when all may leave.
    pub local: Option<Selection<Rule>>,
    /// There is a usable endpoint somewhere, though perhaps not for this node.
    pub any_in_cluster: bool,
}

/// Selects for a client at `from`. `hints_count` comes from [`crate::policy::hints_count`].
pub fn select(
    from: Viewpoint,
    exposure: Exposure,
    candidates: &[impl Selectable],
    hints_count: bool,
    settings: &Settings,
) -> Selected {
    let cluster =
        exposure.uses_cluster().then(|| select_cluster(from, candidates, hints_count, settings));
    let local = exposure.uses_local().then(|| select_local(from.node, candidates));
    let found = |s: &Option<Selection<Rule>>| s.as_ref().is_some_and(|s| !s.shares.is_empty());
    // Only when nothing was found for policy Local alone must the whole list be looked at.
    let any_in_cluster = found(&cluster)
        || found(&local)
        || (local.is_some() && candidates.iter().any(Selectable::is_usable));
    Selected { cluster, local, any_in_cluster }
}

/// The endpoints for traffic that may leave the node.
pub fn select_cluster(
    from: Viewpoint,
    candidates: &[impl Selectable],
    hints_count: bool,
    settings: &Settings,
) -> Selection<Rule> {
    let survey = survey(from, candidates);
    if survey.ready == 0 {
        return serving_terminating(candidates, |_| true);
    }
    let rule = if hints_count {
        rule_from_hints(&survey, from, settings)
    } else {
        Rule::All(HintsIgnored::GateOff)
    };
    let zone = zone_of(from);
    let shares = match (rule, from.node) {
        (Rule::SameNode, Some(node)) => {
            shares(candidates, survey.for_node, |c| c.ready() && c.is_for_node(node))
        }
        (Rule::SameZone, _) => {
            shares(candidates, survey.for_zone, |c| c.ready() && c.is_for_zone(zone))
        }
        _ => shares(candidates, survey.ready, Selectable::ready),
    };
    Selection { shares, rule }
}

/// The endpoints for traffic that must stay on the node.
fn select_local<S: Selectable>(node: Option<NodeId>, candidates: &[S]) -> Selection<Rule> {
    let is_local = |c: &S| node.is_some() && c.on_node() == node;
    let ready = |c: &S| c.ready() && is_local(c);
    match count(candidates, ready) {
        0 => serving_terminating(candidates, is_local),
        n => Selection { shares: shares(candidates, n, ready), rule: Rule::LocalReady },
    }
}

/// What hints the ready endpoints have, seen from one place.
#[derive(Default)]
struct Survey {
    ready: u32,
    with_zone_hint: u32,
    with_node_hint: u32,
    for_zone: u32,
    for_node: u32,
}

fn survey(from: Viewpoint, candidates: &[impl Selectable]) -> Survey {
    let zone = zone_of(from);
    let mut seen = Survey::default();
    for candidate in candidates {
        if !candidate.ready() {
            continue;
        }
        seen.ready += 1;
        if candidate.has_zone_hint() {
            seen.with_zone_hint += 1;
            seen.for_zone += u32::from(candidate.is_for_zone(zone));
        }
        if candidate.has_node_hint() {
            seen.with_node_hint += 1;
            seen.for_node += u32::from(from.node.is_some_and(|n| candidate.is_for_node(n)));
        }
    }
    seen
}

/// A node without zone is in the zone of the empty name: to kube-proxy, that is a zone like others.
fn zone_of(from: Viewpoint) -> ZoneId {
    from.zone.unwrap_or(ZoneId::EMPTY)
}

fn rule_from_hints(seen: &Survey, from: Viewpoint, settings: &Settings) -> Rule {
    let node_hints_hold = match settings.node_hint_rule {
        NodeHintRule::AnyForThisNode => true,
        NodeHintRule::AllHaveOne => seen.with_node_hint == seen.ready,
    };
    let node_hints_on = settings.gates.prefer_same_traffic_distribution;
    if node_hints_on && node_hints_hold && seen.for_node > 0 {
        return Rule::SameNode;
    }
    if seen.with_zone_hint == seen.ready && seen.for_zone > 0 {
        return Rule::SameZone;
    }
    Rule::All(if seen.with_zone_hint == 0 {
        HintsIgnored::NoHints
    } else if seen.with_zone_hint < seen.ready {
        HintsIgnored::MissingOn { endpoints: seen.ready - seen.with_zone_hint }
    } else if from.zone.is_none() {
        HintsIgnored::ClientWithoutZone
    } else {
        HintsIgnored::NoneForZone
    })
}

fn serving_terminating<S: Selectable>(
    candidates: &[S],
    fits: impl Fn(&S) -> bool,
) -> Selection<Rule> {
    let fits = |c: &S| c.serving_terminating() && fits(c);
    match count(candidates, fits) {
        0 => Selection { shares: Vec::new(), rule: Rule::Nothing },
        n => Selection { shares: shares(candidates, n, fits), rule: Rule::ServingTerminating },
    }
}

fn count<S>(candidates: &[S], fits: impl Fn(&S) -> bool) -> u32 {
    candidates.iter().map(|c| u32::from(fits(c))).sum()
}

/// The candidates that fit, each with weight one. `expected` is how many there are: the result is
/// allocated once.
fn shares<S: Selectable>(candidates: &[S], expected: u32, fits: impl Fn(&S) -> bool) -> Vec<Share> {
    let mut shares = Vec::with_capacity(expected as usize);
    for (endpoint, candidate) in (0u32..).zip(candidates) {
        if fits(candidate) {
            shares.push(Share { endpoint, weight: 1 });
        }
    }
    shares
}

// === impl Selected ===

impl Selected {
    /// Every endpoint that some traffic from here reaches, in order, each once.
    pub fn reachable(&self) -> Vec<u32> {
        let lists = [&self.cluster, &self.local];
        let mut all: Vec<u32> = lists
            .into_iter()
            .flatten()
            .flat_map(|s| s.shares.iter().map(|share| share.endpoint))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
