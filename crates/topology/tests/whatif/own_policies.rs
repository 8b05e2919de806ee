//! Policies of Evenkeel's own, and what they need.

use evenkeel_model::label;
use evenkeel_testkit::{ServiceExt, World};
use evenkeel_topology::{
    Environment, Gates, Policy, Profile, Settings,
    whatif::{Benefit, Caveat, Forecast, Forecasts, Needs, TrafficProfile, Why, patch},
};

use crate::support::{
    ask, close, equal, figures, forecast, forecast_behind_kube_proxy, forecast_in, world,
};

fn forecast_all(world: &World) -> Forecasts {
    forecast(world, &TrafficProfile::default(), None)
}

fn with_policy(mut world: World, policy: Policy) -> World {
    ask(&mut world, policy.as_str());
    world.sync();
    world
}

fn needs(forecasts: &Forecasts, policy: Policy) -> Option<&Needs> {
    forecasts.of(policy).expect("all policies").needs.as_ref().map(|needs| &needs.reason)
}

/// KEP-2433's example: four endpoints in three equal zones.
#[test]
fn balanced_is_recommended_where_auto_gives_up() {
    let world = with_policy(equal(&[("a", 2), ("b", 1), ("c", 1)]), Policy::Auto);
    let got = forecast_all(&world);
    assert!(close(figures(&got, Policy::Auto).in_zone_share, 1.0 / 3.0));
    let balanced = figures(&got, Policy::Balanced);
    assert!(close(balanced.in_zone_share, 5.0 / 6.0), "{balanced:?}");
    assert!(close(balanced.max_load, 1.0), "{balanced:?}");
    assert_eq!(got.recommendation.policy, Policy::Balanced);
    assert!(matches!(got.recommendation.why.reason, Why::LessCrossZoneTraffic { .. }));
    assert_eq!(needs(&got, Policy::Balanced), None);
    let patched = patch(&world.service, Policy::Balanced, Gates::ALL_ON).apply(&world.service);
    let annotation = patched.annotations.get(label::TRAFFIC_DISTRIBUTION);
    assert_eq!(annotation.map(|value| &**value), Some("Balanced"));
    assert!(!patched.annotations.contains_key(label::TOPOLOGY_MODE));
}

#[test]
fn behind_kube_proxy_zone_shares_gain_nothing_and_are_not_recommended() {
    let world = with_policy(equal(&[("a", 2), ("b", 1), ("c", 1)]), Policy::Auto);
    let got = forecast_behind_kube_proxy(&world);
    assert_eq!(got.data_plane.hints.profile, Profile::Evenkeel);
    let (balanced, none) = (figures(&got, Policy::Balanced), figures(&got, Policy::None));
    assert_eq!(balanced, none, "Auto gives no hints here");
    let needed = needs(&got, Policy::Balanced);
    let Some(Needs::ProxyForShares { in_zone_share, max_load }) = needed else {
        panic!("{needed:?}");
    };
    assert!(close(*in_zone_share, 5.0 / 6.0) && close(*max_load, 1.0), "{needed:?}");
    assert_eq!(got.recommendation.policy, Policy::Auto);
    assert!(got.trades.iter().all(|trade| trade.policy != Policy::Balanced));
}

#[test]
fn behind_kube_proxy_balanced_does_what_the_hints_of_auto_do() {
    let world = with_policy(equal(&[("a", 4), ("b", 1), ("c", 1)]), Policy::Balanced);
    let got = forecast_behind_kube_proxy(&world);
    assert_eq!(got.current, Policy::Balanced);
    let (balanced, auto) = (figures(&got, Policy::Balanced), figures(&got, Policy::Auto));
    assert!(close(balanced.in_zone_share, auto.in_zone_share), "{balanced:?} {auto:?}");
    assert!(auto.in_zone_share > 0.6);
}

#[test]
fn kube_proxy_prefers_the_required_zone_and_obeys_hints_for_several_zones() {
    let mut world = with_policy(equal(&[("a", 2), ("b", 2)]), Policy::RequireSameZone);
    for (zone, region) in [("a", "east"), ("b", "west"), ("c", "west")] {
        world.cluster.set_region(zone, region);
    }
    let got = forecast_behind_kube_proxy(&world);
    let required = figures(&got, Policy::RequireSameZone);
    assert!(close(required.unserved_share, 0.0), "{required:?}");
    let needed = needs(&got, Policy::RequireSameZone);
    assert!(
        matches!(needed, Some(Needs::ProxyToRefuse { unserved_share }) if close(*unserved_share, 1.0 / 3.0)),
        "{needed:?}"
    );
    assert_eq!(needs(&got, Policy::PreferSameZoneThenRegion), None);
    let region = |policy| figures(&got, policy).regions.clone().expect("two regions");
    assert!(close(region(Policy::PreferSameZoneThenRegion).cross_region_share, 0.0));
    assert!(close(region(Policy::PreferSameZone).cross_region_share, 1.0 / 6.0));
}

#[test]
fn the_annotations_are_not_read_by_the_controller_of_kubernetes() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.service = world.service.distribution("PreferSameZone");
    world.service = world.service.annotated(label::OVERLOAD_THRESHOLD, "40%");
    world.service = world.service.annotated(label::TRAFFIC_DISTRIBUTION, "Balanced");
    let environment = Environment::fixed(Profile::Kubernetes, &Settings::kubernetes());
    let got = forecast_in(&environment, &world, &TrafficProfile::default(), None);
    assert_eq!(got.current, Policy::PreferSameZone);
    assert!(close(figures(&got, Policy::Auto).in_zone_share, 1.0 / 3.0), "20 % is the limit");
    for (policy, wanted) in [
        (Policy::Balanced, Needs::ControllerAndProxy),
        (Policy::RequireSameZone, Needs::ControllerAndProxy),
        (Policy::PreferSameRegion, Needs::Controller),
        (Policy::PreferSameZoneThenRegion, Needs::Controller),
    ] {
        assert_eq!(needs(&got, policy), Some(&wanted));
        assert!(!got.of(policy).is_some_and(Forecast::acts), "{policy}");
        assert_eq!(figures(&got, policy), figures(&got, Policy::None), "{policy}");
    }
    assert!(got.trades.iter().all(|trade| Policy::KUBERNETES.contains(&trade.policy)));
}

#[test]
fn a_threshold_of_the_service_is_the_allowance_and_the_limit_of_safety() {
    let mut world = equal(&[("a", 2), ("b", 1), ("c", 1)]);
    world.service = world.service.annotated(label::OVERLOAD_THRESHOLD, "40%");
    let got = forecast_all(&world);
    let balanced = figures(&got, Policy::Balanced);
    assert!(close(balanced.in_zone_share, 1.0), "{balanced:?}");
    assert!(close(balanced.max_load, 4.0 / 3.0), "{balanced:?}");
    assert_eq!(got.recommendation.policy, Policy::PreferSameZone, "133 % is within 40 %");
}

/// A zone without endpoints: what is refused can be served, at a price.
#[test]
fn refused_traffic_is_named_and_never_recommended() {
    let even = [("a", 2), ("b", 2)];
    let got = forecast_all(&equal(&even));
    let required = figures(&got, Policy::RequireSameZone);
    assert!(close(required.unserved_share, 1.0 / 3.0), "{required:?}");
    assert!(close(required.in_zone_share, 1.0), "of what is served: {required:?}");
    assert!(close(required.max_load, 2.0 / 3.0), "nobody is busier than before: {required:?}");
    assert_eq!(got.recommendation.policy, Policy::PreferSameZone);

    let got = forecast_all(&with_policy(equal(&even), Policy::RequireSameZone));
    assert_eq!(got.recommendation.policy, Policy::RequireSameZone, "kept: it is required");
    let why = &got.recommendation.why.reason;
    assert!(matches!(why, Why::CurrentPolicyRefuses { .. }), "{why:?}");
    let trade = &got.trades[0];
    assert_eq!(trade.policy, Policy::PreferSameZone);
    assert!(matches!(trade.benefits[0].reason, Benefit::ServesRefused { .. }), "{trade:?}");
    assert_eq!(trade.benefits[0].message, "33 % of traffic is served instead of refused");
}

#[test]
fn zone_shares_that_are_good_enough_are_not_out_of_date() {
    let mut world = with_policy(equal(&[("a", 2), ("b", 1), ("c", 1)]), Policy::Balanced);
    world.cluster.nodes[0].cpu_milli = 4200;
    let kept = forecast_all(&world);
    assert!(kept.caveats.is_empty(), "{:?}", kept.caveats);
    world.cluster.nodes[0].cpu_milli = 12_000;
    let moved = forecast_all(&world);
    assert!(matches!(moved.caveats[0].reason, Caveat::HintsOutdated { .. }), "{moved:?}");
}

#[test]
fn other_numbers_of_replicas_work_while_balanced_is_in_force() {
    let world = with_policy(equal(&[("a", 2), ("b", 1), ("c", 1)]), Policy::Balanced);
    for replicas in 0..=13 {
        let got = forecast(&world, &TrafficProfile::default(), Some(replicas));
        let balanced = figures(&got, Policy::Balanced);
        let expected = if replicas == 0 { 0.0 } else { 1.0 };
        // Rounded to parts per 1,000.
        assert!((balanced.max_load - expected).abs() < 0.02, "{replicas}: {balanced:?}");
    }
}

/// Two regions of two zones, one of which has no endpoints.
#[test]
fn less_traffic_across_regions_is_better_where_as_much_crosses_zones() {
    let nodes = [("a", 4), ("b", 4), ("c", 4), ("d", 4)];
    let mut world = world(&nodes, &[("a", 2), ("c", 2)], Settings::default());
    for (zone, region) in [("a", "east"), ("b", "east"), ("c", "west"), ("d", "west")] {
        world.cluster.set_region(zone, region);
    }
    let got = forecast_all(&with_policy(world, Policy::PreferSameZone));
    let now = figures(&got, Policy::PreferSameZone);
    let regions = now.regions.as_ref().expect("two regions");
    assert!(close(regions.in_region_share, 0.75), "{now:?}");
    let then = figures(&got, got.recommendation.policy);
    assert!(close(then.in_zone_share, now.in_zone_share), "{then:?}");
    assert!(close(then.regions.as_ref().expect("two").in_region_share, 1.0), "{then:?}");
    let why = &got.recommendation.why.reason;
    assert!(matches!(why, Why::LessCrossRegionTraffic { .. }), "{why:?}");
}
