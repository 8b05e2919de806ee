//! The selections of all clients of a Service port at once: what each zone and each node uses.
//!
//! The rules are those of [`select`](super::select()), which answers for one client. Here endpoints are
//! put into a bucket for each node and zone that their hints name, so that one pass serves
//! all clients. With n endpoints, h hints and a table of r rows: O((n + h) · log(n + h) + r · n).

use std::collections::BTreeMap;

use evenkeel_model::{
    HintsIgnored, NodeId, Path, Routing, Rule, Selectable, Selection, Share, Viewpoint, ZoneId,
};

use super::{Survey, by_shares, serving_terminating, shares};
use crate::{NodeHintRule, Settings};

/// What the clients of each place use. Places that it does not name use what
/// [`Everywhere::elsewhere`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Everywhere {
    /// Zones that a rule of the Service names. It comes before hints for nodes.
    pub ruled_zones: BTreeMap<ZoneId, Selection>,
    /// Nodes that have endpoints of their own.
    pub nodes: BTreeMap<NodeId, Selection>,
    /// Zones that hints name.
    pub zones: BTreeMap<ZoneId, Selection>,
    pub elsewhere: Selection,
}

/// The endpoints for traffic on this path, wherever the client is.
pub fn everywhere<S: Selectable>(
    path: Path,
    candidates: &[S],
    routing: Routing<'_>,
    settings: &Settings,
) -> Everywhere {
    match (path, routing) {
        (Path::Local, _) => on_each_node(candidates),
        (Path::Cluster, Routing::SameZoneOnly) => in_each_zone(candidates),
        (Path::Cluster, Routing::Shares(table)) => {
            let row = |row: &evenkeel_model::ShareRow| {
                Some((row.client, by_shares(&row.parts, candidates)?))
            };
            let ruled_zones = table.rows().iter().filter_map(row).collect();
            Everywhere { ruled_zones, ..by_hints(candidates, routing, settings) }
        }
        (Path::Cluster, _) => by_hints(candidates, routing, settings),
    }
}

/// Traffic that must stay on the node.
fn on_each_node<S: Selectable>(candidates: &[S]) -> Everywhere {
    let nodes = usable_by(candidates, Rule::LocalReady, S::on_node);
    Everywhere { nodes, ..Everywhere::nothing(Rule::Nothing) }
}

/// Traffic that must stay in the zone.
fn in_each_zone<S: Selectable>(candidates: &[S]) -> Everywhere {
    let named = |c: &S| Some(c.zone()).filter(|zone| *zone != ZoneId::EMPTY);
    let ruled_zones = usable_by(candidates, Rule::RequiredZone, named);
    Everywhere { ruled_zones, ..Everywhere::nothing(Rule::RequiredZoneEmpty) }
}

/// In each bucket the ready endpoints or, failing those, the serving-terminating ones.
fn usable_by<S: Selectable, K: Ord + Copy>(
    candidates: &[S],
    when_ready: Rule,
    key: impl Fn(&S) -> Option<K>,
) -> BTreeMap<K, Selection> {
    let ready = bucketed(candidates, when_ready, |c| key(c).filter(|_| c.ready()));
    let mut usable = bucketed(candidates, Rule::ServingTerminating, |c| {
        key(c).filter(|_| c.serving_terminating())
    });
    usable.extend(ready);
    usable
}

fn by_hints<S: Selectable>(
    candidates: &[S],
    routing: Routing<'_>,
    settings: &Settings,
) -> Everywhere {
    let survey = survey(candidates);
    if survey.ready == 0 {
        return Everywhere::same(serving_terminating(candidates, |_| true));
    }
    let all = |why| Selection {
        shares: shares(candidates, survey.ready, Selectable::ready),
        rule: Rule::All(why),
    };
    if routing == Routing::IgnoreHints {
        return Everywhere::same(all(HintsIgnored::GateOff));
    }
    let mut found = Everywhere::same(all(match survey.with_zone_hint {
        0 => HintsIgnored::NoHints,
        n if n < survey.ready => HintsIgnored::MissingOn { endpoints: survey.ready - n },
        _ => HintsIgnored::NoneForZone,
    }));
    let node_hints_hold = match settings.node_hint_rule {
        NodeHintRule::AnyForThisNode => true,
        NodeHintRule::AllHaveOne => survey.with_node_hint == survey.ready,
    };
    if node_hints_hold && settings.gates.prefer_same_traffic_distribution {
        found.nodes = buckets(candidates, Rule::SameNode, S::ready, |c| c.node_hints().to_vec());
    }
    if survey.with_zone_hint == survey.ready {
        found.zones = buckets(candidates, Rule::SameZone, S::ready, |c| c.zone_hints().to_vec());
    }
    found
}

/// What hints the ready endpoints have, without a place to see them from.
fn survey<S: Selectable>(candidates: &[S]) -> Survey {
    let mut seen = Survey::default();
    for candidate in candidates.iter().filter(|c| c.ready()) {
        seen.ready += 1;
        seen.with_zone_hint += u32::from(candidate.has_zone_hint());
        seen.with_node_hint += u32::from(candidate.has_node_hint());
    }
    seen
}

fn bucketed<S: Selectable, K: Ord + Copy>(
    candidates: &[S],
    rule: Rule,
    key: impl Fn(&S) -> Option<K>,
) -> BTreeMap<K, Selection> {
    buckets(candidates, rule, |_| true, |c| key(c).into_iter().collect())
}

fn buckets<S: Selectable, K: Ord + Copy>(
    candidates: &[S],
    rule: Rule,
    fits: impl Fn(&S) -> bool,
    keys: impl Fn(&S) -> Vec<K>,
) -> BTreeMap<K, Selection> {
    let mut found: BTreeMap<K, Selection> = BTreeMap::new();
    for (endpoint, candidate) in (0u32..).zip(candidates).filter(|(_, c)| fits(c)) {
        for key in keys(candidate) {
            let none = || Selection { shares: Vec::new(), rule };
            let shares = &mut found.entry(key).or_insert_with(none).shares;
            // Hints may name a place twice.
            if shares.last().is_none_or(|last| last.endpoint != endpoint) {
                shares.push(Share { endpoint, weight: 1 });
            }
        }
    }
    found
}

// === impl Everywhere ===

impl Everywhere {
    /// What a client at this place uses.
    pub fn of(&self, from: Viewpoint) -> &Selection {
        let zone = super::zone_of(from);
        let ruled = self.ruled_zones.get(&zone);
        let of_node = || self.nodes.get(&from.node?);
        ruled.or_else(of_node).or_else(|| self.zones.get(&zone)).unwrap_or(&self.elsewhere)
    }

    fn same(selection: Selection) -> Self {
        Everywhere {
            ruled_zones: BTreeMap::new(),
            nodes: BTreeMap::new(),
            zones: BTreeMap::new(),
            elsewhere: selection,
        }
    }

    fn nothing(rule: Rule) -> Self {
        Self::same(Selection { shares: Vec::new(), rule })
    }
}
