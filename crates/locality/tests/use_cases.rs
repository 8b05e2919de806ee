//! The eight use cases of the decision record, each in the record's own words where it gives a
//! policy.

mod common;

use common::{assigned, client, groups, strategy};
use serde_json::{Value, json};

/// Two endpoints in zone-1, one in each of zone-2, zone-3 and zone-4.
const FOUR_ZONES: &[common::Row<'_>] = &[
    ("10.0.1.1:80", "zone-1", &[("k8s.io/node", "n1"), ("k8s.io/az", "a1")]),
    ("10.0.1.2:80", "zone-1", &[("k8s.io/node", "n2"), ("k8s.io/az", "a1")]),
    ("10.0.2.1:80", "zone-2", &[]),
    ("10.0.3.1:80", "zone-3", &[]),
    ("10.0.4.1:80", "zone-4", &[]),
];

#[track_caller]
fn check(awareness: &Value, zone: &str, expected: &[&str]) {
    let client = client(zone, &[("k8s.io/node", "n1"), ("k8s.io/az", "a1")]);
    let outcome = assigned(&strategy(awareness), &client, FOUR_ZONES);
    assert_eq!(groups(&outcome), expected, "from {zone}: {awareness}");
}

#[test]
fn case_1_keeping_traffic_in_a_single_zone() {
    for awareness in [json!({}), json!({"localZone": {"affinityTags": []}})] {
        check(&awareness, "zone-1", &["0 zone-1 w1 10.0.1.1:80 10.0.1.2:80"]);
        check(&awareness, "zone-9", &[]);
    }
}

#[test]
fn case_2_priorities_within_a_zone() {
    let tags = json!([{"key": "k8s.io/node"}, {"key": "k8s.io/az"}]);
    let expected =
        ["0 zone-1/k8s.io/az=a1 w9 10.0.1.2:80", "0 zone-1/k8s.io/node=n1 w90 10.0.1.1:80"];
    check(&json!({"localZone": {"affinityTags": tags}}), "zone-1", &expected);
}

#[test]
fn case_3_a_single_zone_with_fallback_to_others() {
    let awareness = json!({
        "localZone": {"affinityTags": []}, "crossZone": {"failover": [{"to": {"type": "Any"}}]},
    });
    let expected = [
        "1 zone-1 10.0.1.1:80 10.0.1.2:80",
        "0 zone-2 w1 10.0.2.1:80",
        "1 zone-3 10.0.3.1:80",
        "1 zone-4 10.0.4.1:80",
    ];
    check(&awareness, "zone-2", &expected);
}

#[test]
fn case_4_equally_to_a_list_of_zones() {
    let to = json!({"type": "Only", "zones": ["zone-1", "zone-3"]});
    let awareness = json!({"crossZone": {"failover": [{"to": to}]}});
    let expected =
        ["1 zone-1 10.0.1.1:80 10.0.1.2:80", "1 zone-3 10.0.3.1:80", "0 zone-4 w1 10.0.4.1:80"];
    check(&awareness, "zone-4", &expected);
}

#[test]
fn case_5_specific_zones_first_when_leaving() {
    let only = |zone| json!({"to": {"type": "Only", "zones": [zone]}});
    let awareness = json!({"crossZone": {"failover": [only("zone-1"), only("zone-3")]}});
    let expected =
        ["1 zone-1 10.0.1.1:80 10.0.1.2:80", "0 zone-2 w1 10.0.2.1:80", "2 zone-3 10.0.3.1:80"];
    check(&awareness, "zone-2", &expected);
}

/// The record leaves the shares to a route; each half is a cluster of its own.
#[test]
fn case_6_equally_to_the_own_and_another_zone() {
    let awareness = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    let client = client("zone-1", &[]);
    let strategy = strategy(&awareness);
    let own = assigned(&strategy, &client, &FOUR_ZONES[..2]);
    let other = assigned(&strategy, &client, &FOUR_ZONES[2..3]);
    assert_eq!(groups(&own), ["0 zone-1 w1 10.0.1.1:80 10.0.1.2:80"]);
    assert_eq!(groups(&other), ["1 zone-2 10.0.2.1:80"]);
}

#[test]
fn case_7_a_zone_is_excluded() {
    let to = json!({"type": "AnyExcept", "zones": ["zone-3"]});
    let awareness = json!({"crossZone": {"failover": [{"to": to}]}});
    let expected =
        ["0 zone-1 w1 10.0.1.1:80 10.0.1.2:80", "1 zone-2 10.0.2.1:80", "1 zone-4 10.0.4.1:80"];
    check(&awareness, "zone-1", &expected);
}

#[test]
fn case_8_equally_within_a_group_of_zones() {
    let within =
        |zones: Value| json!({"from": {"zones": zones}, "to": {"type": "Only", "zones": zones}});
    let rules =
        [within(json!(["zone-1", "zone-2"])), within(json!(["zone-3", "zone-4", "zone-4"]))];
    let awareness = json!({"crossZone": {"failover": rules}});
    check(&awareness, "zone-1", &["0 zone-1 w1 10.0.1.1:80 10.0.1.2:80", "1 zone-2 10.0.2.1:80"]);
    check(&awareness, "zone-4", &["2 zone-3 10.0.3.1:80", "0 zone-4 w1 10.0.4.1:80"]);
}

/// A split between zone-1 and zone-3 under `Only: [zone-1]`, from the record's section on routes.
#[test]
fn splits_of_a_route_follow_the_strategy() {
    let to = json!({"type": "Only", "zones": ["zone-1"]});
    let awareness = json!({"disabled": false, "crossZone": {"failover": [{"to": to}]}});
    let strategy = strategy(&awareness);
    let split = |zone: &str, endpoints| groups(&assigned(&strategy, &client(zone, &[]), endpoints));
    let (zone_1, zone_3) = (&FOUR_ZONES[..2], &FOUR_ZONES[3..4]);
    assert_eq!(split("zone-2", zone_1), ["1 zone-1 10.0.1.1:80 10.0.1.2:80"]);
    assert!(split("zone-1", zone_3).is_empty());
    assert!(split("zone-2", zone_3).is_empty());
    assert_eq!(split("zone-3", zone_3), ["0 zone-3 w1 10.0.3.1:80"]);
}
