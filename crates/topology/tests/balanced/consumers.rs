//! What consumers make of the tables: never without an endpoint, and right after losing any zone.

use std::collections::BTreeMap;

use evenkeel_model::{
    Candidate, Conditions, Exposure, Routing, Rule, Viewpoint, ZoneId, ZoneShares,
};
use evenkeel_topology::{
    Settings,
    auto::ZoneCounts,
    balanced::{Tuning, decide, figures},
    select,
};
use proptest::prelude::*;

use crate::generate::{Built, Case, case, config, exact};

fn candidates(ready: &ZoneCounts) -> Vec<(ZoneId, Candidate)> {
    let candidate = |zone: ZoneId| {
        let named = (zone != ZoneId::EMPTY).then_some(zone);
        (zone, Candidate::new(Conditions::READY, None, named, None))
    };
    ready.iter().flat_map(|(zone, n)| (0..n).map(move |_| candidate(zone))).collect()
}

/// Which part of the traffic of `client` each zone gets by the consumer's rules.
fn selected(
    client: ZoneId,
    shares: &ZoneShares,
    ready: &ZoneCounts,
) -> (Rule, BTreeMap<ZoneId, f64>) {
    let candidates = candidates(ready);
    let seen: Vec<Candidate> = candidates.iter().map(|(_, candidate)| candidate.clone()).collect();
    let from = Viewpoint { node: None, zone: Some(client) };
    let settings = Settings::default();
    let selected = select(from, Exposure::default(), &seen, Routing::Shares(shares), &settings);
    let selection = selected.cluster.unwrap();
    let total = selection.total_weight() as f64;
    let mut parts = BTreeMap::new();
    for share in &selection.shares {
        let (zone, _) = candidates[share.endpoint as usize];
        *parts.entry(zone).or_default() += f64::from(share.weight) / total;
    }
    (selection.rule, parts)
}

fn best(built: &Built, case: &Case) -> Option<ZoneShares> {
    let tuning = Tuning { allowance: case.allowance(), ..Tuning::default() };
    decide(&built.demand, &built.ready, None, false, &tuning).shares
}

fn without(ready: &ZoneCounts, lost: ZoneId) -> ZoneCounts {
    ready.iter().filter(|(zone, _)| *zone != lost).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_client_uses_what_its_row_says(case in case()) {
        let built = case.build();
        let Some(shares) = best(&built, &case) else { return Ok(()) };
        for client in built.demand.zones() {
            let (rule, parts) = selected(client.zone, &shares, &built.ready);
            prop_assert_eq!(rule, Rule::ZoneShares);
            for (zone, part) in parts {
                let expected = exact(&shares, client.zone, zone);
                prop_assert!((part - expected).abs() < 1e-5, "{part} instead of {expected}");
            }
        }
    }

    #[test]
    fn after_losing_any_zone_its_part_goes_to_the_others(case in case()) {
        let built = case.build();
        let Some(shares) = best(&built, &case) else { return Ok(()) };
        for (lost, _) in built.ready.iter() {
            let ready = without(&built.ready, lost);
            for client in built.demand.zones() {
                let (_, parts) = selected(client.zone, &shares, &ready);
                prop_assert_eq!(parts.is_empty(), ready.total() == 0);
                let left = 1.0 - exact(&shares, client.zone, lost);
                for (zone, part) in parts {
                    let expected = match left {
                        0.0 => f64::from(ready.get(zone).unwrap()) / f64::from(ready.total()),
                        left => exact(&shares, client.zone, zone) / left,
                    };
                    prop_assert!((part - expected).abs() < 1e-5, "{part} instead of {expected}");
                }
            }
        }
    }

    /// On the present endpoints, and on those that another table was made for.
    #[test]
    fn figures_are_what_consumers_do(case in case(), other in case()) {
        let (built, old) = (case.build(), Case { zones: other.zones, ..case.clone() }.build());
        let Some(shares) = best(&old, &case) else { return Ok(()) };
        let (mut in_zone, mut in_region, mut loads) = (0.0, 0.0, BTreeMap::<ZoneId, f64>::new());
        for client in built.demand.zones() {
            let (_, parts) = selected(client.zone, &shares, &built.ready);
            for (zone, part) in parts {
                let part = part * client.part;
                in_zone += if zone == client.zone { part } else { 0.0 };
                let region = built.demand.region_of(zone);
                in_region += if region == client.region { part } else { 0.0 };
                *loads.entry(zone).or_default() += part;
            }
        }
        let n = f64::from(built.ready.total());
        let over = |(zone, load): (&ZoneId, &f64)| load * n / f64::from(built.ready.get(*zone).unwrap());
        let worst = loads.iter().map(over).fold(0.0, f64::max);
        let figures = figures(&shares, &built.demand, &built.ready);
        prop_assert!((figures.in_zone - in_zone).abs() < 1e-4, "{figures:?}, {in_zone}");
        prop_assert!((figures.in_region - in_region).abs() < 1e-4, "{figures:?}, {in_region}");
        prop_assert!((figures.worst - worst).abs() < 1e-3, "{figures:?}, {worst}");
        prop_assert_eq!(figures.worst_zone.is_some(), n > 0.0);
    }
}
