//! Servers that say no for now: busy, or the namespace is being deleted.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Outcome, SyncResult};
use evenkeel_testkit::service;

use crate::three_zones;

#[test]
fn a_busy_server_is_asked_again_when_it_says_and_nothing_is_in_doubt() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let after = Some(Duration::from_secs(7));
    desk.answer(&write, Outcome::Busy { after });
    desk.pod("web", "pod-a2", "a", 9);
    desk.poll();
    assert_eq!(desk.engine.next_due(), after, "a change does not bring it forward");
    assert_eq!(desk.reports[0].result, SyncResult::Throttled);
    assert!(desk.events.is_empty(), "no failure: {:?}", desk.events);
    desk.now = Duration::from_secs(7);
    let retry = desk.write();
    assert!(matches!(retry.action, Action::Create { .. }), "it was not done: {retry:?}");
}

#[test]
fn a_busy_server_that_names_no_time_is_asked_again_after_a_second() {
    let mut desk = three_zones();
    desk.service(service("web"));
    for n in 1..5 {
        let write = desk.write();
        desk.answer(&write, Outcome::Busy { after: None });
        desk.poll();
        assert_eq!(desk.engine.next_due(), Some(Duration::from_secs(n)), "no longer each time");
        desk.now = Duration::from_secs(n);
    }
}

#[test]
fn a_server_that_may_have_done_it_is_asked_what_it_did() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let after = Some(Duration::from_secs(7));
    desk.answer(&write, Outcome::Unknown { after, message: "broken off".into() });
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
fn a_namespace_that_is_being_deleted_is_no_failure_and_not_retried() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    desk.answer(&write, Outcome::NamespaceTerminating);
    desk.poll();
    assert_eq!(desk.reports.len(), 1);
    assert_eq!(desk.reports[0].result, SyncResult::Success);
    assert!(desk.events.is_empty() && desk.writes.is_empty(), "{:?}", desk.events);
    assert_eq!(desk.engine.next_due(), None);
}
