//! Which policy holds when annotations, the field and gates say different things.

use evenkeel_model::{Service, label};
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Gates, Policy, PolicyReason, RequestedPolicy,
    policy::{FIELD, requested},
};

fn check(service: &Service, gates: Gates, policy: Policy, why: PolicyReason) {
    assert_eq!(requested(service, gates), RequestedPolicy { policy, why });
}

fn by_field(value: &str) -> PolicyReason {
    let value = value.into();
    PolicyReason::SetByField { value }
}

fn gate_off(gate: &'static str, value: &str) -> PolicyReason {
    let value = value.into();
    PolicyReason::GateOff { gate, value }
}

// Integration tests: Verify that if both the annotation service.kubernetes.io/topology-mode: Auto
// and field trafficDistribution: PreferClose are configured, precedence is given to the annotation.
#[test]
fn the_annotation_beats_the_field() {
    let why =
        PolicyReason::SetByAnnotation { annotation: label::TOPOLOGY_MODE, value: "Auto".into() };
    let both = service("web").auto().distribution("PreferClose");
    check(&both, Gates::ALL_ON, Policy::Auto, why);
}

#[test]
fn an_annotation_that_asks_for_nothing_leaves_it_to_the_field() {
    let disabled =
        service("web").annotated(label::TOPOLOGY_MODE, "Disabled").distribution("PreferClose");
    let why = by_field("PreferClose");
    check(&disabled, Gates::ALL_ON, Policy::PreferSameZone, why);
}

#[test]
fn every_standard_value_has_its_policy() {
    let values = [
        ("PreferClose", Policy::PreferSameZone),
        ("PreferSameZone", Policy::PreferSameZone),
        ("PreferSameNode", Policy::PreferSameNode),
    ];
    for (value, policy) in values {
        let service = service("web").distribution(value);
        check(&service, Gates::ALL_ON, policy, by_field(value));
    }
    let silent = service("web");
    check(&silent, Gates::ALL_ON, Policy::None, PolicyReason::NotSet);
}

#[test]
fn an_unknown_value_asks_for_nothing_and_is_named() {
    for (place, service) in [
        (FIELD, service("web").distribution("PreferFar")),
        (
            label::TRAFFIC_DISTRIBUTION,
            service("web").annotated(label::TRAFFIC_DISTRIBUTION, "PreferFar"),
        ),
    ] {
        let value = "PreferFar".into();
        let why = PolicyReason::UnknownValue { place, value };
        check(&service, Gates::ALL_ON, Policy::None, why);
    }
}

#[test]
fn our_own_annotation_beats_the_field() {
    let why = PolicyReason::SetByAnnotation {
        annotation: label::TRAFFIC_DISTRIBUTION,
        value: "PreferSameNode".into(),
    };
    let both = service("web")
        .annotated(label::TRAFFIC_DISTRIBUTION, "PreferSameNode")
        .distribution("PreferClose");
    check(&both, Gates::ALL_ON, Policy::PreferSameNode, why);
}

#[test]
fn without_its_gate_only_the_oldest_value_works() {
    let off = Gates { prefer_same_traffic_distribution: false, ..Gates::ALL_ON };
    let close = service("web").distribution("PreferClose");
    check(&close, off, Policy::PreferSameZone, by_field("PreferClose"));
    for value in ["PreferSameZone", "PreferSameNode"] {
        let service = service("web").distribution(value);
        let why = gate_off("PreferSameTrafficDistribution", value);
        check(&service, off, Policy::None, why);
    }
}

#[test]
fn without_the_gate_of_the_field_no_value_works() {
    let off = Gates { service_traffic_distribution: false, ..Gates::ALL_ON };
    for value in ["PreferClose", "PreferSameZone", "PreferSameNode"] {
        let service = service("web").distribution(value);
        let why = gate_off("ServiceTrafficDistribution", value);
        check(&service, off, Policy::None, why);
    }
}

// An annotation whose gate is off still silences the field, as in Kubernetes.
#[test]
fn an_annotation_with_its_gate_off_does_not_hand_over_to_the_field() {
    let off = Gates { topology_aware_hints: false, ..Gates::ALL_ON };
    let both = service("web").auto().distribution("PreferClose");
    let why = gate_off("TopologyAwareHints", "Auto");
    check(&both, off, Policy::None, why);
}
