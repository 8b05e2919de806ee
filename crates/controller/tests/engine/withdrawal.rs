//! Withdrawing where Kubernetes' own controller is at work, and not coming back.

use evenkeel_controller::engine::{Action, Outcome, Settings, Write};
use evenkeel_model::{SeenSlice, Watched, label};
use evenkeel_testkit::service;

use crate::{
    desk::{Desk, managed_by, seen, seen_slice},
    three_zones,
};

/// Our slice of a Service, and the same by the built-in controller.
fn both(desk: &mut Desk, name: &str) -> (SeenSlice, SeenSlice) {
    desk.service(service(name));
    let ours = desk.run().remove(0);
    let mut theirs = managed_by(ours.clone(), label::BUILT_IN);
    theirs.slice.name = format!("{name}-x7k2p").into();
    theirs.version = desk.version("theirs", 1);
    (ours, theirs)
}

/// The record is created, and is there from now on.
fn record(desk: &mut Desk, write: &Write) -> SeenSlice {
    let Action::Create { slice, .. } = &write.action else { panic!("{write:?}") };
    assert!(slice.endpoints.is_empty() && slice.ports.is_empty(), "{slice:?}");
    assert_eq!(slice.labels.get(label::WITHDRAWN).map(|value| &**value), Some("true"));
    let version = desk.version("record", 1);
    desk.done(write, version.clone());
    seen_slice(slice.clone(), version)
}

#[test]
fn where_the_built_in_controller_is_live_ours_records_it_and_goes_once_all_is_covered() {
    let mut desk = three_zones();
    let (ours, mut theirs) = both(&mut desk, "web");
    let last = theirs.slice.endpoints.pop().unwrap();
    desk.engine.slice(Watched::Applied(theirs.clone()));
    let write = desk.write();
    record(&mut desk, &write);
    let write = desk.write();
    let Action::Conditions { set, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(&*set[0].0.kind, "evenkeel.dev/TrafficDistributionProgrammed");
    assert_eq!(&*set[0].0.reason, "BuiltInControllerActive");
    desk.answer(&write, Outcome::Done);
    desk.run();
    assert_eq!(desk.engine.totals().withdrawn, 1);
    assert_eq!(desk.events.last().unwrap().0, "BuiltInControllerActive");
    // Not all of our endpoints were there yet; now they are.
    theirs.slice.endpoints.push(last);
    theirs.version = desk.version("theirs", 2);
    desk.engine.slice(Watched::Applied(theirs.clone()));
    let write = desk.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if *name == ours.slice.name));
    desk.answer(&write, Outcome::Gone);
    desk.pod("web", "pod-a2", "a", 9);
    desk.poll();
    assert!(desk.writes.is_empty(), "it is the other's now: {:?}", desk.writes);
}

/// Deletes used to come before anything durable: killed in between, or without conditions, the next
/// life took the Service back, and the other wrote it anew.
#[test]
fn a_restart_after_any_write_of_a_withdrawal_does_not_take_the_service_back() {
    for conditions in [true, false] {
        let settings = Settings { conditions, ..Settings::default() };
        let mut desk = three_zones();
        let (ours, theirs) = both(&mut desk, "web");
        desk.engine.slice(Watched::Applied(theirs.clone()));
        let write = desk.write();
        let record = record(&mut desk, &write);
        let delete = desk.write();
        assert!(matches!(delete.action, Action::Delete { .. }), "recorded first: {delete:?}");
        for slices in [vec![&record, &ours, &theirs], vec![&record, &theirs]] {
            let mut next = Desk::new(settings.clone()).zones(3);
            for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
                next.pod("web", &format!("pod-{zone}"), zone, serial);
            }
            next.complete();
            for slice in &slices {
                next.engine.slice(Watched::Applied((*slice).clone()));
            }
            next.service(service("web"));
            next.poll();
            let writes: Vec<_> = next.writes.drain(..).collect();
            let relabels = writes.iter().any(|w| matches!(w.action, Action::Relabel { .. }));
            assert!(!relabels, "conditions {conditions}, {} slices: {writes:?}", slices.len());
            assert_eq!(next.engine.totals().withdrawn, 1);
        }
    }
}

#[test]
fn the_record_is_used_up_when_the_other_is_gone() {
    let mut desk = three_zones();
    let (ours, theirs) = both(&mut desk, "web");
    desk.engine.slice(Watched::Applied(theirs.clone()));
    let write = desk.write();
    let record = record(&mut desk, &write);
    desk.run();
    desk.engine.slice(Watched::Applied(record.clone()));
    desk.engine.slice(Watched::Deleted(crate::desk::gone(&theirs)));
    let write = desk.write();
    let Action::Update { slice, gone, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.name, record.slice.name, "it is a slice like any other again");
    assert_eq!(slice.endpoints.len(), ours.slice.endpoints.len());
    assert_eq!(**gone, [label::WITHDRAWN.into()]);
}

#[test]
fn an_empty_slice_of_the_other_beside_ours_means_that_it_is_at_work() {
    let mut desk = three_zones();
    let (ours, theirs) = both(&mut desk, "nobody");
    assert!(ours.slice.endpoints.is_empty());
    desk.engine.slice(Watched::Applied(theirs));
    let write = desk.write();
    record(&mut desk, &write);
    let write = desk.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if *name == ours.slice.name));
}

/// A label of this name on the Service is the user's, and must not look like a record.
#[test]
fn the_label_of_a_record_is_not_passed_on_from_a_service() {
    let mut desk = three_zones();
    let mut labelled = service("web");
    labelled.labels.insert(label::WITHDRAWN.into(), "true".into());
    labelled.labels.insert("team".into(), "x".into());
    desk.engine.service(Watched::Listed(seen(labelled)));
    desk.engine.service(Watched::Complete);
    let slice = desk.run().remove(0).slice;
    assert!(!slice.labels.contains_key(label::WITHDRAWN) && slice.labels.contains_key("team"));
    desk.pod("other", "pod", "a", 9);
    desk.poll();
    assert!(desk.writes.is_empty());
}
