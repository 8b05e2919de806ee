//! The annotation `endpoints.kubernetes.io/last-change-trigger-time`.

use evenkeel_controller::engine::{Action, Outcome};
use evenkeel_model::{SeenPod, Watched};
use evenkeel_testkit::service;

use crate::{desk::Desk, three_zones};

fn trigger(desk: &mut Desk) -> Option<i64> {
    let write = desk.write();
    let (Action::Create { trigger, .. } | Action::Update { trigger, .. }) = write.action else {
        panic!("{write:?}")
    };
    let version = desk.version("web", 1);
    let uid = "slice".into();
    desk.done(&write, evenkeel_model::Version { uid, ..version });
    desk.poll();
    trigger
}

fn readiness(desk: &mut Desk, pod: &SeenPod, ready: bool, since: i64) {
    let mut pod = SeenPod { ready_since: Some(since), ..pod.clone() };
    pod.pod.ready = ready;
    desk.engine.pod(Watched::Applied(pod));
}

#[test]
fn the_first_write_carries_the_creation_of_the_service() {
    // Its Pods became ready at 1000, the Service was created at 500.
    let mut desk = three_zones();
    desk.service(service("web"));
    assert_eq!(trigger(&mut desk), Some(500));
}

#[test]
fn after_a_restart_the_first_change_carries_its_own_time() {
    let mut before = three_zones();
    let pod = before.pod("web", "pod-a", "a", 0);
    before.service(service("web"));
    let slices = before.run();

    let mut desk = three_zones();
    for slice in slices {
        desk.engine.slice(Watched::Applied(slice));
    }
    desk.service(service("web"));
    desk.poll();
    assert!(desk.writes.is_empty(), "nothing changed: {:?}", desk.writes);
    readiness(&mut desk, &pod, false, 7777);
    assert_eq!(trigger(&mut desk), Some(7777));
}

#[test]
fn a_sync_that_writes_nothing_uses_its_times_up_and_without_a_newer_one_there_is_none() {
    let mut desk = three_zones();
    let pod = desk.pod("web", "pod-a", "a", 0);
    desk.service(service("web"));
    assert_eq!(trigger(&mut desk), Some(500));
    // It became unready and ready again before the engine looked: no write.
    readiness(&mut desk, &pod, true, 2000);
    desk.pod("web", "pod-b", "b", 1);
    desk.engine.service(Watched::Applied(crate::desk::seen(evenkeel_model::Service {
        annotations: [("a".into(), "b".into())].into(),
        ..service("web")
    })));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    // A Pod that goes is no moment of its own.
    let gone = evenkeel_model::Gone {
        namespace: "default".into(),
        name: "pod-c".into(),
        uid: "any".into(),
    };
    desk.engine.pod(Watched::Deleted(gone));
    assert_eq!(trigger(&mut desk), None);
}

/// As in Kubernetes: the failed try has used the moment up.
#[test]
fn a_retry_carries_no_time() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    desk.answer(&write, Outcome::Refused { code: 403, message: "not now".into() });
    desk.now += std::time::Duration::from_secs(1);
    assert_eq!(trigger(&mut desk), None);
}
