//! Which hints move when some must: those that harm least. How many is in `properties`.

use evenkeel_testkit::Cluster;
use evenkeel_topology::{
    Settings,
    auto::{
        bounds,
        least_change::{Position, assign},
    },
    capacity::{NO_ZONE, ZoneIdx},
};

const NONE: ZoneIdx = NO_ZONE;
const A: ZoneIdx = 0;
const B: ZoneIdx = 1;
const C: ZoneIdx = 2;

/// Endpoints as (home, hint); the zones they are to be hinted for.
fn check(cores: &[(&str, u64)], endpoints: &[(ZoneIdx, ZoneIdx)], expected: &[ZoneIdx]) {
    let settings = Settings::default();
    let capacity = Cluster::of(cores).measure(&settings).expect("two zones or more");
    let place = |&(home, hinted): &(ZoneIdx, ZoneIdx)| Position { home, hinted };
    let places: Vec<Position> = endpoints.iter().map(place).collect();
    let n = u32::try_from(places.len()).expect("few endpoints");
    let bounds = bounds(&capacity, n, settings.keep_threshold).expect("hints are possible");
    assert_eq!(assign(&places, &bounds), expected);
}

const TWO: &[(&str, u64)] = &[("a", 4), ("b", 4)];
const THREE: &[(&str, u64)] = &[("a", 4), ("b", 4), ("c", 4)];

#[test]
fn swaps_are_dissolved() {
    check(TWO, &[(B, A), (B, A), (A, B), (A, B)], &[B, B, A, A]);
    check(THREE, &[(A, B), (B, C), (C, A), (A, A), (B, B), (C, C)], &[A, B, C, A, B, C]);
}

#[test]
fn endpoints_that_another_zone_needs_stay_away() {
    check(TWO, &[(A, A), (A, B), (A, A), (A, B)], &[A, B, A, B]);
}

// Zone b lives on what zone a gives. Of the three endpoints that could, the two hinted for it do.
#[test]
fn of_endpoints_that_may_leave_those_that_are_away_stay_so() {
    check(TWO, &[(A, NONE), (A, B), (A, B), (A, A)], &[A, B, B, A]);
}

#[test]
fn endpoints_without_hints_go_home_first() {
    check(TWO, &[(B, NONE), (A, NONE), (B, NONE), (A, NONE)], &[B, A, B, A]);
}

#[test]
fn endpoints_without_capacity_at_home_go_where_they_are_needed() {
    check(TWO, &[(A, A), (NONE, NONE), (A, A), (NONE, NONE)], &[A, B, A, B]);
}

#[test]
fn an_endpoint_that_can_go_home_moves_before_others() {
    check(TWO, &[(A, A), (A, A), (B, A), (B, B)], &[A, A, B, B]);
}

// Both endpoints of zone a that are not at home could move to zone b; one lives there.
#[test]
fn an_endpoint_that_can_go_home_moves_before_one_that_cannot() {
    let before = [(C, A), (B, A), (A, A), (B, B), (C, C), (C, C)];
    check(THREE, &before, &[A, B, A, B, C, C]);
}

#[test]
fn an_endpoint_that_is_not_at_home_moves_before_one_that_is() {
    let before = [(A, A), (B, A), (A, A), (B, B), (B, B), (B, B)];
    check(THREE, &before, &[A, C, A, C, B, B]);
}

// Of 11 each zone must have 3. Zone a has 5 and zone b has 4; either could give one to zone c.
#[test]
fn hints_move_away_from_the_zone_with_most_beyond_its_part() {
    let mut before = [(B, B); 11];
    before[4..9].fill((A, A));
    before[9..].fill((C, C));
    check(THREE, &before, &[B, B, B, B, C, A, A, A, A, C, C]);
}
