//! "Example" and "Overload": the numbers the KEP works out, and the gap between the two thresholds.

use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};
use evenkeel_topology::{
    NoHints, Settings,
    auto::bounds,
    overload::is_overloaded,
    plan::{HintOutcome, Plan},
};

const ZONES: [&str; 3] = ["a", "b", "c"];

/// A Service in Auto mode over three equal zones, with so many Pods, spread evenly.
fn three_zones(n: usize, settings: Settings) -> World {
    let mut world = World::new(Cluster::equal_zones(3), service("web").auto(), settings);
    for number in 0..n {
        world.add_pods(ZONES[number % 3], 1);
    }
    world
}

/// How `n` endpoints come out when 12 had hints before.
fn shrunk(n: usize, settings: Settings) -> HintOutcome {
    let mut world = three_zones(12, settings);
    world.sync();
    for number in n..12 {
        world.remove_pods(ZONES[number % 3], 1);
    }
    outcome(&world.sync())
}

fn fresh(n: usize, settings: Settings) -> HintOutcome {
    outcome(&three_zones(n, settings).sync())
}

fn outcome(plan: &Plan) -> HintOutcome {
    plan.families[0].hints.clone()
}

fn check(outcomes: &[HintOutcome; 2], hinted: [bool; 2]) {
    for (outcome, hinted) in outcomes.iter().zip(hinted) {
        assert_eq!(matches!(outcome, HintOutcome::Auto(_)), hinted, "{outcome:?}");
    }
}

fn both(of: impl Fn(Settings) -> HintOutcome) -> [HintOutcome; 2] {
    profiles().map(|(_, settings)| of(settings))
}

// zone-a: 20 CPU cores, zone-b: 16, zone-c: 14 → 40%, 32%, 28%
#[test]
fn endpoints_follow_cores_as_in_the_example() {
    let cluster = Cluster::of(&[("a", 20), ("b", 16), ("c", 14)]);
    let capacity = cluster.measure(&Settings::default()).unwrap();
    let ratios: Vec<f64> = capacity.zones().iter().map(|zone| zone.ratio).collect();
    assert_eq!(ratios, [0.40, 0.32, 0.28]);
    for (profile, settings) in profiles() {
        let mut world = World::new(cluster.clone(), service("web").auto(), settings).with_pods(&[
            ("a", 34),
            ("b", 33),
            ("c", 33),
        ]);
        world.sync();
        let expected = [("a", 40), ("b", 32), ("c", 28)];
        assert_eq!(world.hinted(), expected, "{profile}");
        // Six of a hundred serve another zone; all others stay in their own.
        let at_home = world.endpoints().filter(|e| e.zone_hints() == e.zone.as_slice());
        assert_eq!(at_home.count(), 94, "{profile}");
    }
}

// In a 3-zone cluster where each zone has an equivalent size, an EndpointSlice for a 4 endpoint
// service would not receive any zone hints. … In this case, the "Overload" would be 33%.
#[test]
fn four_endpoints_over_three_equal_zones_are_refused_with_the_reason_as_data() {
    let why = NoHints::Overload { endpoints: 4, zones: 3, required: 6, threshold: 0.2 };
    let refused = HintOutcome::AutoRefused(why);
    assert_eq!(both(|settings| fresh(4, settings)), [refused.clone(), refused]);
}

#[test]
fn the_overload_of_the_example_is_a_third() {
    let mut world = three_zones(4, Settings::default());
    let capacity = world.cluster.measure(&world.settings).unwrap();
    let zones = capacity.zones().iter().map(|zone| zone.zone);
    let counts = zones.zip([2, 1, 1]).collect();
    assert!(is_overloaded(&counts, Some(&capacity), 0.33));
    assert!(!is_overloaded(&counts, Some(&capacity), 0.34));
    // With a threshold beyond it, hints are given.
    world.settings.assign_threshold = 0.34;
    world.settings.keep_threshold = 0.34;
    assert!(matches!(outcome(&world.sync()), HintOutcome::Auto(_)));
}

// An Overload Threshold of 30% will be used. Hints will not be added for a Service unless the
// expected initial overload is below 20%. This difference exists to prevent flapping.
#[test]
fn hints_in_force_are_kept_where_they_would_not_be_given() {
    check(&both(|settings| shrunk(11, settings)), [true, false]);
    check(&both(|settings| fresh(11, settings)), [false, false]);
}

#[test]
fn keeping_hints_in_force_writes_only_the_slice_that_lost_a_pod() {
    let settings = Settings { max_endpoints_per_slice: 4, ..Settings::default() };
    let mut world = three_zones(12, settings);
    assert_eq!(world.sync().create.len(), 3);
    world.remove_pods("c", 1);
    let plan = world.sync();
    assert_eq!((plan.update.len(), plan.unchanged.len(), plan.events.len()), (1, 2, 0));
    assert_eq!(world.hinted(), [("a", 4), ("b", 4), ("c", 3)]);
}

#[test]
fn beyond_the_keep_threshold_both_profiles_remove_hints() {
    for n in [4, 5, 8] {
        check(&both(|settings| shrunk(n, settings)), [false, false]);
    }
}

#[test]
fn three_equal_zones_go_without_hints_at_these_numbers_only() {
    let refused = |of: fn(usize, Settings) -> HintOutcome, up_to: usize| -> [Vec<usize>; 2] {
        profiles().map(|(_, settings)| {
            let hinted = |n| matches!(of(n, settings.clone()), HintOutcome::Auto(_));
            (1..=up_to).filter(|&n| !hinted(n)).collect()
        })
    };
    let given = vec![1, 2, 4, 5, 8, 11];
    assert_eq!(refused(fresh, 24), [given.clone(), given.clone()]);
    assert_eq!(refused(shrunk, 12), [vec![1, 2, 4, 5, 8], given]);
}

#[test]
fn the_next_possible_number_of_endpoints_is_known() {
    let capacity = Cluster::equal_zones(3).measure(&Settings::default()).unwrap();
    let next = |n| bounds::next_possible(&capacity, n, 0.2, 100);
    assert_eq!([1, 4, 7, 8, 11].map(next), [3, 6, 7, 9, 12].map(Some::<u32>));
}
