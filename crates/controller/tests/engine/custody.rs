//! Taking over slices of Kubernetes' own controller, and withdrawing where it is at work.

use evenkeel_controller::engine::{Action, Outcome, Scope, Settings};
use evenkeel_model::{SeenSlice, Service, Watched, label};
use evenkeel_testkit::service;

use crate::{
    desk::{Desk, managed_by, seen, seen_slice},
    three_zones,
};

/// What ours would have written for the Service.
fn slice_of(service: &Service) -> SeenSlice {
    let mut desk = three_zones();
    desk.service(service.clone());
    desk.run().remove(0)
}

#[test]
fn slices_of_the_built_in_controller_are_taken_over_by_relabelling_alone() {
    let built_in = managed_by(slice_of(&service("web")), label::BUILT_IN);
    let mut desk = three_zones();
    desk.engine.slice(Watched::Applied(built_in.clone()));
    desk.service(service("web"));
    let write = desk.write();
    let Action::Relabel { name, version, manager } = &write.action else { panic!("{write:?}") };
    assert_eq!((name, version), (&built_in.slice.name, &built_in.version));
    assert_eq!(&**manager, label::EVENKEEL);
    let mut stored = managed_by(built_in.clone(), label::EVENKEEL);
    stored.version = desk.version(&built_in.slice.name, 2);
    desk.answer(&write, Outcome::Stored(Box::new(stored)));
    desk.poll();
    assert!(desk.writes.is_empty(), "nothing else is to be done: {:?}", desk.writes);
}

#[test]
fn beside_the_built_in_controller_only_services_that_opted_in_are_ours() {
    let settings = Settings { scope: Scope::Annotated, ..Settings::default() };
    let mut desk = Desk::new(settings).zones(2);
    desk.pod("web", "pod-a", "a", 1);
    desk.complete();
    desk.engine.service(Watched::Listed(seen(service("web"))));
    // One that can't be read is not ours either, and its slices are left alone.
    let mut wrong = seen(service("wrong"));
    wrong.problem = Some("spec.ports[0].port: …".into());
    desk.engine.service(Watched::Listed(wrong));
    let theirs = evenkeel_testkit::slice(
        &service("wrong"),
        "wrong-x7k2p",
        evenkeel_model::AddressType::IPv4,
        Vec::new(),
    );
    let version = desk.version("theirs", 1);
    desk.engine.slice(Watched::Applied(seen_slice(theirs, version)));
    let mut mine = service("mine");
    mine.selector = service("web").selector;
    mine.opted_in = true;
    mine.traffic_distribution = Some("PreferSameZone".into());
    desk.engine.service(Watched::Listed(seen(mine.clone())));
    desk.engine.service(Watched::Complete);
    let write = desk.write();
    assert_eq!(write.service, mine.key);
    let version = desk.version("mine", 1);
    desk.done(&write, version);
    let Action::Conditions { set, .. } = desk.write().action else { panic!("no conditions") };
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
    let mut desk = Desk::new(settings).zones(3);
    for (serial, zone) in ["a", "b", "c"].into_iter().enumerate() {
        desk.pod("web", &format!("pod-{zone}"), zone, serial);
    }
    desk.complete();
    let name: std::sync::Arc<str> = "web-x7k2p".into();
    let mut theirs = left_over.clone();
    theirs.slice.name = name.clone();
    desk.engine.slice(Watched::Applied(theirs.clone()));
    desk.service(opted.clone());
    let first = desk.write();
    let Action::Create { slice, .. } = &first.action else { panic!("{first:?}") };
    assert_eq!(slice.endpoints.len(), 3);
    let version = desk.version(&slice.name, 1);
    desk.done(&first, version);
    let second = desk.write();
    assert!(matches!(&second.action, Action::Delete { name: gone, .. } if *gone == name));
    desk.answer(&second, Outcome::Gone);
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    // Where the built-in controller is off, they are taken over like any other: slices of both
    // would look like one that is live, should the Service opt out in between.
    let mut alone = three_zones();
    alone.engine.slice(Watched::Applied(theirs));
    alone.service(opted);
    assert!(matches!(alone.write().action, Action::Relabel { .. }));
}
