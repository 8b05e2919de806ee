//! Tables that can be checked by hand.

use evenkeel_testkit::Cluster;
use evenkeel_topology::balanced::{Decision, Tuning, decide, why};

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

#[test]
fn a_zone_without_endpoints_uses_those_of_its_region_first() {
    // a's endpoints are full with a; b's region has spare capacity in c and d.
    check(
        &[("a", "eu", 4), ("b", "us", 2), ("c", "us", 2), ("d", "us", 2)],
        &[("a", 4), ("c", 3), ("d", 3)],
        0.0,
        r#"{"a":{"a":1000},"b":{"c":500,"d":500},"c":{"c":1000},"d":{"d":1000}} in zone 0.800, in region 1.000, worst 1.000"#,
    );
}

#[test]
fn only_what_a_region_cannot_take_leaves_it() {
    // eu sends 60 % and takes 50 %: both of its full zones give half of their excess to its spare one.
    check(
        &[("a", "eu", 4), ("b", "eu", 4), ("c", "eu", 4), ("x", "us", 8)],
        &[("a", 1), ("b", 1), ("c", 3), ("x", 5)],
        0.0,
        r#"{"a":{"a":500,"c":250,"x":250},"b":{"b":500,"c":250,"x":250},"c":{"c":1000},"x":{"x":1000}} in zone 0.800, in region 0.900, worst 1.000"#,
    );
}

#[test]
fn an_allowance_keeps_more_in_zone() {
    let counts = [("a", 2), ("b", 1), ("c", 1)];
    let allowed = |allowance, expected: &str| check(&EQUAL, &counts, allowance, expected);
    allowed(
        0.2,
        r#"{"a":{"a":1000},"b":{"a":100,"b":900},"c":{"a":100,"c":900}} in zone 0.933, in region 1.000, worst 1.200"#,
    );
    allowed(
        1.0,
        r#"{"a":{"a":1000},"b":{"b":1000},"c":{"c":1000}} in zone 1.000, in region 1.000, worst 1.333"#,
    );
}

#[test]
fn with_an_allowance_the_least_loaded_zones_fill_first() {
    // Each zone sends a quarter. With z's traffic too, a is as loaded as b for each endpoint.
    check(
        &[("a", "", 1), ("b", "", 1), ("c", "", 1), ("z", "", 1)],
        &[("a", 4), ("b", 2), ("c", 1)],
        1.0,
        r#"{"a":{"a":1000},"b":{"b":1000},"c":{"c":1000},"z":{"a":1000}} in zone 0.750, in region 1.000, worst 1.750"#,
    );
}

#[test]
fn endpoints_without_a_zone_are_a_zone_of_their_own() {
    check(
        &[("a", "", 4), ("b", "", 4)],
        &[("a", 1), ("b", 1), ("", 2)],
        0.0,
        r#"{"a":{"":500,"a":500},"b":{"":500,"b":500}} in zone 0.500, in region 1.000, worst 1.000"#,
    );
}

/// A zone with control-plane Nodes only has no demand; its clients still have a row.
#[test]
fn a_zone_without_demand_has_the_row_of_a_small_demand() {
    let row_of_d = |nodes: &[(&str, &str, u64)], counts: &[(&str, u32)]| {
        let mut cluster = cluster(nodes);
        let node = cluster.nodes.last_mut().unwrap();
        node.control_plane = true;
        let shares = best(&mut cluster, counts, 0.0).shares.unwrap();
        let text = table(&cluster, &shares);
        let row = text.split_once(r#""d":{"#).unwrap().1;
        row.split_once('}').unwrap().0.to_owned()
    };
    let nodes = [("a", "eu", 4), ("b", "eu", 4), ("c", "us", 4), ("d", "eu", 4)];
    // It has endpoints of its own.
    assert_eq!(row_of_d(&nodes, &[("a", 2), ("b", 2), ("c", 2), ("d", 1)]), r#""d":1000"#);
    // Its region is exactly full: all of its endpoints.
    assert_eq!(row_of_d(&nodes, &[("a", 2), ("b", 2), ("c", 2)]), r#""a":500,"b":500"#);
    // Its region has spare capacity: the least loaded endpoints.
    assert_eq!(row_of_d(&nodes, &[("a", 3), ("b", 4), ("c", 2)]), r#""b":1000"#);
    // Its region has more excess than spare capacity: as the others give.
    assert_eq!(row_of_d(&nodes, &[("a", 3), ("b", 1), ("c", 4)]), r#""a":200,"c":800"#);
    // Its region has no endpoints.
    assert_eq!(row_of_d(&nodes, &[("c", 4)]), r#""c":1000"#);
}

#[test]
fn each_part_that_leaves_its_zone_has_a_reason() {
    let mut cluster = cluster(&[
        ("a", "eu", 4),
        ("b", "eu", 4),
        ("c", "eu", 4),
        ("x", "us", 4),
        ("y", "asia", 4),
    ]);
    let demand = demand_of(&cluster);
    let counts = ready(&mut cluster, &[("a", 1), ("c", 3), ("x", 6)]);
    let tuning = Tuning::default();
    let shares = decide(&demand, &counts, None, false, &tuning).shares.unwrap();
    let shown = |shares, counts| {
        let mut lines = Vec::new();
        for row in why(shares, &demand, counts, 0.0) {
            for part in row.parts {
                let zones = [row.client, part.zone].map(|zone| cluster.zone_name(zone).to_owned());
                lines.push(format!("{} {}: {}", zones.join(" to "), part.part, part.reason));
            }
        }
        lines
    };
    let eu = "region eu is full: its 4 ready endpoints take at most 40 % of the traffic, and its clients send 60 %";
    assert_eq!(
        shown(&shares, &counts),
        [
            "a to c 167: zone a is full: its 1 ready endpoint takes at most 10 % of the traffic, and its clients send 20 %".to_owned(),
            format!("a to x 333: {eu}"),
            "b to c 333: zone b has no ready endpoint".to_owned(),
            format!("b to x 667: {eu}"),
            "y to x 1000: region asia has no ready endpoint".to_owned(),
        ]
    );
    // One endpoint more in b, and the shares are kept: the best ones keep more.
    let more = ready(&mut cluster.clone(), &[("a", 2), ("b", 2), ("c", 2), ("x", 2), ("y", 2)]);
    let kept = "the shares in force are kept: they are close enough to the best";
    assert!(shown(&shares, &more).iter().all(|line| line.ends_with(kept)));
}

#[test]
fn a_part_that_is_rounded_up_says_so() {
    // a sends 0.02 % more than it may take; its neighbour has more endpoints to take the odd part.
    let mut cluster = cluster(&[("a", "", 10_002), ("b", "", 199_998)]);
    let demand = demand_of(&cluster);
    let ready = ready(&mut cluster, &[("a", 1), ("b", 20)]);
    let shares = decide(&demand, &ready, None, false, &Tuning::default()).shares.unwrap();
    assert_eq!(table(&cluster, &shares), r#"{"a":{"a":999,"b":1},"b":{"b":1000}}"#);
    let reason = &why(&shares, &demand, &ready, 0.0)[0].parts[0].reason;
    assert_eq!(reason.to_string(), "0.02 % is rounded up to one part in 1,000");
}
