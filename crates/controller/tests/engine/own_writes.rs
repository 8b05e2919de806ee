//! The engine's own writes against a watch that is behind, and writes whose end is not known.

use evenkeel_controller::engine::{Action, Outcome, SyncResult};
use evenkeel_model::Watched;
use evenkeel_testkit::service;

use crate::{
    desk::{gone, seen_slice},
    three_zones,
};

#[test]
fn a_watch_that_is_behind_is_not_believed() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let first = desk.run().remove(0);
    desk.pod("web", "pod-a2", "a", 9);
    let second = desk.run().remove(0);
    assert_eq!(second.version.generation, 2);
    // The watch shows the first state only now.
    desk.engine.slice(Watched::Applied(first));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    desk.engine.slice(Watched::Applied(second));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
}

#[test]
fn what_a_third_party_changes_is_put_right() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let mut slice = desk.run().remove(0);
    slice.slice.endpoints.pop();
    slice.version = desk.version(&slice.slice.name.clone(), 2);
    desk.engine.slice(Watched::Applied(slice));
    let write = desk.write();
    let Action::Update { slice, version, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!((slice.endpoints.len(), version.generation), (3, 2));
}

#[test]
fn a_create_that_timed_out_meets_itself() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let lost = desk.write();
    desk.answer(&lost, Outcome::Unknown { after: None, message: "no answer".into() });
    desk.now += std::time::Duration::from_secs(1);
    let read = desk.write();
    assert!(matches!(read.action, Action::Read { .. }), "{read:?}");
    desk.answer(&read, Outcome::Gone);
    let retry = desk.write();
    let (Action::Create { slice, .. }, Action::Create { slice: before, .. }) =
        (&retry.action, &lost.action)
    else {
        panic!("{retry:?}")
    };
    assert_eq!(slice.name, before.name, "the same slice has the same name");
    // It was in doubt, and not there when it was asked for; it came to be just then.
    desk.answer(&retry, Outcome::Exists);
    desk.poll();
    assert!(desk.writes.is_empty(), "the watch has a while to show it");
    desk.now += std::time::Duration::from_secs(2);
    let read = desk.write();
    assert!(matches!(&read.action, Action::Read { name } if *name == slice.name), "{read:?}");
    let version = desk.version(&slice.name, 1);
    let there = seen_slice(slice.clone(), version);
    desk.answer(&read, Outcome::Read(Box::new(there)));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    let results: Vec<_> = desk.reports.iter().map(|report| report.result).collect();
    let (bad, stale, good) = (SyncResult::Error, SyncResult::Stale, SyncResult::Success);
    assert_eq!(results, [bad, good, stale, good, good], "with a sync for each read");
}

#[test]
fn a_name_that_somebody_else_has_is_passed_over() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let Action::Create { slice, .. } = &write.action else { panic!("{write:?}") };
    let mut foreign = slice.clone();
    foreign.labels.insert(evenkeel_model::label::SERVICE_NAME.into(), "other".into());
    desk.answer(&write, Outcome::Exists);
    desk.now += std::time::Duration::from_secs(2);
    let read = desk.write();
    let version = desk.version("foreign", 1);
    desk.answer(&read, Outcome::Read(Box::new(seen_slice(foreign, version))));
    let next = desk.write();
    let Action::Create { slice: next, .. } = &next.action else { panic!("{next:?}") };
    assert_ne!(next.name, slice.name);
}

#[test]
fn a_slice_that_went_before_its_write_was_answered_stays_gone() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let Action::Create { slice, .. } = write.action.clone() else { panic!("{write:?}") };
    let version = desk.version(&slice.name, 1);
    let there = seen_slice(slice, version.clone());
    desk.engine.slice(Watched::Applied(there.clone()));
    desk.engine.slice(Watched::Deleted(gone(&there)));
    desk.done(&write, version);
    assert!(matches!(desk.write().action, Action::Create { .. }), "it is made anew");
}

#[test]
fn a_list_older_than_a_write_does_not_make_its_slice_be_forgotten() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let slice = desk.run().remove(0);
    desk.engine.slice(Watched::Restarted);
    desk.engine.slice(Watched::Complete);
    let read = desk.write();
    assert!(matches!(read.action, Action::Read { .. }), "{read:?}");
    desk.answer(&read, Outcome::Read(Box::new(slice.clone())));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    // Had it really gone, it is made again.
    desk.engine.slice(Watched::Applied(slice));
    desk.engine.slice(Watched::Restarted);
    desk.engine.slice(Watched::Complete);
    assert!(matches!(desk.write().action, Action::Create { .. }));
}

#[test]
fn a_deleted_slice_that_an_old_watch_shows_again_is_not_believed() {
    let mut desk = three_zones();
    desk.service(service("web").clone());
    let slice = desk.run().remove(0);
    desk.engine.slice(Watched::Applied(slice.clone()));
    let mut copy = slice.clone();
    copy.slice.name = "web-copy".into();
    copy.version = desk.version("copy", 1);
    desk.engine.slice(Watched::Applied(copy.clone()));
    let write = desk.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if **name == *"web-copy"));
    desk.answer(&write, Outcome::Gone);
    desk.engine.slice(Watched::Applied(copy.clone()));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    desk.engine.slice(Watched::Deleted(gone(&copy)));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
}

#[test]
fn a_slice_that_was_given_to_another_service_before_its_write_was_answered_is_not_ours() {
    let mut desk = three_zones();
    desk.service(service("web"));
    let write = desk.write();
    let Action::Create { slice, .. } = write.action.clone() else { panic!("{write:?}") };
    let version = desk.version(&slice.name, 1);
    let mut moved = seen_slice(slice, desk.version("moved", 2));
    moved.version.uid = version.uid.clone();
    moved.slice.labels.insert(evenkeel_model::label::SERVICE_NAME.into(), "other".into());
    desk.engine.slice(Watched::Applied(moved));
    desk.done(&write, version);
    assert!(matches!(desk.write().action, Action::Create { .. }), "it is made anew");
}
