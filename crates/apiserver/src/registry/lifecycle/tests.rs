use serde_json::{Value, json};

use super::*;
use crate::kinds::{KindRef, NAMESPACE, POD, SERVICE};

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn object(metadata: &Value) -> Value {
    json!({"metadata": metadata, "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 30}})
}

fn decided(kind: &'static KindRef, object: Value, options: &DeleteOptions) -> Deletion {
    decide(kind, object, options, now()).unwrap()
}

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace_seconds: Some(seconds), ..DeleteOptions::default() }
}

#[test]
fn what_nobody_needs_goes_at_once() {
    let plain = object(&json!({"name": "a", "uid": "u"}));
    assert_eq!(decided(&SERVICE, plain, &DeleteOptions::default()), Deletion::Remove);
}

#[test]
fn a_finalizer_keeps_and_marks() {
    let held = object(&json!({"name": "a", "finalizers": ["x.io/f"], "generation": 1}));
    let Deletion::Mark(marked) = decided(&SERVICE, held, &grace(30)) else { panic!("it stays") };
    let metadata = &marked["metadata"];
    assert_eq!(metadata["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(metadata["deletionGracePeriodSeconds"], 0);
    assert_eq!(metadata["generation"], 2);
}

#[test]
fn a_pod_on_a_node_has_its_grace_and_a_second_delete_can_only_shorten_it() {
    let pod = object(&json!({"name": "a", "generation": 1}));
    let Deletion::Mark(marked) = decided(&POD, pod.clone(), &DeleteOptions::default()) else {
        panic!("it stays")
    };
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:30Z");
    assert_eq!(decided(&POD, marked.clone(), &grace(60)), Deletion::Pending);
    assert_eq!(decided(&POD, marked.clone(), &DeleteOptions::default()), Deletion::Pending);
    let Deletion::Mark(sooner) = decided(&POD, marked.clone(), &grace(5)) else { panic!("stays") };
    assert_eq!(sooner["metadata"]["deletionTimestamp"], "2026-01-01T00:00:05Z");
    assert_eq!(sooner["metadata"]["generation"], 2, "counted once");
    assert!(matches!(decided(&POD, marked, &grace(0)), Deletion::MarkThenRemove(_)));
    assert!(matches!(decided(&POD, pod, &grace(-7)), Deletion::Mark(_)), "negative is one second");
}

#[test]
fn propagation_is_written_down_as_a_finalizer() {
    let with = |propagation| DeleteOptions { propagation, ..DeleteOptions::default() };
    let plain = || object(&json!({"name": "a"}));
    for (policy, finalizer) in
        [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        let Deletion::Mark(marked) = decided(&SERVICE, plain(), &with(Some(policy))) else {
            panic!("it waits")
        };
        assert_eq!(marked["metadata"]["finalizers"], json!([finalizer]));
        // Another policy replaces it; without one it is removed.
        let background = with(Some(Propagation::Background));
        assert_eq!(decided(&SERVICE, marked, &background), Deletion::Remove);
    }
}

#[test]
fn a_namespace_is_terminating_until_it_is_finalized() {
    let namespace = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}});
    let Deletion::Mark(marked) = decided(&NAMESPACE, namespace, &DeleteOptions::default()) else {
        panic!("it stays")
    };
    assert_eq!(marked["status"]["phase"], "Terminating");
    let empty = json!({"metadata": {"name": "a"}, "spec": {}});
    assert_eq!(decided(&NAMESPACE, empty, &DeleteOptions::default()), Deletion::Remove);
}

#[test]
fn preconditions_hold_or_refuse() {
    let there = || object(&json!({"name": "a", "uid": "u", "resourceVersion": "7"}));
    let with = |uid: &str, version: &str| DeleteOptions {
        uid: Some(uid.into()),
        resource_version: Some(version.into()),
        ..DeleteOptions::default()
    };
    assert!(decide(&SERVICE, there(), &with("u", "7"), now()).is_ok());
    for other in [with("v", "7"), with("u", "8")] {
        let refused = decide(&SERVICE, there(), &other, now());
        assert!(matches!(refused, Err(Error::Precondition { .. })));
    }
}
