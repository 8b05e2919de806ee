use evenkeel_model::{AddressType, EventNote, Service};
use evenkeel_testkit::{ServiceExt, World, service};
use evenkeel_topology::explain::{Check, From, Status};

use crate::{code, even, explained, explained_as, state};

const DISABLED: &str = "TopologyAwareHintsDisabled";
const ENABLED: &str = "TopologyAwareHintsEnabled";
const FAILED: &str = "FailedToUpdateEndpointSlices";

fn near() -> Service {
    service("web").distribution("PreferSameZone")
}

fn auto() -> Service {
    service("web").auto()
}

/// The check about Events, after Events of these reasons.
fn about_events(world: &World, reasons: &[&str]) -> (Status, String) {
    let mut state = state(world);
    state.events = reasons
        .iter()
        .map(|&reason| EventNote {
            reason: reason.into(),
            message: "".into(),
            warning: reason != ENABLED,
        })
        .collect();
    let explanation = explained_as(world, &state, &From::default());
    let Check { status, finding, .. } = &explanation.checks[1];
    (*status, code(&finding.reason))
}

#[test]
fn events_count_while_what_they_tell_holds() {
    let cases: [(Service, &[&str], Status, &str); 6] = [
        (near(), &[], Status::Unknown, "NoEvents"),
        (near(), &[DISABLED], Status::Ok, "NoFailureEvents"),
        (near(), &[FAILED, DISABLED], Status::Failed, "FailureEvent"),
        (auto(), &[DISABLED], Status::Failed, "FailureEvent"),
        (auto(), &[DISABLED, ENABLED], Status::Ok, "NoFailureEvents"),
        (auto(), &[ENABLED, FAILED], Status::Failed, "FailureEvent"),
    ];
    for (service, events, status, finding) in cases {
        let found = about_events(&even(service), events);
        assert_eq!(found, (status, finding.to_owned()), "{events:?}");
    }
}

#[test]
fn families_that_differ_are_checked_apart() {
    let mut world = even(near().dual_stack());
    let families = |world: &World| -> Vec<_> {
        explained(world).checks.iter().map(|c| (c.status, c.family)).collect()
    };
    assert!(families(&world).iter().all(|(_, family)| family.is_none()));
    world.pods.clear();
    for slice in world.slices.iter_mut().filter(|s| s.address_type == AddressType::IPv6) {
        slice.endpoints.iter_mut().for_each(|e| e.hints = None);
    }
    let both = [(Status::Ok, Some(AddressType::IPv4)), (Status::Failed, Some(AddressType::IPv6))];
    assert_eq!(families(&world)[3..7], [both, both].concat());
}

#[test]
fn a_name_outside_the_cluster_fails_no_check() {
    let mut world = even(near());
    world.service.external_name = true;
    let explanation = explained(&world);
    let statuses: Vec<_> = explanation.checks.iter().map(|c| c.status).collect();
    assert_eq!(statuses, [Status::NotApplicable]);
    assert!(explanation.families.is_empty() && explanation.warnings.is_empty());
}
