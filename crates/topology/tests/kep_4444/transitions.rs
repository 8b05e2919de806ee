//! "Upgrade / Downgrade Strategy": what happens to hints when what was asked for changes.

use evenkeel_model::{AddressType, Service};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};
use evenkeel_topology::{Gates, HintEvent, NoHints, Settings, plan::HintOutcome};

struct Expected {
    hints: HintOutcome,
    event: Option<NoHints>,
    hinted: &'static [(&'static str, usize)],
}

/// Gives hints to four Pods of zone a and none of zone b, makes the change, and plans again.
fn check(mut before: World, change: impl Fn(&mut World), expected: &Expected) {
    for (profile, settings) in profiles() {
        before.settings = settings;
        let mut world = before.clone();
        world.sync();
        assert!(world.endpoints().all(|e| e.hints.is_some()), "{profile}");
        change(&mut world);
        let plan = world.sync();
        assert_eq!(plan.families[0].hints, expected.hints, "{profile}");
        let family = AddressType::IPv4;
        let event = expected.event.clone();
        let events: Vec<HintEvent> =
            event.map(|why| HintEvent::Disabled { family, why }).into_iter().collect();
        assert_eq!(plan.events, events, "{profile}");
        assert_eq!(world.hinted(), expected.hinted, "{profile}");
        let again = world.sync();
        assert!(again.is_empty() && again.events.is_empty(), "{profile}");
    }
}

fn asking(service: Service) -> World {
    let (cluster, settings) = (Cluster::equal_zones(2), Settings::default());
    World::new(cluster, service, settings).with_pods(&[("a", 4)])
}

#[test]
fn removing_the_annotation_removes_hints_and_says_so() {
    let change = |world: &mut World| world.service.annotations.clear();
    let expected = Expected {
        hints: HintOutcome::NotRequested,
        event: Some(NoHints::NoLongerRequested),
        hinted: &[],
    };
    check(asking(service("web").auto()), change, &expected);
}

#[test]
fn removing_the_annotation_hands_over_to_the_field() {
    let change = |world: &mut World| world.service.annotations.clear();
    let expected = Expected {
        hints: HintOutcome::OwnZone,
        event: Some(NoHints::NoLongerRequested),
        hinted: &[("a", 4)],
    };
    let both = service("web").auto().distribution("PreferClose");
    check(asking(both), change, &expected);
}

#[test]
fn removing_the_field_removes_hints_without_an_event() {
    let change = |world: &mut World| world.service.traffic_distribution = None;
    let expected = Expected { hints: HintOutcome::NotRequested, event: None, hinted: &[] };
    let both = service("web").distribution("PreferSameNode");
    check(asking(both), change, &expected);
}

// Upon downgrade of EndpointSlice controller and kube-proxy, the trafficDistribution will simply
// not be considered in any decisions.
#[test]
fn a_gate_that_goes_off_removes_hints() {
    let change = |world: &mut World| {
        world.settings.gates = Gates { service_traffic_distribution: false, ..Gates::ALL_ON };
    };
    let expected = Expected { hints: HintOutcome::NotRequested, event: None, hinted: &[] };
    let close = service("web").distribution("PreferClose");
    check(asking(close), change, &expected);
}

// Hints are for ready endpoints; when the Pod is ready again it gets its own anew.
#[test]
fn a_pod_that_is_no_longer_ready_loses_its_hint() {
    for (profile, settings) in profiles() {
        for service in [service("web").auto(), service("web").distribution("PreferSameNode")] {
            let mut world = asking(service);
            world.settings = settings.clone();
            world.add_pods("b", 2);
            world.sync();
            let hints = world.endpoint_mut("pod-b1").hints.clone();
            world.pods[4].ready = false;
            world.sync();
            assert_eq!(world.endpoint_mut("pod-b1").hints, None, "{profile}");
            world.pods[4].ready = true;
            world.sync();
            assert_eq!(world.endpoint_mut("pod-b1").hints, hints, "{profile}");
        }
    }
}
