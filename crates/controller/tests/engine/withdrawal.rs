//! Withdrawing where Kubernetes' own controller is at work, and not coming back.

use evenkeel_controller::engine::{Action, Outcome, Settings, Write};
use evenkeel_model::{SeenSlice, Watched, label};
use evenkeel_testkit::service;

use crate::{
    harness::{Harness, managed_by, seen, seen_slice},
    three_zones,
};

/// Our slice of a Service, and the same by the built-in controller.
fn both(harness: &mut Harness, name: &str) -> (SeenSlice, SeenSlice) {
    harness.service(service(name));
    let ours = harness.run().remove(0);
    let mut theirs = managed_by(ours.clone(), label::BUILT_IN);
    theirs.slice.name = format!("{name}-x7k2p").into();
    theirs.version = harness.version("theirs", 1);
    (ours, theirs)
}

/// The record is created, and is there from now on.
fn record(harness: &mut Harness, write: &Write) -> SeenSlice {
    let Action::Create { slice, .. } = &write.action else { panic!("{write:?}") };
    assert!(slice.endpoints.is_empty() && slice.ports.is_empty(), "{slice:?}");
    assert_eq!(slice.labels.get(label::WITHDRAWN).map(|value| &**value), Some("true"));
    let version = harness.version("record", 1);
    harness.done(write, version.clone());
    seen_slice(slice.clone(), version)
}

#[test]
fn where_the_built_in_controller_is_live_ours_records_it_and_goes_once_all_is_covered() {
    let mut harness = three_zones();
    let (ours, mut theirs) = both(&mut harness, "web");
    let last = theirs.slice.endpoints.pop().unwrap();
    harness.engine.slice(Watched::Applied(theirs.clone()));
    let write = harness.write();
    record(&mut harness, &write);
    let write = harness.write();
    let Action::Conditions { set, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(&*set[0].0.kind, "evenkeel.dev/TrafficDistributionProgrammed");
    assert_eq!(&*set[0].0.reason, "BuiltInControllerActive");
    harness.answer(&write, Outcome::Done);
    harness.run();
    assert_eq!(harness.engine.totals().withdrawn, 1);
    assert_eq!(harness.events.last().unwrap().0, "BuiltInControllerActive");
    // Not all of our endpoints were there yet; now they are.
    theirs.slice.endpoints.push(last);
    theirs.version = harness.version("theirs", 2);
    harness.engine.slice(Watched::Applied(theirs.clone()));
    let write = harness.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if *name == ours.slice.name));
    harness.answer(&write, Outcome::Gone);
    harness.pod("web", "pod-a2", "a", 9);
    harness.poll();
    assert!(harness.writes.is_empty(), "it is the other's now: {:?}", harness.writes);
}

/// Deletes used to come before anything durable: killed in between, or without conditions, the next
/// life took the Service back, and the other wrote it anew.
#[test]
fn a_restart_after_any_write_of_a_withdrawal_does_not_take_the_service_back() {
    for conditions in [true, false] {
        let settings = Settings { conditions, ..Settings::default() };
        let mut harness = three_zones();
        let (ours, theirs) = both(&mut harness, "web");
        harness.engine.slice(Watched::Applied(theirs.clone()));
        let write = harness.write();
        let record = record(&mut harness, &write);
        let delete = harness.write();
        assert!(matches!(delete.action, Action::Delete { .. }), "recorded first: {delete:?}");
        for slices in [vec![&record, &ours, &theirs], vec![&record, &theirs]] {
            let mut next = Harness::new(settings.clone()).zones(3);
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
    let mut harness = three_zones();
    let (ours, theirs) = both(&mut harness, "web");
    harness.engine.slice(Watched::Applied(theirs.clone()));
    let write = harness.write();
    let record = record(&mut harness, &write);
    harness.run();
    harness.engine.slice(Watched::Applied(record.clone()));
    harness.engine.slice(Watched::Deleted(crate::harness::gone(&theirs)));
    let write = harness.write();
    let Action::Update { slice, gone, .. } = &write.action else { panic!("{write:?}") };
    assert_eq!(slice.name, record.slice.name, "it is a slice like any other again");
    assert_eq!(slice.endpoints.len(), ours.slice.endpoints.len());
    assert_eq!(**gone, [label::WITHDRAWN.into()]);
}

#[test]
fn an_empty_slice_of_the_other_beside_ours_means_that_it_is_at_work() {
    let mut harness = three_zones();
    let (ours, theirs) = both(&mut harness, "nobody");
    assert!(ours.slice.endpoints.is_empty());
    harness.engine.slice(Watched::Applied(theirs));
    let write = harness.write();
    record(&mut harness, &write);
    let write = harness.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if *name == ours.slice.name));
}

/// A label of this name on the Service is the user's, and must not look like a record.
#[test]
fn the_label_of_a_record_is_not_passed_on_from_a_service() {
    let mut harness = three_zones();
    let mut labelled = service("web");
    labelled.labels.insert(label::WITHDRAWN.into(), "true".into());
    labelled.labels.insert("team".into(), "x".into());
    harness.engine.service(Watched::Listed(seen(labelled)));
    harness.engine.service(Watched::Complete);
    let slice = harness.run().remove(0).slice;
    assert!(!slice.labels.contains_key(label::WITHDRAWN) && slice.labels.contains_key("team"));
    harness.pod("other", "pod", "a", 9);
    harness.poll();
    assert!(harness.writes.is_empty());
}
