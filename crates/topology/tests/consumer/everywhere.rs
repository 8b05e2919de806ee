//! The selections of all places at once are those of each place alone.

use evenkeel_model::{Candidate, Path, Routing, Rule, SharesAnnotation, Viewpoint};
use evenkeel_topology::{
    NodeHintRule, Settings,
    select::{everywhere, select_cluster, select_local},
};
use proptest::prelude::*;

use crate::{
    generate::{candidates, shares},
    world::{node, settings, zone},
};

fn places() -> impl Iterator<Item = Viewpoint> {
    let nodes = [None, Some(1), Some(2), Some(9)].map(|n| n.map(node));
    let zones = [None, Some(0), Some(1), Some(2), Some(3), Some(9)].map(|z| z.map(zone));
    nodes.into_iter().flat_map(move |node| zones.map(|zone| Viewpoint { node, zone }))
}

/// Why hints are not followed differs with what is known of the client; that they are not, does not.
fn kind(rule: Rule) -> Rule {
    match rule {
        Rule::All(_) => Rule::All(evenkeel_model::HintsIgnored::NoHints),
        rule => rule,
    }
}

fn check(candidates: &[Candidate], routing: Routing<'_>, settings: &Settings) {
    let cluster = everywhere(Path::Cluster, candidates, routing, settings);
    let local = everywhere(Path::Local, candidates, routing, settings);
    for from in places() {
        let alone = select_cluster(from, candidates, routing, settings);
        assert_eq!(cluster.of(from).shares, alone.shares, "cluster, {from:?}");
        assert_eq!(kind(cluster.of(from).rule), kind(alone.rule), "cluster, {from:?}");
        let alone = select_local(from.node, candidates);
        assert_eq!(*local.of(from), alone, "local, {from:?}");
    }
}

proptest! {
    #[test]
    fn all_places_at_once_are_each_place_alone(
        candidates in candidates(),
        table in shares(),
        which in 0..4,
        all_have_one in any::<bool>(),
        gate in any::<bool>(),
    ) {
        let mut settings = settings();
        settings.gates.prefer_same_traffic_distribution = gate;
        if all_have_one {
            settings.node_hint_rule = NodeHintRule::AllHaveOne;
        }
        let routing = match (&table, which) {
            (Some(SharesAnnotation::Valid(table)), 0 | 1) => Routing::Shares(table),
            (_, 2) => Routing::SameZoneOnly,
            (_, 3) => Routing::IgnoreHints,
            _ => Routing::Hints,
        };
        check(&candidates, routing, &settings);
    }
}

/// A DaemonSet whose Service prefers the own node: one pass, not one for each node.
#[test]
fn thousands_of_nodes_take_one_pass() {
    let candidate = |n: u32| {
        let hints = evenkeel_model::Hints {
            zones: evenkeel_model::Few::One(zone(1)),
            nodes: evenkeel_model::Few::One(node(n)),
        };
        Candidate::new(evenkeel_model::Conditions::READY, Some(node(n)), None, Some(&hints))
    };
    let candidates: Vec<Candidate> = (1..=100_000).map(candidate).collect();
    let begun = std::time::Instant::now();
    let found = everywhere(Path::Cluster, &candidates, Routing::Hints, &settings());
    assert_eq!(found.nodes.len(), 100_000);
    assert_eq!(found.of(Viewpoint { node: Some(node(7)), zone: None }).shares.len(), 1);
    // One select for each node would look at 10^10 endpoints.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10));
}
