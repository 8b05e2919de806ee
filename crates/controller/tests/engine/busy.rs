//! Servers that say no for now: busy, or the namespace is being deleted.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Outcome, SyncResult};
use evenkeel_testkit::service;

use crate::three_zones;

#[test]
fn a_busy_server_is_asked_again_when_it_says_and_nothing_is_in_doubt() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    let after = Some(Duration::from_secs(7));
    harness.answer(&write, Outcome::Busy { after });
    harness.pod("web", "pod-a2", "a", 9);
    harness.poll();
    assert_eq!(harness.engine.next_due(), after, "a change does not bring it forward");
    assert_eq!(harness.reports[0].result, SyncResult::Throttled);
    assert!(harness.events.is_empty(), "no failure: {:?}", harness.events);
    harness.now = Duration::from_secs(7);
    let retry = harness.write();
    assert!(matches!(retry.action, Action::Create { .. }), "it was not done: {retry:?}");
}

#[test]
fn a_busy_server_that_names_no_time_is_asked_again_after_a_second() {
    let mut harness = three_zones();
    harness.service(service("web"));
    for n in 1..5 {
        let write = harness.write();
        harness.answer(&write, Outcome::Busy { after: None });
        harness.poll();
        assert_eq!(harness.engine.next_due(), Some(Duration::from_secs(n)), "no longer each time");
        harness.now = Duration::from_secs(n);
    }
}

#[test]
fn a_server_that_may_have_done_it_is_asked_what_it_did() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    let after = Some(Duration::from_secs(7));
    harness.answer(&write, Outcome::Unknown { after, message: "broken off".into() });
    harness.poll();
    assert_eq!(harness.engine.next_due(), after);
    assert_eq!(harness.reports[0].result, SyncResult::Error);
    assert_eq!(harness.events[0].0, "FailedToUpdateEndpointSlices");
    harness.now = Duration::from_secs(7);
    let read = harness.write();
    assert!(matches!(read.action, Action::Read { .. }), "whether it was done is not known");
    harness.answer(&read, Outcome::Gone);
    assert!(matches!(harness.write().action, Action::Create { .. }));
}

#[test]
fn a_namespace_that_is_being_deleted_is_no_failure_and_not_retried() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    harness.answer(&write, Outcome::NamespaceTerminating);
    harness.poll();
    assert_eq!(harness.reports.len(), 1);
    assert_eq!(harness.reports[0].result, SyncResult::Success);
    assert!(harness.events.is_empty() && harness.writes.is_empty(), "{:?}", harness.events);
    assert_eq!(harness.engine.next_due(), None);
}
