use evenkeel_testkit::{ServiceExt, World};
use evenkeel_topology::{
    Policy, Settings,
    whatif::{TrafficProfile, Why},
};

use crate::support::{equal, forecast, world};

#[test]
fn the_cheapest_safe_policy_is_recommended() {
    let equal = [("a", 4), ("b", 4), ("c", 4)];
    let cases: [(&[(&str, usize)], Policy); 4] = [
        // Even: the predictable one.
        (&[("a", 2), ("b", 2), ("c", 2)], Policy::PreferSameZone),
        // Uneven, but shared out it fits.
        (&[("a", 4), ("b", 1), ("c", 1)], Policy::Auto),
        // Uneven, and it can't be shared out: 4 over 3 zones.
        (&[("a", 2), ("b", 1), ("c", 1)], Policy::None),
        // A zone without endpoints spreads its traffic evenly: nothing is overloaded.
        (&[("a", 2), ("b", 2)], Policy::PreferSameZone),
    ];
    for (pods, policy) in cases {
        let world = world(&equal, pods, Settings::default());
        let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
        assert_eq!(got.policy, policy, "{pods:?}: {}", got.why.message);
    }
}

#[test]
fn a_policy_in_force_is_kept_within_the_keep_threshold() {
    let mut world = world(
        &[("a", 4), ("b", 4), ("c", 4)],
        &[("a", 4), ("b", 4), ("c", 3)],
        Settings::default(),
    );
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
    assert_eq!(got.policy, Policy::PreferSameZone, "122 % of the fair share is within 30 %");
    assert!(matches!(got.why.reason, Why::AlreadyBest { .. }));
}

#[test]
fn auto_that_is_refused_is_not_recommended_over_none() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.settings.keep_threshold = 0.2;
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
    assert_eq!(got.policy, Policy::None, "{}", got.why.message);
    assert!(matches!(got.why.reason, Why::Safer { mostly_from: None, .. }));
}

#[test]
fn auto_without_effect_names_the_number_of_endpoints_it_needs() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.service = world.service.auto();
    world.sync();
    let got = forecast(&world, &TrafficProfile::default(), None).recommendation;
    assert!(matches!(got.why.reason, Why::NoEffectNow { possible_with: Some(6), .. }), "{got:?}");
}

#[test]
fn what_is_missing_for_a_comparison_is_named() {
    let even = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    let why = |world: &World, profile: &TrafficProfile| {
        forecast(world, profile, None).recommendation.why.reason
    };
    let idle = TrafficProfile { gb_per_month: 0.0, ..TrafficProfile::default() };
    assert_eq!(why(&even, &idle), Why::NoTraffic);
    assert_eq!(why(&equal(&[]), &TrafficProfile::default()), Why::NoEndpoints);
    let mut nodeless = even.clone();
    nodeless.cluster.nodes.clear();
    assert_eq!(why(&nodeless, &TrafficProfile::default()), Why::NoClients);
}
