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
//! Zone shares (policy Balanced) come before all of that: the row of the client's zone says which part goes to the ready endpoints of which zone. A zone without any passes its part
//! to the others in proportion; if no named zone has one, all ready endpoints serve equally. Without
//! a row for the client's zone the rules above hold. Under RequireSameZone clients use the endpoints
//! of their zone, ready ones before serving-terminating ones, or none.
//!
//! Traffic under policy Local uses ready endpoints of this node, or failing those its
//! serving-terminating ones; hints don't count there. Kubernetes obeys rule 1 only when all ready
//! endpoints have node hints ([`NodeHintRule`]).
//!
//! Two passes over the candidates (and a search of the row for each under zone shares), no allocation
//! but the result (rows of more than 16 zones need a second one), no string compares. A consumer that
//! sees one endpoint change at a time has [`crate::consumer::Selector`], which needs no pass.

mod everywhere;

use evenkeel_model::{
    Exposure, HintsIgnored, NodeId, Routing, Rule, Selectable, Selection, Share, Viewpoint, ZoneId,
};

pub use self::everywhere::{Everywhere, everywhere};
use crate::{NodeHintRule, Settings};

/// What a node uses for each kind of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// For traffic that may leave the node; `None` when all must stay.
    pub cluster: Option<Selection>,
    /// For traffic that must stay on the node; `None` when all may leave.
    pub local: Option<Selection>,
    /// There is a usable endpoint somewhere, though perhaps not for this node.
    pub any_in_cluster: bool,
}

/// Selects for a client at `from`. `routing` comes from [`crate::routing`].
pub fn select(
    from: Viewpoint,
    exposure: Exposure,
    candidates: &[impl Selectable],
    routing: Routing<'_>,
    settings: &Settings,
) -> Selected {
    let cluster =
        exposure.uses_cluster().then(|| select_cluster(from, candidates, routing, settings));
    let local = exposure.uses_local().then(|| select_local(from.node, candidates));
    let found = |s: &Option<Selection>| s.as_ref().is_some_and(|s| !s.shares.is_empty());
    // Only when nothing was found for policy Local or RequireSameZone must the whole list be looked
    // at: any other rule finds what is usable.
    let any_in_cluster = found(&cluster)
        || found(&local)
        || ((cluster.is_none() || routing == Routing::SameZoneOnly)
            && candidates.iter().any(Selectable::is_usable));
    Selected { cluster, local, any_in_cluster }
}

/// The endpoints for traffic that may leave the node.
pub fn select_cluster(
    from: Viewpoint,
    candidates: &[impl Selectable],
    routing: Routing<'_>,
    settings: &Settings,
) -> Selection {
    if routing == Routing::SameZoneOnly {
        return select_required_zone(from.zone, candidates);
    }
    if let Routing::Shares(table) = routing
        && let Some(row) = table.row(zone_of(from))
        && let Some(selection) = by_shares(row, candidates)
    {
        return selection;
    }
    let survey = survey(from, candidates);
    if survey.ready == 0 {
        return serving_terminating(candidates, |_| true);
    }
    let rule = match routing {
        Routing::IgnoreHints => Rule::All(HintsIgnored::GateOff),
        _ => rule_from_hints(&survey, from, settings),
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

/// The endpoints of the client's zone, or none.
fn select_required_zone<S: Selectable>(zone: Option<ZoneId>, candidates: &[S]) -> Selection {
    let zone = required_zone(zone);
    let is_near = |c: &S| Some(c.zone()) == zone;
    let ready = |c: &S| c.ready() && is_near(c);
    let selection = match count(candidates, ready) {
        0 => serving_terminating(candidates, is_near),
        n => return Selection { shares: shares(candidates, n, ready), rule: Rule::RequiredZone },
    };
    match selection.rule {
        Rule::Nothing => Selection { rule: Rule::RequiredZoneEmpty, ..selection },
        _ => selection,
    }
}

/// The zone that RequireSameZone keeps a client in. Without one, it has no endpoint.
pub(crate) fn required_zone(zone: Option<ZoneId>) -> Option<ZoneId> {
    zone.filter(|zone| *zone != ZoneId::EMPTY)
}

/// The ready endpoints by the parts of one row. `None`: no endpoint is ready.
fn by_shares<S: Selectable>(row: &[(ZoneId, u16)], candidates: &[S]) -> Option<Selection> {
    let part_of = |c: &S| row.binary_search_by_key(&c.zone(), |(zone, _)| *zone).ok();
    let (mut few, mut many) = ([0; 16], Vec::new());
    let in_zone: &mut [u32] = match few.get_mut(..row.len()) {
        Some(enough) => enough,
        None => {
            many.resize(row.len(), 0);
            &mut many
        }
    };
    let (mut total, mut named) = (0, 0);
    for candidate in candidates.iter().filter(|c| c.ready()) {
        total += 1;
        if let Some(index) = part_of(candidate) {
            in_zone[index] += 1;
            named += 1;
        }
    }
    if total == 0 {
        return None;
    }
    if named == 0 {
        let rule = Rule::All(HintsIgnored::NoneInShares);
        return Some(Selection { shares: shares(candidates, total, Selectable::ready), rule });
    }
    weigh(row, in_zone);
    let mut shares = Vec::with_capacity(named as usize);
    for (endpoint, candidate) in (0u32..).zip(candidates) {
        if candidate.ready()
            && let Some(index) = part_of(candidate)
        {
            shares.push(Share { endpoint, weight: in_zone[index] });
        }
    }
    Some(Selection { shares, rule: Rule::ZoneShares })
}

/// Turns the number of ready endpoints in each zone of a row into the weight that each of them has:
/// the zone's part, divided by that number. A zone without any gets 0, which leaves its part to the
/// others in proportion.
///
/// The weights are the smallest whole numbers with exactly these proportions. Where those exceed 32
/// bits, as with several zones of thousands of endpoints, they are rounded: with up to 5,000
/// endpoints in a zone by less than 1/800 each.
pub(crate) fn weigh(row: &[(ZoneId, u16)], counts: &mut [u32]) {
    let exact = exact_scale(row, counts);
    let scale = exact.unwrap_or(u64::from(u32::MAX / 1000));
    let mut divisor = 0;
    for ((_, part), count) in row.iter().zip(counts.iter_mut()).filter(|(_, n)| **n > 0) {
        let weight = (u64::from(*part) * scale / u64::from(*count)).max(1);
        *count = u32::try_from(weight).expect("the scale keeps to 32 bits");
        divisor = gcd(divisor, weight);
    }
    let divisor = u32::try_from(divisor).expect("it divides a weight");
    counts.iter_mut().filter(|weight| **weight > 0).for_each(|weight| *weight /= divisor);
}

/// A multiple of all counts by which every part can be divided without remainder, if the weights
/// then fit into 32 bits.
fn exact_scale(row: &[(ZoneId, u16)], counts: &[u32]) -> Option<u64> {
    let mut scale = 1u64;
    for &count in counts.iter().filter(|n| **n > 0) {
        let count = u64::from(count);
        scale = scale.checked_mul(count / gcd(scale, count))?;
        if scale > u64::from(u32::MAX) {
            return None;
        }
    }
    let most = row.iter().zip(counts).filter(|(_, n)| **n > 0);
    let most = most.map(|((_, part), n)| u64::from(*part) * (scale / u64::from(*n))).max()?;
    (most <= u64::from(u32::MAX)).then_some(scale)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The endpoints for traffic that must stay on the node.
pub fn select_local<S: Selectable>(node: Option<NodeId>, candidates: &[S]) -> Selection {
    let is_local = |c: &S| node.is_some() && c.on_node() == node;
    let ready = |c: &S| c.ready() && is_local(c);
    match count(candidates, ready) {
        0 => serving_terminating(candidates, is_local),
        n => Selection { shares: shares(candidates, n, ready), rule: Rule::LocalReady },
    }
}

/// What hints the ready endpoints have, seen from one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    pub ready: u32,
    pub with_zone_hint: u32,
    pub with_node_hint: u32,
    pub for_zone: u32,
    pub for_node: u32,
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
pub(crate) fn zone_of(from: Viewpoint) -> ZoneId {
    from.zone.unwrap_or(ZoneId::EMPTY)
}

pub(crate) fn rule_from_hints(seen: &Survey, from: Viewpoint, settings: &Settings) -> Rule {
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

fn serving_terminating<S: Selectable>(candidates: &[S], fits: impl Fn(&S) -> bool) -> Selection {
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
