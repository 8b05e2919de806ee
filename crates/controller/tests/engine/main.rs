//! The engine alone: inputs and answers by hand, one case at a time. Random ones are in
//! `tests/faults`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod altered;
mod busy;
mod harness;
mod honored;
mod nodes;
mod opt_out;
mod own_writes;
mod ownership;
mod shares;
mod standby;
mod status;
mod together;
mod triggers;
mod withdrawal;

use evenkeel_controller::engine::{Action, Settings, SyncResult};
use evenkeel_model::{SeenPod, SeenService, Watched};
use evenkeel_testkit::{ServiceExt, service};

use crate::harness::{Harness, seen};

/// Three zones with a Pod each, and a Service that asks for Auto.
pub(crate) fn three_zones() -> Harness {
    let mut harness = Harness::new(Settings::default()).zones(3);
    for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
        harness.pod("web", &format!("pod-{zone}"), zone, serial);
    }
    harness.complete();
    harness
}

#[test]
fn nothing_is_planned_before_all_lists_are_complete_and_the_lease_is_held() {
    let mut harness = Harness::new(Settings::default()).zones(2);
    harness.engine.lead(false);
    harness.pod("web", "pod-a", "a", 1);
    harness.complete();
    harness.engine.service(Watched::Listed(seen(service("web"))));
    harness.engine.lead(true);
    harness.poll();
    assert!(harness.writes.is_empty() && !harness.engine.is_synced());
    harness.engine.service(Watched::Complete);
    harness.engine.lead(false);
    harness.poll();
    assert!(harness.writes.is_empty() && harness.engine.is_synced());
    harness.engine.lead(true);
    assert!(matches!(harness.write().action, Action::Create { .. }));
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing() {
    let mut harness = three_zones();
    harness.service(service("web").auto());
    let slices = harness.run();
    assert_eq!(slices.len(), 1);
    assert_eq!(harness.events.len(), 1, "{:?}", harness.events);

    let mut again = three_zones();
    for slice in &slices {
        again.engine.slice(Watched::Applied(slice.clone()));
    }
    let conditions = conditions_of(&harness);
    again
        .engine
        .service(Watched::Listed(SeenService { conditions, ..seen(service("web").auto()) }));
    again.engine.service(Watched::Complete);
    again.poll();
    assert!(again.writes.is_empty(), "{:?}", again.writes);
    assert!(again.events.is_empty(), "{:?}", again.events);
    assert_eq!(again.reports.len(), 1);
}

fn conditions_of(harness: &Harness) -> Vec<evenkeel_model::Condition> {
    let said = |kind: &str, reason: &str, message: &str| evenkeel_model::Condition {
        kind: kind.into(),
        status: true,
        reason: reason.into(),
        message: message.into(),
    };
    assert!(harness.reports.iter().all(|report| report.result == SyncResult::Success));
    vec![
        said(
            "TrafficDistributionAccepted",
            "SetByAnnotation",
            "annotation service.kubernetes.io/topology-mode: Auto",
        ),
        said("TrafficDistributionProgrammed", "HintsProgrammed", "all ready endpoints have hints"),
    ]
}

#[test]
fn one_pod_that_changes_is_one_write() {
    let mut harness = three_zones();
    harness.service(service("web"));
    harness.engine.service(Watched::Applied(seen(service("other"))));
    harness.run();
    harness.reports.clear();
    let pod = harness.pod("web", "pod-a2", "a", 9);
    let write = harness.write();
    let Action::Update { slice, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.endpoints.len(), 4);
    let version = harness.version(&slice.name, 2);
    harness.done(&write, version);
    harness.engine.pod(Watched::Applied(pod));
    harness.poll();
    assert!(harness.writes.is_empty(), "the same again is no change");
    assert!(
        harness.reports.iter().all(|report| &*report.service.name == "web"),
        "{:?}",
        harness.reports
    );
}

#[test]
fn a_node_that_comes_late_brings_its_pods_in() {
    let mut harness = three_zones();
    let pod = harness.pod("web", "pod-late", "x", 8);
    harness.service(service("web"));
    let slices = harness.run();
    assert_eq!(slices[0].slice.endpoints.len(), 3);
    assert_eq!(harness.reports[0].without_node, 1);
    let zone = harness.engine.topology_mut().zones.intern("a");
    let node = evenkeel_model::Node {
        id: pod.pod.node.unwrap(),
        zone: Some(zone),
        region: None,
        cpu_milli: 1000,
        ready: true,
        control_plane: false,
    };
    harness.engine.node(Watched::Applied(node));
    assert_eq!(harness.run()[0].slice.endpoints.len(), 4);
}

#[test]
fn pods_without_address_twice_the_address_or_unknown_labels_disturb_nobody() {
    let mut harness = three_zones();
    let pod = harness.pod("web", "no-address", "a", 7);
    let mut bare = pod.clone();
    bare.pod.ips.clear();
    harness.engine.pod(Watched::Applied(bare));
    let twin = SeenPod { pod: evenkeel_model::Pod { name: "twin".into(), ..pod.pod }, ..pod };
    harness.engine.pod(Watched::Applied(twin));
    let labels = (0..100_000).map(|n| (format!("key-{n}"), "x".to_owned())).collect();
    let many = harness.pod("other", "many-labels", "b", 6);
    harness.engine.pod(Watched::Applied(SeenPod { labels, ..many }));
    harness.service(service("web"));
    let slices = harness.run();
    assert_eq!(slices[0].slice.endpoints.len(), 4, "three Pods and the twin");
}
