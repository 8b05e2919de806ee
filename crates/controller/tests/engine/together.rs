//! Which writes are under way at once.

use std::collections::BTreeSet;

use evenkeel_controller::engine::{Action, Outcome, Settings};
use evenkeel_model::{AddressType, Gone, Watched};
use evenkeel_testkit::{ServiceExt, service};

use crate::harness::{Harness, seen};

fn harness(max_in_flight: usize, pods: usize) -> Harness {
    let mut settings = Settings { max_in_flight, ..Settings::default() };
    settings.topology.max_endpoints_per_slice = 10;
    let mut harness = Harness::new(settings).zones(2);
    for serial in 0..pods {
        harness.pod("web", &format!("pod-{serial}"), "a", serial);
    }
    harness.complete();
    harness
}

#[test]
fn new_slices_of_one_service_are_created_at_the_same_time() {
    let mut harness = harness(32, 60);
    harness.service(service("web"));
    harness.poll();
    let creates = harness.writes.iter().filter(|w| matches!(w.action, Action::Create { .. }));
    assert_eq!(creates.count(), 6);
    let names: BTreeSet<_> =
        harness.writes.iter().map(|w| w.action.slice_name().unwrap()).collect();
    assert_eq!(names.len(), 6, "each has its own name");
}

#[test]
fn one_service_leaves_room_for_others_and_the_limit_counts_all_writes() {
    let mut harness = harness(10, 200);
    harness.pod("api", "api", "a", 900);
    harness.engine.service(Watched::Listed(seen(service("web"))));
    harness.engine.service(Watched::Listed(seen(service("api"))));
    harness.engine.service(Watched::Complete);
    harness.poll();
    let of = |name: &str| harness.writes.iter().filter(|w| &*w.service.name == name).count();
    assert_eq!((of("web"), of("api")), (8, 1));

    let mut narrow = self::harness(1, 60);
    narrow.service(service("web").dual_stack());
    narrow.poll();
    assert_eq!(narrow.writes.len(), 1);
    assert_eq!(narrow.run().len(), 12, "one after the other, all are done");
}

/// What adds is answered before anything that takes away is sent, and deletes come last: an endpoint
/// that goes from one slice to another is never missing.
#[test]
fn what_takes_away_waits_for_what_adds() {
    let mut harness = harness(32, 10);
    harness.service(service("web").dual_stack());
    let before = harness.run();
    assert_eq!(before.len(), 2, "full slices of both families");
    harness.engine.service(Watched::Applied(seen(service("web"))));
    let gone = Gone { namespace: "default".into(), name: "pod-3".into(), uid: "any".into() };
    harness.engine.pod(Watched::Deleted(gone));
    for serial in 20..26 {
        harness.pod("web", &format!("pod-{serial}"), "a", serial);
    }
    let create = harness.write();
    assert!(matches!(create.action, Action::Create { .. }), "{create:?}");
    let version = harness.version("x", 1);
    harness.done(&create, version);
    let update = harness.write();
    assert!(matches!(update.action, Action::Update { .. }), "{update:?}");
    let version = harness.version("y", 2);
    harness.done(&update, version);
    let delete = harness.write();
    assert!(matches!(delete.action, Action::Delete { .. }), "{delete:?}");
}

#[test]
fn a_write_that_fails_stops_what_comes_after_and_the_others_count() {
    let mut harness = harness(32, 40);
    harness.service(service("web"));
    harness.poll();
    let writes: Vec<_> = harness.writes.drain(..).collect();
    assert_eq!(writes.len(), 4);
    for write in &writes[..3] {
        let version = harness.version("x", 1);
        harness.done(write, version);
    }
    harness.poll();
    assert!(harness.reports.is_empty(), "one is still under way");
    harness.answer(&writes[3], Outcome::Refused { code: 500, message: "no".into() });
    harness.now += std::time::Duration::from_secs(1);
    let retry = harness.write();
    assert_eq!(retry.action.slice_name(), writes[3].action.slice_name(), "only that is left");
}

#[test]
fn families_are_created_together() {
    let mut harness = harness(32, 1);
    harness.service(service("web").dual_stack());
    harness.poll();
    let families: Vec<_> = harness
        .writes
        .iter()
        .map(|w| match &w.action {
            Action::Create { slice, .. } => slice.address_type,
            action => panic!("{action:?}"),
        })
        .collect();
    assert_eq!(families, [AddressType::IPv4, AddressType::IPv6]);
}
