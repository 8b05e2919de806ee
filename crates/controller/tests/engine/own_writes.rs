//! The engine's own writes against a watch that is behind, and writes whose end is not known.

use evenkeel_controller::engine::{Action, Outcome, SyncResult};
use evenkeel_model::Watched;
use evenkeel_testkit::service;

use crate::{
    harness::{gone, seen_slice},
    three_zones,
};

#[test]
fn a_watch_that_is_behind_is_not_believed() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let first = harness.run().remove(0);
    harness.pod("web", "pod-a2", "a", 9);
    let second = harness.run().remove(0);
    assert_eq!(second.version.generation, 2);
    // The watch shows the first state only now.
    harness.engine.slice(Watched::Applied(first));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    harness.engine.slice(Watched::Applied(second));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
}

#[test]
fn what_a_third_party_changes_is_put_right() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let mut slice = harness.run().remove(0);
    slice.slice.endpoints.pop();
    slice.version = harness.version(&slice.slice.name.clone(), 2);
    harness.engine.slice(Watched::Applied(slice));
    let write = harness.write();
    let Action::Update { slice, version, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!((slice.endpoints.len(), version.generation), (3, 2));
}

#[test]
fn a_create_that_timed_out_meets_itself() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let lost = harness.write();
    harness.answer(&lost, Outcome::Unknown { after: None, message: "no answer".into() });
    harness.now += std::time::Duration::from_secs(1);
    let read = harness.write();
    assert!(matches!(read.action, Action::Read { .. }), "{read:?}");
    harness.answer(&read, Outcome::Gone);
    let retry = harness.write();
    let (Action::Create { slice, .. }, Action::Create { slice: before, .. }) =
        (&retry.action, &lost.action)
    else {
        panic!("{retry:?}")
    };
    assert_eq!(slice.name, before.name, "the same slice has the same name");
    // It was in doubt, and not there when it was asked for; it came to be just then.
    harness.answer(&retry, Outcome::Exists);
    harness.poll();
    assert!(harness.writes.is_empty(), "the watch has a while to show it");
    harness.now += std::time::Duration::from_secs(2);
    let read = harness.write();
    assert!(matches!(&read.action, Action::Read { name } if *name == slice.name), "{read:?}");
    let version = harness.version(&slice.name, 1);
    let there = seen_slice(slice.clone(), version);
    harness.answer(&read, Outcome::Read(Box::new(there)));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    let results: Vec<_> = harness.reports.iter().map(|report| report.result).collect();
    let (bad, stale, good) = (SyncResult::Error, SyncResult::Stale, SyncResult::Success);
    assert_eq!(results, [bad, good, stale, good, good], "with a sync for each read");
}

#[test]
fn a_name_that_somebody_else_has_is_passed_over() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    let Action::Create { slice, .. } = &write.action else { panic!("{write:?}") };
    let mut foreign = slice.clone();
    foreign.labels.insert(evenkeel_model::label::SERVICE_NAME.into(), "other".into());
    harness.answer(&write, Outcome::Exists);
    harness.now += std::time::Duration::from_secs(2);
    let read = harness.write();
    let version = harness.version("foreign", 1);
    harness.answer(&read, Outcome::Read(Box::new(seen_slice(foreign, version))));
    let next = harness.write();
    let Action::Create { slice: next, .. } = &next.action else { panic!("{next:?}") };
    assert_ne!(next.name, slice.name);
}

#[test]
fn a_slice_that_went_before_its_write_was_answered_stays_gone() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    let Action::Create { slice, .. } = write.action.clone() else { panic!("{write:?}") };
    let version = harness.version(&slice.name, 1);
    let there = seen_slice(slice, version.clone());
    harness.engine.slice(Watched::Applied(there.clone()));
    harness.engine.slice(Watched::Deleted(gone(&there)));
    harness.done(&write, version);
    assert!(matches!(harness.write().action, Action::Create { .. }), "it is made anew");
}

#[test]
fn a_list_older_than_a_write_does_not_make_its_slice_be_forgotten() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let slice = harness.run().remove(0);
    harness.engine.slice(Watched::Restarted);
    harness.engine.slice(Watched::Complete);
    let read = harness.write();
    assert!(matches!(read.action, Action::Read { .. }), "{read:?}");
    harness.answer(&read, Outcome::Read(Box::new(slice.clone())));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    // Had it really gone, it is made again.
    harness.engine.slice(Watched::Applied(slice));
    harness.engine.slice(Watched::Restarted);
    harness.engine.slice(Watched::Complete);
    assert!(matches!(harness.write().action, Action::Create { .. }));
}

#[test]
fn a_deleted_slice_that_an_old_watch_shows_again_is_not_believed() {
    let mut harness = three_zones();
    harness.service(service("web").clone());
    let slice = harness.run().remove(0);
    harness.engine.slice(Watched::Applied(slice.clone()));
    let mut copy = slice.clone();
    copy.slice.name = "web-copy".into();
    copy.version = harness.version("copy", 1);
    harness.engine.slice(Watched::Applied(copy.clone()));
    let write = harness.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if **name == *"web-copy"));
    harness.answer(&write, Outcome::Gone);
    harness.engine.slice(Watched::Applied(copy.clone()));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    harness.engine.slice(Watched::Deleted(gone(&copy)));
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
}

#[test]
fn a_slice_that_was_given_to_another_service_before_its_write_was_answered_is_not_ours() {
    let mut harness = three_zones();
    harness.service(service("web"));
    let write = harness.write();
    let Action::Create { slice, .. } = write.action.clone() else { panic!("{write:?}") };
    let version = harness.version(&slice.name, 1);
    let mut moved = seen_slice(slice, harness.version("moved", 2));
    moved.version.uid = version.uid.clone();
    moved.slice.labels.insert(evenkeel_model::label::SERVICE_NAME.into(), "other".into());
    harness.engine.slice(Watched::Applied(moved));
    harness.done(&write, version);
    assert!(matches!(harness.write().action, Action::Create { .. }), "it is made anew");
}
