//! When the table in force is kept.

use evenkeel_testkit::Cluster;
use evenkeel_topology::balanced::{Decision, Tuning, decide, figures};
use proptest::prelude::*;

use crate::{
    generate::{Case, case, config},
    support::{cluster, demand_of, ready},
};

const EQUAL: [(&str, &str, u64); 3] = [("a", "", 4), ("b", "", 4), ("c", "", 4)];

/// With this, load is no reason to write.
const LOADED: Tuning = Tuning { allowance: 0.0, keep_excess: 1.0, keep_in_zone: 0.03 };

/// Decides for `before` from nothing, then for `now` with that in force.
fn then(
    cluster: &mut Cluster,
    before: &[(&str, u32)],
    now: &[(&str, u32)],
    written_anyway: bool,
) -> (Decision, Decision) {
    then_within(&Tuning::default(), cluster, before, now, written_anyway)
}

fn then_within(
    tuning: &Tuning,
    cluster: &mut Cluster,
    before: &[(&str, u32)],
    now: &[(&str, u32)],
    written_anyway: bool,
) -> (Decision, Decision) {
    let demand = demand_of(cluster);
    let first = decide(&demand, &ready(cluster, before), None, written_anyway, tuning);
    let now = ready(cluster, now);
    let second = decide(&demand, &now, first.shares.as_ref(), written_anyway, tuning);
    (first, second)
}

#[test]
fn shares_stay_while_they_are_good_enough() {
    // From 12 in each zone to 13 in one: its own clients could send no more than before.
    let (twelve, thirteen) = ([("a", 12), ("b", 12), ("c", 12)], [("a", 13), ("b", 12), ("c", 12)]);
    let (first, second) = then(&mut cluster(&EQUAL), &twelve, &thirteen, false);
    assert!(!first.kept);
    assert!(second.kept);
    assert_eq!(first.shares, second.shares);
    assert!(second.figures.worst > second.best.worst);
    assert!(second.figures.in_zone > second.best.in_zone, "all stays in zone, at 2.8 % excess");
}

#[test]
fn the_best_shares_are_written_where_every_slice_is() {
    let (twelve, thirteen) = ([("a", 12), ("b", 12), ("c", 12)], [("a", 13), ("b", 12), ("c", 12)]);
    let (first, second) = then(&mut cluster(&EQUAL), &twelve, &thirteen, true);
    assert!(!second.kept);
    assert_ne!(first.shares, second.shares);
    assert_eq!(second.figures, second.best);
}

#[test]
fn an_overloaded_endpoint_ends_it() {
    let (three, four) = ([("a", 1), ("b", 1), ("c", 1)], [("a", 2), ("b", 1), ("c", 1)]);
    let (_, second) = then(&mut cluster(&EQUAL), &three, &four, false);
    assert!(!second.kept, "b and c would be 33 % over their fair part");
    assert!(second.figures.worst < 1.0 + 1e-9);
}

#[test]
fn traffic_that_need_not_leave_its_zone_ends_it() {
    let (before, now) = ([("a", 17), ("b", 10), ("c", 13)], [("a", 14), ("b", 13), ("c", 13)]);
    let mut cluster = cluster(&EQUAL);
    let (first, second) = then_within(&LOADED, &mut cluster, &before, &now, false);
    assert!(first.figures.in_zone < 0.91 && second.figures.in_zone > 0.98);
    assert!(!second.kept);
    let lax = Tuning { keep_in_zone: 0.08, ..LOADED };
    assert!(then_within(&lax, &mut cluster, &before, &now, false).1.kept);
}

#[test]
fn traffic_that_need_not_leave_its_region_ends_it() {
    let mut cluster = cluster(&[("a", "eu", 8), ("b", "eu", 1), ("x", "us", 8), ("y", "us", 1)]);
    let (before, now) = ([("a", 7), ("x", 9)], [("a", 9), ("x", 9)]);
    let (first, second) = then_within(&LOADED, &mut cluster, &before, &now, false);
    assert!((first.figures.in_zone - second.best.in_zone).abs() < 0.03);
    assert!(first.figures.in_region < 0.95 && second.figures.in_region > 1.0 - 1e-9);
    assert!(!second.kept);
    let lax = Tuning { keep_in_zone: 0.08, ..LOADED };
    assert!(then_within(&lax, &mut cluster, &before, &now, false).1.kept);
}

#[test]
fn a_new_client_zone_ends_it() {
    let mut cluster = cluster(&EQUAL);
    let counts = [("a", 12), ("b", 12), ("c", 12)];
    let before = ready(&mut cluster, &counts);
    let first = decide(&demand_of(&cluster), &before, None, false, &Tuning::default());
    let node = cluster.add_node("control-plane", Some("d"), 4);
    node.control_plane = true;
    let demand = demand_of(&cluster);
    let second = decide(&demand, &before, first.shares.as_ref(), false, &Tuning::default());
    assert!(!second.kept);
    assert!(second.shares.unwrap().row(demand.zones()[3].zone).is_some());
}

#[test]
fn without_two_client_zones_or_a_ready_endpoint_there_are_no_shares() {
    let mut one = cluster(&[("a", "", 4), ("a", "", 4)]);
    let (first, second) = then(&mut one, &[("a", 3)], &[("a", 3)], true);
    assert_eq!((first.shares, first.kept, second.shares), (None, false, None));
    assert_eq!((first.figures.in_zone, first.figures.worst), (1.0, 1.0));
    let (first, second) = then(&mut cluster(&EQUAL), &[("a", 3)], &[("a", 0)], false);
    assert!(first.shares.is_some());
    assert_eq!((second.shares, second.kept), (None, false));
    assert_eq!((second.figures.worst, second.figures.worst_zone), (0.0, None));
}

#[test]
fn settings_that_are_no_numbers_are_harmless() {
    let mut cluster = cluster(&EQUAL);
    let demand = demand_of(&cluster);
    let ready = ready(&mut cluster, &[("a", 2), ("b", 1), ("c", 1)]);
    let usual = decide(&demand, &ready, None, false, &Tuning::default());
    for wrong in [f64::NAN, f64::NEG_INFINITY, -0.5] {
        let tuning = Tuning { allowance: wrong, keep_excess: wrong, keep_in_zone: wrong };
        assert_eq!(decide(&demand, &ready, None, false, &tuning), usual);
        let again = decide(&demand, &ready, usual.shares.as_ref(), false, &tuning);
        assert_eq!((again.shares, again.kept), (usual.shares.clone(), true));
    }
    let endless = Tuning { allowance: f64::INFINITY, ..Tuning::default() };
    assert_eq!(decide(&demand, &ready, None, false, &endless).figures.in_zone, 1.0);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_decided_is_within_the_thresholds_and_stays(case in case(), other in case()) {
        let old = Case { zones: other.zones, ..case.clone() }.build();
        let built = case.build();
        let tuning = Tuning { allowance: case.allowance(), ..Tuning::default() };
        let in_force = decide(&old.demand, &old.ready, None, false, &tuning).shares;
        let decision = decide(&built.demand, &built.ready, in_force.as_ref(), false, &tuning);
        let Some(shares) = &decision.shares else {
            prop_assert!(case.zones.len() < 2 || case.n() == 0);
            return Ok(());
        };
        prop_assert_eq!(decision.figures, figures(shares, &built.demand, &built.ready));
        let most = (1.0 + case.allowance() + 0.1).max(decision.best.worst);
        prop_assert!(decision.figures.worst <= most + 1e-9);
        prop_assert!(decision.figures.in_zone >= decision.best.in_zone - 0.03 - 1e-9);
        prop_assert_eq!(decision.kept, in_force.as_ref() == Some(shares));
        let again = decide(&built.demand, &built.ready, Some(shares), false, &tuning);
        prop_assert!(again.kept, "the next decision differs");
        let best = decide(&built.demand, &built.ready, Some(shares), true, &tuning);
        prop_assert_eq!(best.figures, decision.best);
    }
}
