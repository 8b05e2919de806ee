//! The annotation `endpoints.kubernetes.io/last-change-trigger-time`.

use evenkeel_controller::engine::{Action, Outcome};
use evenkeel_model::{SeenPod, Watched};
use evenkeel_testkit::service;

use crate::{harness::Harness, three_zones};

fn trigger(harness: &mut Harness) -> Option<i64> {
    let write = harness.write();
    let (Action::Create { trigger, .. } | Action::Update { trigger, .. }) = write.action else {
        panic!("{write:?}")
    };
    let version = harness.version("web", 1);
    let uid = "slice".into();
    harness.done(&write, evenkeel_model::Version { uid, ..version });
    harness.poll();
    trigger
}

fn readiness(harness: &mut Harness, pod: &SeenPod, ready: bool, since: i64) {
    let mut pod = SeenPod { ready_since: Some(since), ..pod.clone() };
    pod.pod.ready = ready;
    harness.engine.pod(Watched::Applied(pod));
}

#[test]
fn the_first_write_carries_the_creation_of_the_service() {
    // Its Pods became ready at 1000, the Service was created at 500.
    let mut harness = three_zones();
    harness.service(service("web"));
    assert_eq!(trigger(&mut harness), Some(500));
}

#[test]
fn after_a_restart_the_first_change_carries_its_own_time() {
    let mut before = three_zones();
    let pod = before.pod("web", "pod-a", "a", 0);
    before.service(service("web"));
    let slices = before.run();

    let mut harness = three_zones();
    for slice in slices {
        harness.engine.slice(Watched::Applied(slice));
    }
    harness.service(service("web"));
    harness.poll();
    assert!(harness.writes.is_empty(), "nothing changed: {:?}", harness.writes);
    readiness(&mut harness, &pod, false, 7777);
    assert_eq!(trigger(&mut harness), Some(7777));
}

#[test]
fn a_sync_that_writes_nothing_uses_its_times_up_and_without_a_newer_one_there_is_none() {
    let mut harness = three_zones();
    let pod = harness.pod("web", "pod-a", "a", 0);
    harness.service(service("web"));
    assert_eq!(trigger(&mut harness), Some(500));
    // It became unready and ready again before the engine looked: no write.
    readiness(&mut harness, &pod, true, 2000);
    harness.pod("web", "pod-b", "b", 1);
    harness.engine.service(Watched::Applied(crate::harness::seen(evenkeel_model::Service {
        annotations: [("a".into(), "b".into())].into(),
        ..service("web")
    })));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    // A Pod that goes is no moment of its own.
    let gone = evenkeel_model::Gone {
        namespace: "default".into(),
        name: "pod-c".into(),
        uid: "any".into(),
    };
    harness.engine.pod(Watched::Deleted(gone));
    assert_eq!(trigger(&mut harness), None);
}

/// As in Kubernetes: the failed try has used the moment up.
#[test]
fn a_retry_carries_no_time() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    harness.answer(&write, Outcome::Refused { code: 403, message: "not now".into() });
    harness.now += std::time::Duration::from_secs(1);
    assert_eq!(trigger(&mut harness), None);
}
