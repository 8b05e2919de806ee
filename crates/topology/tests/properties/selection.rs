//! The consumer's half, over random hints, conditions, gates and places.

use std::collections::BTreeMap;

use evenkeel_model::{
    Candidate, Conditions, Exposure, Few, Hints, Id, NodeId, Routing, Rule, Selection, Share,
    SharesUnusable, TrafficPolicy, Viewpoint, ZoneId, ZoneShares,
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
    route: Route,
    settings: Settings,
}

#[derive(Clone, Debug)]
enum Route {
    IgnoreHints,
    Hints,
    Shares(ZoneShares),
    SharesMissing,
    SameZoneOnly,
}

impl Route {
    fn routing(&self) -> Routing<'_> {
        match self {
            Route::IgnoreHints => Routing::IgnoreHints,
            Route::Hints => Routing::Hints,
            Route::Shares(table) => Routing::Shares(table),
            Route::SharesMissing => Routing::SharesUnusable(SharesUnusable::Missing),
            Route::SameZoneOnly => Routing::SameZoneOnly,
        }
    }
}

fn run(case: &Case) -> Selected {
    let candidate = |e: &Seen| Candidate::new(e.conditions, e.node, e.zone, e.hints.as_ref());
    let candidates: Vec<Candidate> = case.endpoints.iter().map(candidate).collect();
    select(case.from, case.exposure, &candidates, case.route.routing(), &case.settings)
}

/// Each endpoint in use with its part of the traffic.
fn parts(selection: &Selection) -> BTreeMap<usize, f64> {
    let total = selection.total_weight() as f64;
    let part = |s: &Share| (s.endpoint as usize, f64::from(s.weight) / total);
    selection.shares.iter().map(part).collect()
}

fn endpoints(selection: &Selection) -> Vec<usize> {
    selection.shares.iter().map(|share| share.endpoint as usize).collect()
}

fn check_shares(selection: &Selection) -> Result<(), TestCaseError> {
    prop_assert_eq!(selection.shares.is_empty(), selection.rule.is_empty());
    prop_assert!(selection.shares.iter().all(|share| share.weight > 0));
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
            let any = case.endpoints.iter().any(usable);
            prop_assert_eq!(selected.any_in_cluster, any);
            // RequireSameZone alone rather refuses.
            let is_refused = |e: &&Seen| matches!(case.route, Route::SameZoneOnly)
                && (case.from.zone.is_none_or(|z| z == ZoneId::EMPTY) || e.zone != case.from.zone);
            let reachable = case.endpoints.iter().filter(|e| !is_refused(e)).any(usable);
            prop_assert_eq!(!cluster.shares.is_empty(), reachable);
        }
    }

    #[test]
    fn selection_is_by_the_book(case in case()) {
        let Case { from, endpoints: seen, route, settings, .. } = &case;
        let selected = run(&case);
        if let Some(cluster) = &selected.cluster {
            let expected = by_the_book::cluster(*from, seen, route.routing(), settings);
            let found = parts(cluster);
            prop_assert!(found.keys().eq(expected.keys()), "{:?} {:?}", found, expected);
            for (endpoint, part) in expected {
                prop_assert!((found[&endpoint] - part).abs() < 1e-9, "{} of {:?}", endpoint, found);
            }
        }
        if let Some(local) = &selected.local {
            prop_assert_eq!(endpoints(local), by_the_book::local(*from, seen));
        }
    }

    /// What is left after a zone is lost is used as if that zone had never been in the table.
    #[test]
    fn shares_are_right_after_losing_any_zone(case in case(), lost in zone(), table in table()) {
        let mut case = Case { route: Route::Shares(table.clone()), ..case };
        case.exposure = Exposure::default();
        case.endpoints.retain(|e| e.zone.unwrap_or(ZoneId::EMPTY) != lost);
        let after = run(&case).cluster.unwrap();
        check_shares(&after)?;
        let usable = |e: &Seen| e.is_ready() || e.is_serving_terminating();
        prop_assert_eq!(!after.shares.is_empty(), case.endpoints.iter().any(usable));
        let row = table.row(case.from.zone.unwrap_or(ZoneId::EMPTY));
        if after.rule == Rule::ZoneShares {
            // Zones keep their proportions to each other.
            let mut by_zone: BTreeMap<ZoneId, f64> = BTreeMap::new();
            for (endpoint, part) in parts(&after) {
                *by_zone.entry(case.endpoints[endpoint].zone.unwrap_or(ZoneId::EMPTY)).or_default() += part;
            }
            prop_assert!(!by_zone.contains_key(&lost));
            let given: BTreeMap<ZoneId, u16> = row.unwrap().iter().copied().collect();
            let scale: f64 = by_zone.keys().map(|zone| f64::from(given[zone])).sum();
            for (zone, part) in by_zone {
                prop_assert!((part - f64::from(given[&zone]) / scale).abs() < 1e-9);
            }
        }
    }
}

/// Thousands of endpoints in several zones: weights are rounded then, by less than 1/800.
#[test]
fn weights_of_large_zones_keep_to_their_parts() {
    let parts = [(1u32, 1u16), (2, 333), (3, 666)];
    let row: Vec<_> = parts.iter().map(|(z, part)| (ZoneId::from_index(*z), *part)).collect();
    let table = ZoneShares::new([(ZoneId::from_index(1), row)]);
    for sizes in [[4999usize, 4993, 4987], [5000, 1, 1], [1, 4999, 5000], [7, 11, 13]] {
        let zones = (1u32..).zip(sizes).flat_map(|(zone, n)| vec![zone; n]);
        let candidate =
            |zone| Candidate::new(Conditions::READY, None, Some(ZoneId::from_index(zone)), None);
        let candidates: Vec<Candidate> = zones.map(candidate).collect();
        let from = Viewpoint { node: None, zone: Some(ZoneId::from_index(1)) };
        let routing = Routing::Shares(&table);
        let settings = Settings::default();
        let selected = select(from, Exposure::default(), &candidates, routing, &settings);
        let selection = selected.cluster.unwrap();
        let total = selection.total_weight() as f64;
        let (mut start, mut worst) = (0, 0.0f64);
        for ((_, part), n) in parts.into_iter().zip(sizes) {
            let here = &selection.shares[start..start + n];
            let found = here.iter().map(|s| f64::from(s.weight)).sum::<f64>() / total * 1000.0;
            worst = worst.max((found / f64::from(part) - 1.0).abs());
            start += n;
        }
        assert!(worst < 1.0 / 800.0, "{sizes:?}: {worst}");
    }
}

fn case() -> impl Strategy<Value = Case> {
    let from = (option::of(node()), option::of(zone()));
    let policy = || sample::select(vec![TrafficPolicy::Cluster, TrafficPolicy::Local]);
    let exposure = (policy(), option::of(policy()));
    let endpoints = vec(endpoint(), 0..8);
    let route = prop_oneof![
        1 => Just(Route::IgnoreHints),
        3 => Just(Route::Hints),
        3 => table().prop_map(Route::Shares),
        1 => Just(Route::SharesMissing),
        2 => Just(Route::SameZoneOnly),
    ];
    (from, exposure, endpoints, route, settings()).prop_map(
        |((node, zone), (internal, external), endpoints, route, settings)| Case {
            from: Viewpoint { node, zone },
            exposure: Exposure { internal, external },
            endpoints,
            route,
            settings,
        },
    )
}

/// Rows for some of the zones, to some of the zones.
fn table() -> impl Strategy<Value = ZoneShares> {
    let row = [0..5u16, 0..5, 0..5, 0..5].prop_map(|weights| {
        let total: u16 = weights.iter().sum();
        let mut parts: Vec<u16> = weights.iter().map(|w| 1000 * w / total.max(1)).collect();
        parts[1] += 1000 - parts.iter().sum::<u16>();
        (0..).map(ZoneId::from_index).zip(parts).collect::<Vec<_>>()
    });
    vec(option::weighted(0.8, row), 4).prop_map(|rows| {
        let rows = (0..).map(ZoneId::from_index).zip(rows);
        ZoneShares::new(rows.filter_map(|(zone, row)| Some((zone, row?))))
    })
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
    (conditions, option::of(node()), option::of(zone()), option::of(hints)).prop_map(
        |((ready, serving, terminating), node, zone, hints)| {
            let conditions = Conditions { ready, serving, terminating };
            let hints = hints.map(|(zones, nodes)| Hints {
                zones: Few::from_iter(zones),
                nodes: Few::from_iter(nodes),
            });
            Seen { conditions, node, zone, hints }
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
