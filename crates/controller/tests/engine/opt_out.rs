//! Services that opted in, and do so no longer.

use evenkeel_controller::engine::{Action, Outcome, Scope, Settings};
use evenkeel_model::{SeenService, SeenSlice, Service, Watched, label};
use evenkeel_testkit::service;

use crate::harness::{Harness, managed_by, seen};

/// A Service that opted in beside the built-in controller, with its slice.
fn opted_in() -> (Harness, SeenSlice) {
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(3);
    for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
        harness.pod("web", &format!("pod-{zone}"), zone, serial);
    }
    harness.complete();
    harness.service(Service { opted_in: true, ..service("web") });
    let ours = harness.run().remove(0);
    (harness, ours)
}

/// The built-in controller's slice with the first `n` endpoints of ours.
fn theirs(harness: &mut Harness, ours: &SeenSlice, n: usize) -> SeenSlice {
    let mut theirs = managed_by(ours.clone(), label::BUILT_IN);
    theirs.slice.name = "web-x7k2p".into();
    theirs.slice.endpoints.truncate(n);
    let generation = i64::try_from(n).unwrap();
    theirs.version = harness.version("theirs", generation);
    theirs
}

/// What conditions say, if they are written.
fn condition(harness: &mut Harness) -> Option<(String, String)> {
    let write = harness.write();
    let Action::Conditions { set, .. } = &write.action else { panic!("{write:?}") };
    let said = set.first().map(|(c, _)| (c.reason.to_string(), c.message.to_string()));
    harness.answer(&write, Outcome::Done);
    harness.poll();
    said
}

#[test]
fn a_service_that_gets_its_selector_back_loses_our_slices_once_its_pods_are_listed() {
    let (mut harness, ours) = opted_in();
    harness.engine.service(Watched::Applied(seen(service("web"))));
    let (reason, message) = condition(&mut harness).unwrap();
    assert_eq!(reason, "OptedOut");
    assert!(message.contains("the Service has spec.selector"), "{message}");
    assert_eq!(harness.events.last().unwrap().0, "EndpointSlicesNotUpdated");
    assert_eq!(harness.engine.totals().stale_slices, 1);
    for n in [0, 2] {
        let theirs = theirs(&mut harness, &ours, n);
        harness.engine.slice(Watched::Applied(theirs));
        harness.poll();
        assert!(harness.writes.is_empty(), "{n} of 3 are listed: {:?}", harness.writes);
    }
    let theirs = theirs(&mut harness, &ours, 3);
    harness.engine.slice(Watched::Applied(theirs));
    let write = harness.write();
    assert!(matches!(&write.action, Action::Delete { name, .. } if *name == ours.slice.name));
    assert_eq!(harness.events.last().unwrap().0, "EndpointSlicesReleased");
    harness.answer(&write, Outcome::Gone);
    harness.poll();
    let Action::Conditions { set, remove, .. } = &harness.write().action else { panic!() };
    assert_eq!((set.len(), remove.len()), (0, 1), "nothing is left to say");
    assert_eq!(harness.engine.totals().stale_slices, 0);
}

/// The Pods of a rollout that came in between are listed by the other alone, and those of ours
/// that went are waited for by nobody.
#[test]
fn pods_that_went_meanwhile_do_not_keep_our_slices() {
    let (mut harness, ours) = opted_in();
    harness.engine.service(Watched::Applied(seen(service("web"))));
    condition(&mut harness);
    let gone = ours.slice.endpoints[2].target.clone().unwrap();
    harness.engine.pod(Watched::Deleted(evenkeel_model::Gone {
        namespace: gone.namespace.clone(),
        name: gone.name.clone(),
        uid: gone.uid.clone(),
    }));
    let theirs = theirs(&mut harness, &ours, 2);
    harness.engine.slice(Watched::Applied(theirs));
    assert!(matches!(harness.write().action, Action::Delete { .. }));
}

#[test]
fn a_service_with_neither_selector_nor_annotation_keeps_our_slices_and_says_so() {
    let (mut harness, ours) = opted_in();
    let bare = Service { selector: None, ..service("web") };
    harness.engine.service(Watched::Applied(seen(bare.clone())));
    let (reason, message) = condition(&mut harness).unwrap();
    assert_eq!(reason, "OptedOut");
    assert!(message.contains("neither spec.selector nor the annotation"), "{message}");
    let told = harness.events.len();
    // A restart finds the condition, and says nothing again.
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut again = Harness::new(settings).zones(3);
    again.complete();
    again.engine.slice(Watched::Applied(ours.clone()));
    let conditions = vec![evenkeel_model::Condition {
        kind: "evenkeel.dev/TrafficDistributionProgrammed".into(),
        status: false,
        reason: reason.into(),
        message: message.into(),
    }];
    again.engine.service(Watched::Listed(SeenService { conditions, ..seen(bare) }));
    again.engine.service(Watched::Complete);
    again.poll();
    assert!(again.writes.is_empty() && again.events.is_empty(), "{:?}", again.events);
    assert_eq!(harness.events.len(), told);
    // Slices made by hand that list the same Pods take over.
    let mut theirs = theirs(&mut harness, &ours, 3);
    theirs.slice.labels.insert(label::MANAGED_BY.into(), "by-hand.example".into());
    harness.engine.slice(Watched::Applied(theirs));
    assert!(matches!(harness.write().action, Action::Delete { .. }));
}

/// Kubernetes copies the Endpoints object that a Service leaves behind when it opts in, and removes
/// the copy when the Service has a selector again: before its own slices are there.
#[test]
fn copies_of_endpoints_cover_nothing() {
    let (mut harness, ours) = opted_in();
    let mut copy = theirs(&mut harness, &ours, 3);
    copy.slice.labels.insert(label::MANAGED_BY.into(), label::MIRRORING.into());
    harness.engine.slice(Watched::Applied(copy));
    harness.engine.service(Watched::Applied(seen(service("web"))));
    condition(&mut harness);
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
}

#[test]
fn without_conditions_events_alone_say_so() {
    let settings = Settings { scope: Scope::Annotated, conditions: false, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(3);
    harness.pod("web", "pod-a", "a", 1);
    harness.complete();
    harness.service(Service { opted_in: true, ..service("web") });
    harness.run();
    harness.engine.service(Watched::Applied(seen(service("web"))));
    harness.poll();
    let reasons: Vec<_> = harness.events.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(reasons, ["EndpointSlicesNotUpdated"]);
    harness.pod("web", "pod-b", "b", 2);
    harness.poll();
    assert_eq!(harness.events.len(), 1, "it is told once");
    assert!(harness.writes.is_empty());
}
