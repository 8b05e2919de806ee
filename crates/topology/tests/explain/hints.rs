use evenkeel_model::Hints;
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::explain::{Coverage, Outcome};

use crate::{even, explained};

#[test]
fn endpoints_whose_readiness_is_not_said_count_as_ready() {
    let mut world = even(service("web").distribution("PreferSameZone"));
    world.pods.clear();
    for slice in &mut world.slices {
        slice.endpoints.iter_mut().for_each(|e| e.conditions.ready = None);
    }
    let family = &explained(&world).families[0];
    assert_eq!((family.endpoints, family.ready), (3, 3));
    assert_eq!(family.hints.in_force, Coverage::All);
    assert!(family.views.iter().all(|view| view.in_zone_share == Some(1.0)));
}

#[test]
fn hints_that_are_empty_don_t_differ_from_none() {
    let mut world = even(service("web"));
    world.endpoint_mut("pod-a1").hints = Some(Hints::default());
    assert_eq!(explained(&world).families[0].hints.differences, []);
}

#[test]
fn endpoints_that_no_pod_backs_are_found() {
    let mut world = even(service("web").distribution("PreferSameZone"));
    world.remove_pods("b", 1);
    let hints = &explained(&world).families[0].hints;
    let stale: Vec<_> = hints.stale.iter().map(|e| e.pod.as_deref()).collect();
    assert_eq!(stale, [Some("pod-b1")]);
    world.pods.clear();
    assert_eq!(explained(&world).families[0].hints.stale, [], "Pods were not given");
}

#[test]
fn ready_pods_in_no_slice_are_missed() {
    let mut world = even(service("web").distribution("PreferSameZone"));
    world.add_pods("a", 1);
    let missing = &explained(&world).families[0].hints.missing_pods;
    assert_eq!(missing.as_slice(), ["pod-a2".into()]);
}

#[test]
fn a_service_without_a_selector_has_no_desired_hints() {
    let mut world = even(service("web"));
    world.service = world.service.distribution("PreferSameZone");
    world.service.selector = None;
    world.pods.clear();
    let hints = &explained(&world).families[0].hints;
    assert_eq!(hints.desired.reason, Outcome::NotManaged);
    assert_eq!(hints.differences, []);
}
