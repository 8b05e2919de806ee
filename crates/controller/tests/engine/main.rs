//! The engine at a desk: inputs and answers by hand, one case at a time. Random ones are in
//! `tests/faults`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod custody;
mod desk;
mod own_writes;
mod status;

use std::time::Duration;

use evenkeel_controller::engine::{Action, Outcome, Settings, SyncResult};
use evenkeel_model::{AddressType, SeenPod, SeenService, Watched};
use evenkeel_testkit::{ServiceExt, service};

use crate::desk::{Desk, seen};

/// Three zones with a Pod each, and a Service that asks for Auto.
pub(crate) fn three_zones() -> Desk {
    let mut desk = Desk::new(Settings::default()).zones(3);
    for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
        desk.pod("web", &format!("pod-{zone}"), zone, serial);
    }
    desk.complete();
    desk
}

#[test]
fn nothing_is_planned_before_all_lists_are_complete_and_the_lease_is_held() {
    let mut desk = Desk::new(Settings::default()).zones(2);
    desk.engine.lead(false);
    desk.pod("web", "pod-a", "a", 1);
    desk.complete();
    desk.engine.service(Watched::Listed(seen(service("web"))));
    desk.engine.lead(true);
    desk.poll();
    assert!(desk.writes.is_empty() && !desk.engine.is_synced());
    desk.engine.service(Watched::Complete);
    desk.engine.lead(false);
    desk.poll();
    assert!(desk.writes.is_empty() && desk.engine.is_synced());
    desk.engine.lead(true);
    assert!(matches!(desk.write().action, Action::Create { .. }));
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing() {
    let mut desk = three_zones();
    desk.service(service("web").auto());
    let slices = desk.run();
    assert_eq!(slices.len(), 1);
    assert_eq!(desk.events.len(), 1, "{:?}", desk.events);

    let mut again = three_zones();
    for slice in &slices {
        again.engine.slice(Watched::Applied(slice.clone()));
    }
    let conditions = conditions_of(&desk);
    again
        .engine
        .service(Watched::Listed(SeenService { conditions, ..seen(service("web").auto()) }));
    again.engine.service(Watched::Complete);
    again.poll();
    assert!(again.writes.is_empty(), "{:?}", again.writes);
    assert!(again.events.is_empty(), "{:?}", again.events);
    assert_eq!(again.reports.len(), 1);
}

fn conditions_of(desk: &Desk) -> Vec<evenkeel_model::Condition> {
    let said = |kind: &str, reason: &str, message: &str| evenkeel_model::Condition {
        kind: kind.into(),
        status: true,
        reason: reason.into(),
        message: message.into(),
    };
    assert!(desk.reports.iter().all(|report| report.result == SyncResult::Success));
    vec![
        said(
            "TrafficDistributionAccepted",
            "AskedByAnnotation",
            "annotation service.kubernetes.io/topology-mode: Auto",
        ),
        said(
            "TrafficDistributionProgrammed",
            "HintsInForce",
            "every ready endpoint carries a hint",
        ),
    ]
}

#[test]
fn one_pod_that_changes_is_one_write() {
    let mut desk = three_zones();
    desk.service(service("web"));
    desk.engine.service(Watched::Applied(seen(service("other"))));
    desk.run();
    desk.reports.clear();
    let pod = desk.pod("web", "pod-a2", "a", 9);
    let write = desk.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 4);
    let version = desk.version(&slice.name, 2);
    desk.answer(&write, Outcome::Done(version));
    desk.engine.pod(Watched::Applied(pod));
    desk.poll();
    assert!(desk.writes.is_empty(), "the same again is no change");
    assert!(desk.reports.iter().all(|report| &*report.service.name == "web"), "{:?}", desk.reports);
}

#[test]
fn writes_of_one_service_go_one_after_the_other_and_those_of_many_together() {
    let settings = Settings { max_in_flight: 2, ..Settings::default() };
    let mut desk = Desk::new(settings).zones(2);
    for app in ["web", "api", "db"] {
        desk.pod(app, app, "a", app.len());
    }
    desk.complete();
    for app in ["web", "api", "db"] {
        desk.engine.service(Watched::Listed(seen(service(app).dual_stack())));
    }
    desk.engine.service(Watched::Complete);
    desk.poll();
    let under_way: Vec<_> = desk.writes.iter().map(|w| w.service.name.to_string()).collect();
    assert_eq!(under_way, ["web", "api"]);
    let first = desk.writes.pop_front().unwrap();
    let version = desk.version("x", 1);
    desk.answer(&first, Outcome::Done(version));
    desk.poll();
    let next = desk.writes.back().unwrap();
    let Action::Create { slice, .. } = &next.action else { panic!("{next:?}") };
    assert_eq!((&*next.service.name, slice.address_type), ("web", AddressType::IPv6));
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let after = Some(Duration::from_secs(7));
    desk.answer(&write, Outcome::Unknown { after, message: "busy".into() });
    desk.poll();
    assert_eq!(desk.engine.next_due(), after);
    assert_eq!(desk.reports[0].result, SyncResult::Error);
    assert_eq!(desk.events[0].0, "FailedToUpdateEndpointSlices");
    desk.now = Duration::from_secs(7);
    let read = desk.write();
    assert!(matches!(read.action, Action::Read { .. }), "whether it was done is not known");
    desk.answer(&read, Outcome::Gone);
    assert!(matches!(desk.write().action, Action::Create { .. }));
}

#[test]
fn a_node_that_comes_late_brings_its_pods_in() {
    let mut desk = three_zones();
    let pod = desk.pod("web", "pod-late", "x", 8);
    desk.service(service("web"));
    let slices = desk.run();
    assert_eq!(slices[0].slice.endpoints.len(), 3);
    assert_eq!(desk.reports[0].without_node, 1);
    let zone = desk.engine.topology_mut().zones.intern("a");
    let node = evenkeel_model::Node {
        id: pod.pod.node.unwrap(),
        zone: Some(zone),
        cpu_milli: 1000,
        ready: true,
        control_plane: false,
    };
    desk.engine.node(Watched::Applied(node));
    assert_eq!(desk.run()[0].slice.endpoints.len(), 4);
}

#[test]
fn pods_without_address_twice_the_address_or_unknown_labels_disturb_nobody() {
    let mut desk = three_zones();
    let pod = desk.pod("web", "no-address", "a", 7);
    let mut bare = pod.clone();
    bare.pod.ips.clear();
    desk.engine.pod(Watched::Applied(bare));
    let twin = SeenPod { pod: evenkeel_model::Pod { name: "twin".into(), ..pod.pod }, ..pod };
    desk.engine.pod(Watched::Applied(twin));
    let labels = (0..100_000).map(|n| (format!("key-{n}"), "x".to_owned())).collect();
    let many = desk.pod("other", "many-labels", "b", 6);
    desk.engine.pod(Watched::Applied(SeenPod { labels, ..many }));
    desk.service(service("web"));
    let slices = desk.run();
    assert_eq!(slices[0].slice.endpoints.len(), 4, "three Pods and the twin");
}
