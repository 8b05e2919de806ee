use evenkeel_topology::{
    Policy, Settings,
    whatif::{Caveat, TrafficProfile, Why},
};

use crate::support::{close, equal, figures, forecast, world};

#[test]
fn replicas_are_spread_over_zones() {
    let world = world(&[("a", 4), ("b", 4), ("c", 4)], &[("a", 3), ("b", 1)], Settings::default());
    let at = |n| forecast(&world, &TrafficProfile::default(), Some(n));
    assert!(close(figures(&at(6), Policy::PreferSameZone).in_zone_share, 1.0));
    assert_eq!(at(0).endpoints, 0);
    assert_eq!(at(9).endpoints, 9);
    assert!(matches!(at(0).recommendation.why.reason, Why::NoReadyEndpoints));
}

#[test]
fn replicas_of_confined_pods_stay_in_their_zones() {
    let mut world = equal(&[("a", 1), ("b", 1)]);
    world.pods[0].confined = true;
    let forecasts = forecast(&world, &TrafficProfile::default(), Some(9));
    assert_eq!(forecasts.endpoints, 9);
    let lost: Vec<f64> =
        forecasts.policies[0].zone_lost.iter().map(|l| l.figures.max_load).collect();
    assert!(close(lost[2], 1.0), "zone c has no endpoint to lose: {lost:?}");
}

#[test]
fn replicas_that_find_no_node_are_not_counted() {
    let mut world = equal(&[("a", 1), ("b", 1)]);
    world.cluster.nodes.iter_mut().for_each(|node| node.ready = false);
    let forecasts = forecast(&world, &TrafficProfile::default(), Some(5));
    assert_eq!(forecasts.endpoints, 2);
    let caveat = &forecasts.caveats[0].reason;
    assert_eq!(*caveat, Caveat::ReplicasUnschedulable { endpoints: 2, unschedulable: 3 });
}

#[test]
fn replicas_are_taken_from_the_fullest_zone() {
    let world = equal(&[("a", 5), ("b", 2), ("c", 1)]);
    let forecasts = forecast(&world, &TrafficProfile::default(), Some(3));
    assert!(close(figures(&forecasts, Policy::PreferSameZone).max_load, 1.0));
    assert!(close(figures(&forecasts, Policy::PreferSameZone).in_zone_share, 1.0));
}
