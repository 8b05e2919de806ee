//! The consumer's half, over random hints, conditions, gates and places.

use evenkeel_model::{
    Candidate, Conditions, Exposure, Few, Hints, Id, NodeId, Routing, Rule, Selection,
    TrafficPolicy, Viewpoint, ZoneId,
};
use evenkeel_topology::{Gates, Selected, Settings, select};
use proptest::{collection::vec, option, prelude::*, sample};

use crate::{
    by_the_book::{self, Seen},
    generate::config,
};

#[derive(Clone, Debug)]
struct Case {
    from: Viewpoint,
    exposure: Exposure,
    endpoints: Vec<Seen>,
    hints_count: bool,
    settings: Settings,
}

fn run(case: &Case) -> Selected {
    let candidate = |e: &Seen| Candidate::new(e.conditions, e.node, None, e.hints.as_ref());
    let candidates: Vec<Candidate> = case.endpoints.iter().map(candidate).collect();
    let routing = if case.hints_count { Routing::Hints } else { Routing::IgnoreHints };
    select(case.from, case.exposure, &candidates, routing, &case.settings)
}

fn endpoints(selection: &Selection) -> Vec<usize> {
    selection.shares.iter().map(|share| share.endpoint as usize).collect()
}

fn check_shares(selection: &Selection) -> Result<(), TestCaseError> {
    prop_assert_eq!(selection.shares.is_empty(), selection.rule == Rule::Nothing);
    if selection.shares.is_empty() {
        return Ok(());
    }
    let total = selection.total_weight() as f64;
    let parts = selection.shares.iter().map(|s| f64::from(s.weight) / total);
    let sum: f64 = parts.sum();
    prop_assert!((sum - 1.0).abs() < 1e-9, "shares sum to {}", sum);
    let endpoints = endpoints(selection);
    prop_assert!(endpoints.is_sorted_by(|a, b| a < b), "{:?}", endpoints);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shares_sum_to_one(case in case()) {
        let selected = run(&case);
        for selection in [&selected.cluster, &selected.local].into_iter().flatten() {
            check_shares(selection)?;
        }
    }

    #[test]
    fn policy_cluster_never_finds_nothing_while_something_is_usable(case in case()) {
        let selected = run(&case);
        prop_assert_eq!(selected.cluster.is_some(), case.exposure.uses_cluster());
        if let Some(cluster) = selected.cluster {
            let usable = |e: &Seen| e.is_ready() || e.is_serving_terminating();
            let usable = case.endpoints.iter().any(usable);
            prop_assert_eq!(!cluster.shares.is_empty(), usable);
            prop_assert_eq!(selected.any_in_cluster, usable);
        }
    }

    #[test]
    fn selection_is_by_the_book(case in case()) {
        let Case { from, endpoints: seen, hints_count, settings, .. } = &case;
        let selected = run(&case);
        if let Some(cluster) = &selected.cluster {
            let expected = by_the_book::cluster(*from, seen, *hints_count, settings);
            prop_assert_eq!(endpoints(cluster), expected);
        }
        if let Some(local) = &selected.local {
            prop_assert_eq!(endpoints(local), by_the_book::local(*from, seen));
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let from = (option::of(node()), option::of(zone()));
    let policy = || sample::select(vec![TrafficPolicy::Cluster, TrafficPolicy::Local]);
    let exposure = (policy(), option::of(policy()));
    let endpoints = vec(endpoint(), 0..8);
    (from, exposure, endpoints, any::<bool>(), settings()).prop_map(
        |((node, zone), (internal, external), endpoints, hints_count, settings)| Case {
            from: Viewpoint { node, zone },
            exposure: Exposure { internal, external },
            endpoints,
            hints_count,
            settings,
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    let gates = (any::<bool>(), any::<bool>(), any::<bool>());
    (any::<bool>(), gates).prop_map(|(kubernetes, (hints, distribution, same))| Settings {
        gates: Gates {
            topology_aware_hints: hints,
            service_traffic_distribution: distribution,
            prefer_same_traffic_distribution: same,
        },
        ..if kubernetes { Settings::kubernetes() } else { Settings::default() }
    })
}

fn endpoint() -> impl Strategy<Value = Seen> {
    let condition = || option::of(any::<bool>());
    let conditions = (condition(), condition(), condition());
    let hints = (vec(zone(), 0..3), vec(node(), 0..3));
    (conditions, option::of(node()), option::of(hints)).prop_map(
        |((ready, serving, terminating), node, hints)| {
            let conditions = Conditions { ready, serving, terminating };
            let hints = hints.map(|(zones, nodes)| Hints {
                zones: Few::from_iter(zones),
                nodes: Few::from_iter(nodes),
            });
            Seen { conditions, node, hints }
        },
    )
}

/// Among them the zone of the empty name.
fn zone() -> impl Strategy<Value = ZoneId> {
    (0..4u32).prop_map(ZoneId::from_index)
}

fn node() -> impl Strategy<Value = NodeId> {
    (1..4u32).prop_map(NodeId::from_index)
}
