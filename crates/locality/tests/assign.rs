//! Grouping: reasons, zones that are not known, duplicates, and Kuma's departures.

mod common;

use std::{collections::BTreeMap, sync::Arc};

use common::{assigned, client, groups, reasons, strategy, strategy_as};
use evenkeel_locality::{Assigned, Client, Compat, Place, Strategy, assign, strategy::Ranking};
use evenkeel_model::mesh::EndpointHealth;
use serde_json::json;

#[test]
fn every_zone_says_why_it_is_used_or_not() {
    let awareness = json!({
        "localZone": {"affinityTags": [{"key": "node"}]},
        "crossZone": {"failover": [
            {"from": {"zones": ["a"]}, "to": {"type": "Only", "zones": ["b"]}},
            {"to": {"type": "AnyExcept", "zones": ["c"]}},
        ]},
    });
    let rows: &[common::Row<'_>] = &[
        ("10.0.0.1:80", "a", &[("node", "n1")]),
        ("10.0.0.2:80", "a", &[]),
        ("10.0.0.3:80", "b", &[]),
        ("10.0.0.4:80", "c", &[]),
        ("10.0.0.5:80", "d", &[]),
        ("10.0.0.6:80", "d", &[]),
    ];
    let outcome = assigned(&strategy(&awareness), &client("a", &[("node", "n1")]), rows);
    let expected = [
        "1 endpoint of the client's zone a",
        "1 endpoint of the client's zone: node=n1, weight 9",
        "1 endpoint of zone b: failover rule 1, priority 1",
        "2 endpoints of zone d: failover rule 2, priority 2",
        "1 endpoint of zone c left out: failover rule 2 excludes it",
    ];
    assert_eq!(reasons(&outcome), expected);
    let code = serde_json::to_value(&outcome.reasons[4]).unwrap();
    assert_eq!(code, json!({"code": "ExcludedByRule", "zone": "c", "rule": 2, "endpoints": 1}));
}

#[test]
fn a_zone_that_is_left_out_says_which_way() {
    let rows: &[common::Row<'_>] = &[("10.0.0.1:80", "b", &[]), ("10.0.0.2:80", "", &[])];
    let left_out = |failover: serde_json::Value| {
        let strategy = strategy(&json!({"crossZone": {"failover": failover}}));
        reasons(&assigned(&strategy, &client("a", &[]), rows))
    };
    let table = [
        (json!([]), "the policy has no failover rules"),
        (
            json!([{"from": {"zones": ["b"]}, "to": {"type": "Any"}}]),
            "no failover rule is for zone a",
        ),
        (json!([{"to": {"type": "Only", "zones": ["c"]}}]), "no failover rule names it"),
        (json!([{"to": {"type": "None"}}]), "failover rule 1 (None) ends the list"),
    ];
    for (failover, why) in table {
        let expected = [
            format!("1 endpoint of no zone left out: {why}"),
            format!("1 endpoint of zone b left out: {why}"),
        ];
        assert_eq!(left_out(failover), expected);
    }
}

#[test]
fn none_stops_by_the_record_and_does_nothing_by_kuma() {
    let awareness = json!({"crossZone": {"failover": [
        {"from": {"zones": ["a"]}, "to": {"type": "None"}}, {"to": {"type": "Any"}},
    ]}});
    let rows: &[common::Row<'_>] = &[("10.0.0.1:80", "b", &[])];
    let from = |zone, compat| {
        groups(&assigned(&strategy_as(&awareness, compat), &client(zone, &[]), rows))
    };
    assert!(from("a", Compat::Record).is_empty());
    assert_eq!(from("c", Compat::Record), ["2 b 10.0.0.1:80"]);
    assert_eq!(from("a", Compat::Kuma), ["2 b 10.0.0.1:80"]);
}

#[test]
fn disabled_alone_means_all_zones_alike_in_both_modes() {
    let rows: &[common::Row<'_>] =
        &[("10.0.0.1:80", "a", &[]), ("10.0.0.2:80", "b", &[]), ("10.0.0.3:80", "", &[])];
    for compat in [Compat::Record, Compat::Kuma] {
        let strategy = strategy_as(&json!({"disabled": true}), compat);
        assert_eq!(strategy, Strategy::AllAlike);
        let outcome = assigned(&strategy, &client("a", &[]), rows);
        assert_eq!(groups(&outcome), ["0 - 10.0.0.3:80", "0 a 10.0.0.1:80", "0 b 10.0.0.2:80"]);
        assert_eq!(outcome.assignment.overprovisioning_factor, None);
        assert!(!outcome.locality_weighted);
    }
}

#[test]
fn a_client_without_a_zone_is_in_the_zone_without_a_name() {
    let rows: &[common::Row<'_>] = &[("10.0.0.1:80", "a", &[]), ("10.0.0.2:80", "", &[])];
    let nowhere = Client::default();
    let own = assigned(&strategy(&json!({"localZone": {}})), &nowhere, rows);
    assert_eq!(groups(&own), ["0  w1 10.0.0.2:80"]);
    let none = assigned(&Strategy::OwnZoneFirst, &nowhere, rows);
    assert_eq!(groups(&none), ["0 - 10.0.0.2:80", "1 a 10.0.0.1:80"]);
}

#[test]
fn a_label_is_used_where_the_client_has_no_tag() {
    let strategy = strategy(&json!({"localZone": {"affinityTags": [{"key": "x"}, {"key": "y"}]}}));
    let labels = BTreeMap::from([("x".into(), "label".into()), ("y".into(), "label".into())]);
    let client = Client { labels, ..client("a", &[("x", "tag")]) };
    let place = Place::of(&client, &strategy);
    let resolved: Vec<String> =
        place.affinity(&strategy).map(|(tag, value)| format!("{}={value}", tag.key)).collect();
    assert_eq!(resolved, ["x=tag", "y=label"]);
}

#[test]
fn places_leave_out_what_does_not_matter() {
    let by_node = strategy(&json!({"localZone": {"affinityTags": [{"key": "node"}]}}));
    let one = client("a", &[("node", "n1"), ("version", "1")]);
    let two = client("a", &[("node", "n1"), ("version", "2")]);
    assert_eq!(Place::of(&one, &by_node), Place::of(&two, &by_node));
    assert_ne!(Place::of(&one, &by_node), Place::of(&client("b", &[("node", "n1")]), &by_node));
    assert_ne!(Place::of(&one, &by_node), Place::of(&client("a", &[("node", "n2")]), &by_node));
    assert_ne!(Place::of(&one, &by_node), Place::of(&client("a", &[]), &by_node));
    let alike = Strategy::AllAlike;
    assert_eq!(Place::of(&one, &alike), Place::of(&client("b", &[]), &alike));
}

#[test]
fn an_address_twice_in_a_zone_is_sent_once_in_the_preferred_group() {
    let awareness = json!({"localZone": {"affinityTags": [{"key": "node"}]}});
    let rows: &[common::Row<'_>] = &[
        ("10.0.0.1:80", "a", &[("node", "n2")]),
        ("10.0.0.1:80", "a", &[("node", "n1")]),
        ("10.0.0.1:81", "a", &[]),
    ];
    let outcome = assigned(&strategy(&awareness), &client("a", &[("node", "n1")]), rows);
    assert_eq!(groups(&outcome), ["0 a w1 10.0.0.1:81", "0 a/node=n1 w9 10.0.0.1:80"]);
    let expected =
        "1 endpoint of zone a left out: same address as one of zone a, such as 10.0.0.1:80";
    assert_eq!(reasons(&outcome)[2], expected);
}

/// Sent in both zones the remote one would come first by name, and take the address away.
#[test]
fn an_address_keeps_its_lowest_priority() {
    let awareness = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    let rows: &[common::Row<'_>] = &[("10.0.0.1:80", "a", &[]), ("10.0.0.1:80", "b", &[])];
    let outcome = assigned(&strategy(&awareness), &client("b", &[]), rows);
    assert_eq!(groups(&outcome), ["0 b w1 10.0.0.1:80"]);
    let expected =
        "1 endpoint of zone a left out: same address as one of zone b, such as 10.0.0.1:80";
    assert_eq!(reasons(&outcome)[1], expected);
}

#[test]
fn an_address_in_two_zones_of_one_priority_is_named() {
    let awareness = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    let rows: &[common::Row<'_>] =
        &[("10.9.9.9:1", "c", &[]), ("10.9.9.9:1", "b", &[]), ("10.9.9.9:1", "c", &[])];
    let outcome = assigned(&strategy(&awareness), &client("a", &[]), rows);
    assert_eq!(groups(&outcome), ["1 b 10.9.9.9:1", "1 c 10.9.9.9:1"]);
    let expected = [
        "1 endpoint of zone c left out: same address as one of zone b, such as 10.9.9.9:1",
        "1 endpoint of zone c not used by Envoy: same address as one of zone b, such as 10.9.9.9:1",
    ];
    assert_eq!(reasons(&outcome)[2..], expected);
}

#[test]
fn health_is_passed_on_and_moves_nothing() {
    let strategy = strategy(&json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}}));
    let health = [EndpointHealth::Unhealthy, EndpointHealth::Draining, EndpointHealth::Degraded];
    for health in health {
        let mut endpoint = (*common::endpoint(("10.0.0.1:80", "a", &[]))).clone();
        endpoint.health = health;
        let Assigned { assignment, .. } =
            assign(&client("a", &[]), &[Arc::new(endpoint)], &strategy);
        assert_eq!(assignment.groups[0].priority, 0);
        assert_eq!(assignment.groups[0].endpoints[0].health, health);
    }
}

#[test]
fn default_weights_have_as_many_tags_as_fit_and_the_rest_of_the_zone_always_fits() {
    let weights =
        |tags: serde_json::Value| match strategy(&json!({"localZone": {"affinityTags": tags}})) {
            Strategy::Ranked(Ranking { affinity, .. }) => {
                affinity.iter().map(|tag| tag.weight.get()).collect::<Vec<u32>>()
            }
            other => panic!("{other:?}"),
        };
    let nine: Vec<_> = (0..9).map(|n| json!({"key": n.to_string()})).collect();
    assert_eq!(weights(json!(nine))[..2], [900_000_000, 90_000_000]);
    assert_eq!(weights(json!([{"key": "a", "weight": u32::MAX}])), [u32::MAX - 1]);
    let explicit =
        json!([{"key": "a", "weight": 1}, {"key": "b", "weight": 2}, {"key": "c", "weight": 2}]);
    assert_eq!(weights(explicit), [2, 2, 1]);
}
