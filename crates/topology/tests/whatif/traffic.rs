//! Where traffic comes from, and what becomes of it when a zone is lost.

use evenkeel_model::Snapshot;
use evenkeel_topology::{
    Policy, Settings,
    whatif::{Caveat, ServiceTraffic, TrafficProfile},
};

use crate::support::{close, equal, figures, forecast, profile, world};

#[test]
fn a_lost_zone_moves_its_clients_to_the_others() {
    let world = world(
        &[("a", 4), ("b", 4), ("c", 4)],
        &[("a", 2), ("b", 2), ("c", 2)],
        Settings::default(),
    );
    let given = TrafficProfile { gb_per_month: Some(1000.0), ..TrafficProfile::default() };
    let forecasts = forecast(&world, &given, None);
    let same_zone = &forecasts.policies[2];
    assert_eq!(same_zone.policy, Policy::PreferSameZone);
    assert_eq!(same_zone.zone_lost.len(), 3);
    for lost in &same_zone.zone_lost {
        assert!(close(lost.figures.in_zone_share, 1.0), "{lost:?}");
        assert!(close(lost.figures.max_load, 1.5), "half as much again as today: {lost:?}");
    }
    let none = &forecasts.policies[0].zone_lost[0].figures;
    assert!(close(none.cross_zone_gb.unwrap_or_default(), 500.0), "half of all traffic: {none:?}");
    assert!(close(none.cost.unwrap_or_default(), 10.0), "a cent each way: {none:?}");
}

#[test]
fn the_loss_of_the_only_zone_with_endpoints_is_a_total_outage() {
    let forecasts = forecast(&equal(&[("a", 6)]), &TrafficProfile::default(), None);
    for of_policy in &forecasts.policies {
        let unserved: Vec<f64> =
            of_policy.zone_lost.iter().map(|lost| lost.figures.unserved_share).collect();
        let others = if of_policy.policy == Policy::RequireSameZone { 0.5 } else { 0.0 };
        assert_eq!(unserved, [1.0, others, others], "{}", of_policy.policy);
    }
}

#[test]
fn the_loss_of_the_only_zone_is_a_total_outage() {
    let world = world(&[("a", 4)], &[("a", 2)], Settings::default());
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    assert!(close(forecasts.policies[0].zone_lost[0].figures.unserved_share, 1.0));
}

#[test]
fn clients_without_a_zone_count_as_neither_near_nor_far() {
    let mut world = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    world.cluster.nodes[2].zone = None;
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    let none = figures(&forecasts, Policy::None);
    assert!(close(none.unknown_zone_share, 1.0 / 3.0), "{none:?}");
    assert!(close(none.cross_zone_share, 4.0 / 9.0), "{none:?}");
    assert!(matches!(forecasts.caveats[0].reason, Caveat::UnknownZone { .. }));
}

#[test]
fn traffic_from_one_zone_is_not_blamed_on_the_pods() {
    let world = equal(&[("a", 2), ("b", 2), ("c", 2)]);
    let forecasts = forecast(&world, &profile(&[("a", 800.0)]), None);
    let why = &forecasts.recommendation.why;
    assert!(why.message.ends_with("most traffic comes from a"), "{}", why.message);
    let lost = &forecasts.policies[2].zone_lost[0].figures;
    assert!(close(lost.in_zone_share, 1.0) && close(lost.unserved_share, 0.0), "{lost:?}");
}

#[test]
fn names_in_a_traffic_file_that_are_nowhere_are_found() {
    let world = equal(&[("a", 1)]);
    let snapshot = Snapshot {
        topology: world.cluster.topology.clone(),
        nodes: world.cluster.nodes.clone(),
        ..Snapshot::default()
    };
    let mut profile = profile(&[("a", 1.0), ("x", 1.0)]);
    profile.services.insert("default/nope".into(), ServiceTraffic::default());
    assert_eq!(profile.unknown_zones(&snapshot).into_iter().collect::<Vec<_>>(), ["x"]);
    assert_eq!(profile.unknown_services(&snapshot), ["default/nope"]);
}
