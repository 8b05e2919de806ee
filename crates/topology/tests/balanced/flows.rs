//! The exact flows: optimal, within the allowance, equal for equals, and steady.

use evenkeel_model::ZoneId;
use evenkeel_topology::balanced::{Flows, MOST_MOVED, solve};
use proptest::prelude::*;

use crate::{
    generate::{Built, Case, case, config},
    oracle::least_leaving,
};

fn solved(case: &Case) -> (Built, Flows) {
    let built = case.build();
    let flows = solve(&built.demand, &built.ready, case.allowance());
    (built, flows)
}

/// How much of all traffic goes to another zone than before.
fn moved(before: &(Built, Flows), after: &(Built, Flows)) -> f64 {
    let zones: Vec<ZoneId> = before.0.ready.iter().map(|(zone, _)| zone).collect();
    let mut sum = 0.0;
    for (old, new) in before.0.demand.zones().iter().zip(after.0.demand.zones()) {
        for &zone in &zones {
            let part = |flows: &Flows, part| part * flows.part(old.zone, zone);
            sum += (part(&before.1, old.part) - part(&after.1, new.part)).abs();
        }
    }
    sum / 2.0
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_flows_keep_more_in_zones_and_then_in_regions(case in case()) {
        prop_assume!(case.n() > 0);
        let (built, flows) = solved(&case);
        let (zone, region) = built.leaving(&flows);
        let (least_zone, least_region) = least_leaving(&case);
        prop_assert!((zone - least_zone).abs() < 1e-9, "out of zone {zone}, least {least_zone}");
        prop_assert!((region - least_region).abs() < 1e-9, "out of region {region}, least {least_region}");
    }

    #[test]
    fn rows_sum_to_one_and_no_endpoint_gets_more_than_it_may(case in case()) {
        let (built, flows) = solved(&case);
        prop_assert_eq!(flows.rows().len(), if case.n() > 0 { case.zones.len() } else { 0 });
        for row in flows.rows() {
            let sum: f64 = row.parts().map(|(_, part)| part).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "sums to {sum}");
            prop_assert!(row.parts().all(|(_, part)| part > 0.0 && part < 1.0 + 1e-9));
        }
        for load in built.loads(&flows) {
            prop_assert!(load <= 1.0 + case.allowance() + 1e-9, "load {load}");
        }
    }

    #[test]
    fn other_names_for_zones_change_nothing(case in case(), seed in any::<u64>()) {
        let (built, flows) = solved(&case);
        let names = shuffled(case.zones.len(), seed);
        let renamed = case.build_named(&names);
        let other = solve(&renamed.demand, &renamed.ready, case.allowance());
        for (client, other_client) in built.ids.iter().zip(&renamed.ids) {
            for (zone, other_zone) in built.ids.iter().zip(&renamed.ids) {
                let (a, b) = (flows.part(*client, *zone), other.part(*other_client, *other_zone));
                prop_assert!((a - b).abs() < 1e-7, "{a} became {b}");
            }
        }
    }

    #[test]
    fn one_endpoint_more_moves_little_traffic(case in case(), at in any::<prop::sample::Index>()) {
        prop_assume!(case.n() > 0);
        let mut more = case.clone();
        more.zones[at.index(case.zones.len())].endpoints += 1;
        let moved = moved(&solved(&case), &solved(&more));
        let most = MOST_MOVED * (1.0 + case.allowance()) / f64::from(more.n());
        prop_assert!(moved <= most + 1e-9, "moved {moved}, at most {most}");
    }

    #[test]
    fn a_little_more_cpu_moves_little_traffic(case in case(), at in any::<prop::sample::Index>()) {
        prop_assume!(case.n() > 0);
        let mut scaled = case.clone();
        scaled.zones.iter_mut().for_each(|zone| zone.cores *= 1000);
        let mut more = scaled.clone();
        let zone = &mut more.zones[at.index(case.zones.len())];
        prop_assume!(zone.cores > 0);
        zone.cores += 1;
        let (before, after) = (solved(&scaled), solved(&more));
        let demand = |built: &Built| built.demand.zones().iter().map(|z| z.part).collect::<Vec<_>>();
        let parts = demand(&before.0).into_iter().zip(demand(&after.0));
        let changed: f64 = parts.map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
        let moved = moved(&before, &after);
        prop_assert!(moved <= MOST_MOVED * changed + 1e-9, "moved {moved} for {changed}");
    }
}

/// A permutation, by a small generator of its own: proptest's shuffle needs a strategy for each size.
fn shuffled(n: usize, mut seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        all.swap(i, (seed >> 33) as usize % (i + 1));
    }
    all
}
