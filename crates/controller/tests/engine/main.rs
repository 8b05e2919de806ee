//! The engine at a desk: inputs and answers by hand, one case at a time. Random ones are in
//! `tests/faults`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod altered;
mod busy;
mod custody;
mod desk;
mod nodes;
mod opt_out;
mod own_writes;
mod standby;
mod status;
mod together;
mod triggers;
mod withdrawal;

use evenkeel_controller::engine::{Action, Settings, SyncResult};
use evenkeel_model::{SeenPod, SeenService, Watched};
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
            "SetByAnnotation",
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
    desk.done(&write, version);
    desk.engine.pod(Watched::Applied(pod));
    desk.poll();
    assert!(desk.writes.is_empty(), "the same again is no change");
    assert!(desk.reports.iter().all(|report| &*report.service.name == "web"), "{:?}", desk.reports);
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
