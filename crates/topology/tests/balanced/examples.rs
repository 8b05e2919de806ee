//! Tables that can be checked by hand.

use evenkeel_testkit::Cluster;
use evenkeel_topology::balanced::{Decision, Tuning, decide};

use crate::support::{cluster, demand_of, ready, table};

/// The best table, as text, with the parts of the traffic in zone and in region and the worst load.
fn check(nodes: &[(&str, &str, u64)], counts: &[(&str, u32)], allowance: f64, expected: &str) {
    let mut cluster = cluster(nodes);
    let decision = best(&mut cluster, counts, allowance);
    let figures = decision.figures;
    let shown = decision.shares.as_ref().map_or("none".to_owned(), |s| table(&cluster, s));
    let shown = format!(
        "{shown} in zone {:.3}, in region {:.3}, worst {:.3}",
        figures.in_zone, figures.in_region, figures.worst
    );
    assert_eq!(shown, expected);
    assert_eq!(decision.figures, decision.best);
}

fn best(cluster: &mut Cluster, counts: &[(&str, u32)], allowance: f64) -> Decision {
    let demand = demand_of(cluster);
    let ready = ready(cluster, counts);
    decide(&demand, &ready, None, false, &Tuning { allowance, ..Tuning::default() })
}

const EQUAL: [(&str, &str, u64); 3] = [("a", "", 4), ("b", "", 4), ("c", "", 4)];

#[test]
fn two_one_one_keeps_five_sixths_in_zone_without_overload() {
    let table = r#"{"a":{"a":1000},"b":{"a":250,"b":750},"c":{"a":250,"c":750}}"#;
    check(
        &EQUAL,
        &[("a", 2), ("b", 1), ("c", 1)],
        0.0,
        &format!("{table} in zone 0.833, in region 1.000, worst 1.000"),
    );
}
