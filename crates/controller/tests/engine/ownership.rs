//! Taking over slices of Kubernetes' own controller, and withdrawing where it is at work.

use evenkeel_controller::engine::{Action, Outcome, Scope, Settings};
use evenkeel_model::{SeenSlice, Service, Watched, label};
use evenkeel_testkit::service;

use crate::{
    harness::{Harness, managed_by, seen, seen_slice},
    three_zones,
};

/// What ours would have written for the Service.
fn slice_of(service: &Service) -> SeenSlice {
    let mut harness = three_zones();
    harness.service(service.clone());
    harness.run().remove(0)
}

#[test]
fn slices_of_the_built_in_controller_are_taken_over_by_relabelling_alone() {
    let built_in = managed_by(slice_of(&service("web")), label::BUILT_IN);
    let mut harness = three_zones();
    harness.engine.slice(Watched::Applied(built_in.clone()));
    harness.service(service("web"));
    let write = harness.write();
    let Action::Relabel { name, version, manager } = &write.action else { panic!("{write:?}") };
    assert_eq!((name, version), (&built_in.slice.name, &built_in.version));
    assert_eq!(&**manager, label::EVENKEEL);
    let mut stored = managed_by(built_in.clone(), label::EVENKEEL);
    stored.version = harness.version(&built_in.slice.name, 2);
    harness.answer(&write, Outcome::Stored(Box::new(stored)));
    harness.poll();
    assert!(harness.writes.is_empty(), "nothing else is to be done: {:?}", harness.writes);
}

#[test]
fn beside_the_built_in_controller_only_services_that_opted_in_are_ours() {
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(2);
    harness.pod("web", "pod-a", "a", 1);
    harness.complete();
    harness.engine.service(Watched::Listed(seen(service("web"))));
    // One that can't be read is not ours either, and its slices are left alone.
    let mut wrong = seen(service("wrong"));
    wrong.problem = Some("spec.ports[0].port: …".into());
    harness.engine.service(Watched::Listed(wrong));
    let theirs = evenkeel_testkit::slice(
        &service("wrong"),
        "wrong-x7k2p",
        evenkeel_model::AddressType::IPv4,
        Vec::new(),
    );
    let version = harness.version("theirs", 1);
    harness.engine.slice(Watched::Applied(seen_slice(theirs, version)));
    let mut mine = service("mine");
    mine.selector = service("web").selector;
    mine.opted_in = true;
    mine.traffic_distribution = Some("PreferSameZone".into());
    harness.engine.service(Watched::Listed(seen(mine.clone())));
    harness.engine.service(Watched::Complete);
    let write = harness.write();
    assert_eq!(write.service, mine.key);
    let version = harness.version("mine", 1);
    harness.done(&write, version);
    let Action::Conditions { set, .. } = harness.write().action else { panic!("no conditions") };
    let kinds: Vec<_> = set.iter().map(|(condition, _)| condition.kind.to_string()).collect();
    assert_eq!(
        kinds,
        ["evenkeel.dev/TrafficDistributionAccepted", "evenkeel.dev/TrafficDistributionProgrammed"]
    );
}

#[test]
fn slices_left_over_from_before_a_service_opted_in_are_replaced_by_ours_first() {
    let mut opted = service("web");
    opted.opted_in = true;
    let left_over = managed_by(slice_of(&service("web")), label::BUILT_IN);
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut harness = Harness::new(settings).zones(3);
    for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
        harness.pod("web", &format!("pod-{zone}"), zone, serial);
    }
    harness.complete();
    let name: std::sync::Arc<str> = "web-x7k2p".into();
    let mut theirs = left_over.clone();
    theirs.slice.name = name.clone();
    harness.engine.slice(Watched::Applied(theirs.clone()));
    harness.service(opted.clone());
    let first = harness.write();
    let Action::Create { slice, .. } = &first.action else { panic!("{first:?}") };
    assert_eq!(slice.endpoints.len(), 3);
    let version = harness.version(&slice.name, 1);
    harness.done(&first, version);
    let second = harness.write();
    assert!(matches!(&second.action, Action::Delete { name: gone, .. } if *gone == name));
    harness.answer(&second, Outcome::Gone);
    harness.poll();
    assert!(harness.writes.is_empty(), "{:?}", harness.writes);
    // Where the built-in controller is off, they are taken over like any other: slices of both
    // would look like one that is live, should the Service opt out in between.
    let mut alone = three_zones();
    alone.engine.slice(Watched::Applied(theirs));
    alone.service(opted);
    assert!(matches!(alone.write().action, Action::Relabel { .. }));
}
