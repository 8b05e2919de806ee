//! Parts per 1,000: they sum up, stay near the exact flows, and add a bounded excess.

use evenkeel_model::{PARTS, ZoneId, ZoneShares};
use evenkeel_topology::balanced::{FlowRow, figures, round, solve};
use proptest::prelude::*;

use crate::{
    generate::{Built, Case, ZoneSpec, case, config, exact},
    support::{cluster, demand_of, ready, table},
};

fn rounded(nodes: &[(&str, &str, u64)], counts: &[(&str, u32)]) -> String {
    let mut cluster = cluster(nodes);
    let demand = demand_of(&cluster);
    let ready = ready(&mut cluster, counts);
    table(&cluster, &round(&solve(&demand, &ready, 0.0)))
}

/// Clients of two zones without endpoints use three others.
fn three(counts: [u32; 3]) -> String {
    let counts = [("a", counts[0]), ("b", counts[1]), ("c", counts[2])];
    rounded(&[("y", "", 4), ("z", "", 4)], &counts)
}

#[test]
fn equal_remainders_are_rounded_up_by_name() {
    let row = r#"{"a":334,"b":333,"c":333}"#;
    assert_eq!(three([1, 1, 1]), format!(r#"{{"y":{row},"z":{row}}}"#));
}

#[test]
fn odd_parts_go_to_the_zone_with_most_endpoints() {
    // 187.5, 187.5 and 625: the remainders of the small zones are larger, the excess of the large one is
    // less for each of its endpoints.
    let row = r#"{"a":187,"b":187,"c":626}"#;
    assert_eq!(three([3, 3, 10]), format!(r#"{{"y":{row},"z":{row}}}"#));
}

/// A part in 1,000 is five times what one of 5,000 endpoints may take.
#[test]
fn a_lone_endpoint_among_thousands_is_not_overloaded() {
    let nodes = [("a", "", 4), ("b", "", 4), ("c", "", 4)];
    for lone in [1, 2, 3] {
        let mut cluster = cluster(&nodes);
        let demand = demand_of(&cluster);
        let ready = ready(&mut cluster, &[("a", lone), ("b", 2500 - lone), ("c", 2500)]);
        let figures = figures(&round(&solve(&demand, &ready, 0.0)), &demand, &ready);
        assert!(figures.worst < 1.002, "{figures:?}");
    }
}

/// By how much rounding may raise the load of an endpoint over what it may take: one part in 1,000 for
/// each client zone that gives and each other zone that takes.
fn most_excess(case: &Case) -> f64 {
    let built = case.build();
    let flows = solve(&built.demand, &built.ready, case.allowance());
    let others = |row: FlowRow<'_>| row.parts().filter(|(_, part)| *part > 1e-9).count() - 1;
    let sending = flows.rows().zip(built.demand.zones()).filter(|(_, client)| client.part > 0.0);
    let parts: usize = sending.map(|(row, _)| others(row)).sum();
    (1.0 + case.allowance()) * parts as f64 / f64::from(PARTS)
}

fn check_rounding(case: &Case) -> Result<(), TestCaseError> {
    let built = case.build();
    let flows = solve(&built.demand, &built.ready, case.allowance());
    let shares = round(&flows);
    prop_assert_eq!(shares.rows().len(), flows.rows().len());
    for flow in flows.rows() {
        let row = shares.row(flow.client()).unwrap();
        prop_assert_eq!(row.iter().map(|(_, part)| part).sum::<u16>(), PARTS);
        for (zone, part) in flow.parts() {
            let down = (part * f64::from(PARTS) - 1e-5).floor() as u16;
            let found = row.iter().find(|(to, _)| *to == zone);
            prop_assert!(found.map_or(0, |(_, part)| *part) >= down, "less than rounded down");
        }
        let named = |zone: &ZoneId| flow.parts().any(|(to, _)| to == *zone);
        prop_assert!(row.iter().all(|(zone, _)| named(zone)), "a zone without a flow");
    }
    let worst = figures(&shares, &built.demand, &built.ready).worst;
    let most = 1.0 + case.allowance() + most_excess(case);
    prop_assert!(worst <= most + 1e-6, "worst {worst}, at most {most}");
    Ok(())
}

/// Like [`case`], with up to thousands of endpoints and single ones beside them.
fn large_case() -> impl Strategy<Value = Case> {
    let endpoints = prop_oneof![Just(0), Just(1), 1..20u32, 100..5000u32];
    (case(), prop::collection::vec(endpoints, 7)).prop_map(|(case, endpoints)| {
        let zones = case.zones.into_iter().zip(endpoints);
        let zones = zones.map(|(zone, endpoints)| ZoneSpec { endpoints, ..zone }).collect();
        Case { zones, ..case }
    })
}

proptest! {
    #![proptest_config(config())]

    /// Ids are handed out in the order that zones are seen; leaders see them in different orders.
    #[test]
    fn every_process_rounds_alike(case in case()) {
        let [one, other] = [case.build(), case.build_later()]
            .map(|built| (round(&solve(&built.demand, &built.ready, case.allowance())), built));
        let parts = |(shares, built): &(ZoneShares, Built)| {
            let row = |client: &ZoneId| built.ids.iter().map(|zone| exact(shares, *client, *zone)).collect();
            built.ids.iter().map(row).collect::<Vec<Vec<f64>>>()
        };
        prop_assert_eq!(parts(&one), parts(&other));
    }

    #[test]
    fn rows_sum_to_1000_and_the_excess_is_bounded(case in case()) {
        check_rounding(&case)?;
    }

    #[test]
    fn the_excess_is_bounded_with_thousands_of_endpoints_too(case in large_case()) {
        check_rounding(&case)?;
    }
}
