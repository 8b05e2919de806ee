//! Findings about valid policies.

mod common;

use std::sync::Arc;

use common::awareness;
use evenkeel_locality::{Compat, Finding, Severity, lint, strategy::ZoneSet};
use serde_json::{Value, json};

fn zones(names: &[&str]) -> ZoneSet {
    names.iter().map(|name| Arc::from(*name)).collect()
}

fn found(policy: &Value, known: &[&str], compat: Compat) -> Vec<String> {
    let findings = lint(&awareness(policy), &zones(known), compat);
    findings.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(policy: &Value, known: &[&str], expected: &[&str]) {
    assert_eq!(found(policy, known, Compat::Record), expected, "{policy}");
}

fn rules(rules: &Value) -> Value {
    json!({"crossZone": {"failover": rules}})
}

#[test]
fn a_sound_policy_has_no_findings() {
    let policy = json!({
        "localZone": {"affinityTags": [{"key": "k8s.io/node", "weight": 90}, {"key": "k8s.io/az", "weight": 9}]},
        "crossZone": {"failover": [
            {"from": {"zones": ["zone-1", "zone-2"]}, "to": {"type": "Only", "zones": ["zone-1", "zone-2"]}},
            {"from": {"zones": ["zone-3"]}, "to": {"type": "AnyExcept", "zones": ["zone-1"]}},
            {"to": {"type": "Any"}},
        ], "failoverThreshold": {"percentage": 70}},
    });
    check(&policy, &["zone-1", "zone-2", "zone-3"], &[]);
}

#[test]
fn a_policy_that_can_never_fail_over_is_named() {
    let never = "traffic never leaves a zone, even if none of its endpoints is healthy";
    check(&json!({}), &[], &[never]);
    check(&json!({"localZone": {}}), &["a", "b"], &[never]);
    check(&rules(&json!([{"to": {"type": "None"}}])), &[], &[never]);
    let info = lint(&awareness(&json!({})), &zones(&[]), Compat::Record);
    assert_eq!(info, [Finding::NeverFailsOver]);
    assert_eq!(info[0].severity(), Severity::Info);
}

#[test]
fn zones_without_a_rule_are_named() {
    let only_b =
        rules(&json!([{"from": {"zones": ["a"]}, "to": {"type": "Only", "zones": ["b"]}}]));
    check(&only_b, &["a", "b", "c"], &["clients in b, c never use another zone"]);
    let own = rules(&json!([{"to": {"type": "Only", "zones": ["a"]}}]));
    check(&own, &["a", "b"], &["clients in a never use another zone"]);
    let except = rules(&json!([{"to": {"type": "AnyExcept", "zones": ["b"]}}]));
    check(&except, &["a", "b"], &["clients in a never use another zone"]);
    check(&except, &["a", "b", "c"], &[]);
    let many: Vec<String> = (0..30).map(|n| format!("z{n:02}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let stuck = found(
        &rules(&json!([{"from": {"zones": ["z00"]}, "to": {"type": "Any"}}])),
        &many,
        Compat::Record,
    );
    assert!(
        stuck[0].ends_with("z20 never use another zone, nor those in 9 more zones"),
        "{stuck:?}"
    );
}

#[test]
fn a_threshold_without_rules_is_named() {
    let policy = json!({"crossZone": {"failoverThreshold": {"percentage": 70}}});
    let expected = [
        "failoverThreshold 70 has no failover rules to act on",
        "traffic never leaves a zone, even if none of its endpoints is healthy",
    ];
    check(&policy, &[], &expected);
}

#[test]
fn rules_that_are_never_used_are_named() {
    let any = json!({"to": {"type": "Any"}});
    let none = json!({"to": {"type": "None"}});
    let only = |zones: &[&str]| json!({"to": {"type": "Only", "zones": zones}});
    let except = |zones: &[&str]| json!({"to": {"type": "AnyExcept", "zones": zones}});
    let for_a = |rule: &Value| json!({"from": {"zones": ["a"]}, "to": rule["to"]});
    let covered = "rule 2 is never used: rule 1 accepts all its zones";
    let ended = "rule 2 is never used: rule 1 (None) ends the list";
    let never = "traffic never leaves a zone, even if none of its endpoints is healthy";
    let table: &[(Value, &[&str])] = &[
        (json!([any, only(&["b"])]), &[covered]),
        (json!([any, none]), &[covered]),
        (json!([only(&["b", "c"]), only(&["c"])]), &[covered]),
        (json!([only(&["c"]), only(&["b", "c"])]), &[]),
        (json!([except(&["a"]), only(&["b"])]), &[covered]),
        (json!([except(&["b"]), only(&["b"])]), &[]),
        (json!([except(&["a"]), except(&["a", "b"])]), &[covered]),
        (json!([except(&["a", "b"]), except(&["a"])]), &[]),
        (json!([only(&["b"]), any]), &[]),
        (json!([for_a(&any), any]), &[]),
        (json!([for_a(&any), for_a(&only(&["b"]))]), &[covered]),
        (json!([any, for_a(&any)]), &[covered]),
        (json!([none, none]), &[ended, never]),
        (json!([for_a(&none), any]), &[]),
        (json!([for_a(&none), for_a(&any)]), &[ended]),
    ];
    for (list, expected) in table {
        check(&rules(list), &[], expected);
    }
}

#[test]
fn under_kuma_a_none_does_nothing_and_a_threshold_is_another() {
    let policy = json!({"crossZone": {
        "failover": [{"to": {"type": "None"}}, {"to": {"type": "Any"}}],
        "failoverThreshold": {"percentage": 70},
    }});
    let expected = [
        "failoverThreshold 70 acts as 100: overprovisioning factor 100 instead of 143",
        "rule 1 (None) does nothing: later rules still apply",
    ];
    assert_eq!(found(&policy, &[], Compat::Kuma), expected);
    let expected = [
        "rule 2 is never used: rule 1 (None) ends the list",
        "traffic never leaves a zone, even if none of its endpoints is healthy",
    ];
    assert_eq!(found(&policy, &["a"], Compat::Record), expected);
}

#[test]
fn zones_that_do_not_exist_or_are_named_twice_are_found() {
    let list = json!(["eu-1", "eu-2", "eu-2"]);
    let policy = rules(&json!([{"from": {"zones": list}, "to": {"type": "Only", "zones": list}}]));
    let twice = [
        "rule 1, from.zones: zone eu-2 is named more than once",
        "rule 1, to.zones: zone eu-2 is named more than once",
    ];
    check(&policy, &["eu-1", "eu-2"], &twice);
    let expected = [
        twice[0],
        "rule 1, from.zones: zone eu-1 does not exist",
        twice[1],
        "clients in eu-2, eu-3 never use another zone",
    ];
    check(&policy, &["eu-2", "eu-3"], &expected);
}

#[test]
fn tags_that_say_nothing_are_named() {
    let tag = |key: &str, weight: u32| json!({"key": key, "weight": weight});
    let tags = |list: &[Value]| json!({"localZone": {"affinityTags": list}, "crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    check(&tags(&[tag("a", 998)]), &[], &[]);
    check(&tags(&[tag("a", 1000)]), &[], &["endpoints that share no tag get 1 of 1001 parts"]);
    let expected = [
        "endpoints that share b get 1 of 5002 parts",
        "endpoints that share no tag get 1 of 5002 parts",
    ];
    check(&tags(&[tag("a", 5000), tag("b", 1)]), &[], &expected);
    check(&tags(&[tag("a", 2), tag("a", 1)]), &[], &["affinity tag a is listed more than once"]);
}

#[test]
fn disabled_beside_rules_is_named() {
    let policy = json!({"disabled": true, "crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    check(&policy, &[], &["locality awareness is disabled, so its failover rules do nothing"]);
    let expected = ["locality awareness is disabled, but its failover rules still apply"];
    assert_eq!(found(&policy, &[], Compat::Kuma), expected);
}

#[test]
fn every_finding_says_what_to_do() {
    let policy = json!({"localZone": {"affinityTags": [{"key": "a"}, {"key": "a"}]}, "crossZone": {"failover": [
        {"to": {"type": "Any"}}, {"to": {"type": "Only", "zones": ["x", "x"]}},
    ]}});
    let findings = lint(&awareness(&policy), &zones(&["y", "z"]), Compat::Record);
    assert_eq!(findings.len(), 4);
    assert!(findings.iter().all(|finding| !finding.advice().is_empty()));
}
