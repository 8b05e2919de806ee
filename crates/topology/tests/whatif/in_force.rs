//! Hints as they are, and policies that can't change them.

use evenkeel_model::{Conditions, TrafficPolicy, label};
use evenkeel_testkit::ServiceExt;
use evenkeel_topology::{
    Policy,
    whatif::{Caveat, TrafficProfile},
};

use crate::support::{close, equal, figures, forecast};

#[test]
fn hints_of_slices_that_others_write_stay_as_they_are() {
    let mut world = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    world.service = world.service.distribution("PreferSameZone");
    world.sync();
    let mut others = world.slices[0].clone();
    others.labels.insert(label::MANAGED_BY.into(), "release-script".into());
    others.endpoints = vec![others.endpoints[0].clone()];
    others.endpoints[0].hints = None;
    world.slices[0].endpoints.remove(0);
    world.slices.push(others);
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    let now = figures(&forecasts, Policy::PreferSameZone);
    assert!(close(now.in_zone_share, 1.0 / 3.0), "an endpoint without hint undoes all: {now:?}");
    assert!(close(figures(&forecasts, Policy::Auto).in_zone_share, 1.0 / 3.0));
    let caveats: Vec<&Caveat> = forecasts.caveats.iter().map(|c| &c.reason).collect();
    assert_eq!(caveats, [&Caveat::UnmanagedSlices { endpoints: 1 }]);
}

#[test]
fn hints_that_are_not_written_yet_are_told_and_do_not_change_the_advice() {
    let mut world = equal(&[("a", 2), ("b", 2), ("c", 2)]);
    world.service = world.service.distribution("PreferSameZone");
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    assert!(close(figures(&forecasts, Policy::PreferSameZone).in_zone_share, 1.0 / 3.0));
    assert_eq!(forecasts.recommendation.policy, Policy::PreferSameZone);
    let caveat = &forecasts.caveats[0].reason;
    assert_eq!(*caveat, Caveat::HintsOutdated { in_zone_share: 1.0, max_load: 1.0 });
}

#[test]
fn policies_that_cannot_act_show_the_figures_of_none_and_are_not_recommended() {
    let even = [("a", 2), ("b", 2), ("c", 2)];
    let mut cases = [equal(&even), equal(&even), equal(&even), equal(&even)];
    cases[0].service.cluster_ip_none = true;
    cases[1].service.selector = None;
    cases[2].service.exposure.internal = TrafficPolicy::Local;
    cases[3].settings.gates.service_traffic_distribution = false;
    cases[3].settings.gates.topology_aware_hints = false;
    for (case, world) in cases.iter().enumerate() {
        let forecasts = forecast(world, &TrafficProfile::default(), None);
        for of_policy in &forecasts.policies[1..] {
            assert!(of_policy.cannot_act.is_some(), "{case}: {}", of_policy.policy);
            assert_eq!(of_policy.figures, *figures(&forecasts, Policy::None), "{case}");
        }
        assert_eq!(forecasts.recommendation.policy, Policy::None, "{case}");
    }
}

#[test]
fn auto_acts_alone_where_the_gate_of_distributions_is_off() {
    let mut world = equal(&[("a", 2), ("b", 2), ("c", 2)]);
    world.settings.gates.service_traffic_distribution = false;
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    assert!(close(figures(&forecasts, Policy::Auto).in_zone_share, 1.0));
    assert!(close(figures(&forecasts, Policy::PreferSameZone).in_zone_share, 1.0 / 3.0));
    assert_eq!(forecasts.recommendation.policy, Policy::Auto);
}

#[test]
fn endpoints_that_do_not_say_whether_they_are_ready_take_traffic() {
    let mut world = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    world.slices[0].endpoints[0].conditions = Conditions::default();
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    assert_eq!(forecasts.endpoints, 3);
    // The producer gives it no hint, so consumers ignore all hints.
    assert!(close(figures(&forecasts, Policy::PreferSameZone).in_zone_share, 1.0 / 3.0));
}

#[test]
fn endpoints_that_terminate_take_the_traffic_when_none_is_ready() {
    let mut world = equal(&[("a", 1), ("b", 1), ("c", 1)]);
    for endpoint in &mut world.slices[0].endpoints {
        endpoint.conditions =
            Conditions { ready: Some(false), serving: Some(true), terminating: Some(true) };
    }
    let forecasts = forecast(&world, &TrafficProfile::default(), None);
    assert_eq!(forecasts.endpoints, 0);
    let none = figures(&forecasts, Policy::None);
    assert!(close(none.in_zone_share, 1.0 / 3.0) && close(none.unserved_share, 0.0), "{none:?}");
}
