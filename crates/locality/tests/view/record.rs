//! The examples of Kuma's decision record 031.

use evenkeel_locality::{
    Compat,
    resource::{Form, parse},
};
use serde_json::{Value, json};

use crate::setup::*;

/// The record's route, in the layout in which it is written.
fn route(kind: &str) -> Value {
    let mut rule = json!({"default": {"backendRef": [
        {"kind": "MeshServiceSubset", "name": "backend", "tags": {"kuma.io/zone": "zone-1"}},
        {"kind": "MeshServiceSubset", "name": "backend", "tags": {"kuma.io/zone": "zone-3"}},
    ]}});
    if kind == "MeshTCPRoute" {
        rule = json!([rule]);
    }
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": kind,
        "metadata": {
            "name": "route-all-zones", "namespace": "kuma-system",
            "labels": {"kuma.io/mesh": "default"},
        },
        "spec": {
            "targetRef": {"kind": "MeshService", "name": "frontend"},
            "to": [{"targetRef": {"kind": "MeshService", "name": "backend"}, "rules": rule}],
        },
    })
}

/// The record's strategy beside it.
fn only_zone_1() -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": "MeshLoadBalancingStrategy",
        "metadata": {
            "name": "mlbs-only-zone-1", "namespace": "kuma-system",
            "labels": {"kuma.io/mesh": "default"},
        },
        "spec": {
            "targetRef": {"kind": "Mesh"},
            "to": {
                "targetRef": {"kind": "MeshService", "name": "backend"},
                "defaults": {"localityAwareness": {
                    "disabled": false,
                    "crossZone": {"failover": [{"to": {"type": "Only", "zones": ["zone-1"]}}]},
                }},
            },
        },
    })
}

fn backends() -> Vec<Value> {
    let backend = |n: u8, zone: &str| {
        let zone = format!("kuma.io/zone={zone}");
        instance(&format!("backend-{n}"), &format!("10.0.0.{n}"), "backend", &[&zone])
    };
    vec![backend(1, "zone-1"), backend(2, "zone-2"), backend(3, "zone-3")]
}

fn clients() -> Vec<Value> {
    let zones = ["zone-1", "zone-2", "zone-3"];
    zones.iter().map(|zone| client(&format!("in-{zone}"), zone, &["backend"])).collect()
}

fn check_split(mut values: Vec<Value>, line: &str, closed: &str) {
    values.extend(clients());
    values.push(only_zone_1());
    let mut view = view_of(&values);
    for name in ["in-zone-1", "in-zone-2"] {
        let plan = plan(&mut view, name);
        let [assignment] = &endpoints(&view, &plan)[..] else { panic!("one split is left") };
        let (cluster, groups) = assignment.split_once(": ").expect("a name comes first");
        assert!(groups.ends_with("=10.0.0.1"), "{assignment}");
        assert_eq!(told(&plan), [format!("{line} {cluster}*1")]);
        assert_eq!(codes(&plan), ["SplitEmptied"]);
    }
    let in_zone_3 = plan(&mut view, "in-zone-3");
    let both = endpoints(&view, &in_zone_3);
    let mut groups: Vec<_> = both.iter().filter_map(|line| line.split_once(": ")).collect();
    groups.sort_by_key(|(_, groups)| *groups);
    assert_eq!(groups.iter().map(|(_, g)| *g).collect::<Vec<_>>(), ["0=10.0.0.3", "1=10.0.0.1"]);
    let (three, one) = (groups[0].0, groups[1].0);
    assert_eq!(told(&in_zone_3), [format!("{line} {one}*1 {three}*1")]);
    assert_eq!(codes(&in_zone_3), [""; 0]);

    // All empty: nothing in zone-1, and for zone-2 nothing is allowed.
    let kind = evenkeel_locality::resource::Kind::Dataplane;
    delete(&mut view, kind, "backend-1");
    let plan = plan(&mut view, "in-zone-2");
    assert_eq!(told(&plan), [closed]);
    assert_eq!(codes(&plan), ["SplitEmptied", "SplitWithoutEndpoints", "AllSplitsEmpty"]);
}

#[test]
fn a_strategy_rules_inside_each_split_of_http() {
    let mut values = backends();
    values.push(route("MeshHTTPRoute"));
    check_split(values, "10000 Any", "10000 Any 503");
}

#[test]
fn a_strategy_rules_inside_each_split_of_tcp() {
    let mut values = backends();
    for backend in &mut values {
        backend["networking"]["inbound"][0]["tags"]["kuma.io/protocol"] = json!("tcp");
    }
    values.push(route("MeshTCPRoute"));
    check_split(values, "10000 tcp", "10000 tcp closed");
}

/// The sixth use case: equal shares for the own zone and another are for routes.
#[test]
fn a_weighted_route_shares_with_another_zone() {
    let mut values = backends();
    values.extend(clients());
    let half = |zone: &str| {
        json!({"kind": "MeshServiceSubset", "name": "backend", "weight": 50,
            "tags": {"kuma.io/zone": zone}})
    };
    let to = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend"},
        "rules": [{"default": {"backendRefs": [half("zone-1"), half("zone-2")]}}],
    }]);
    values.push(policy("MeshHTTPRoute", "halves", &json!({"kind": "Mesh"}), &to));
    let mut view = view_of(&values);
    let plan = plan(&mut view, "in-zone-1");
    let groups = endpoints(&view, &plan);
    assert_eq!(groups.len(), 2, "splits are never merged");
    let line = &told(&plan)[0];
    assert_eq!(line.matches("*50").count(), 2, "{line}");
}

/// The policies of use cases 1 to 5 and 7, 8, as they are written; endpoints of zones 1, 2, 3.
#[test]
fn use_cases_of_the_record() {
    let rule = |to: Value| json!({"to": to});
    let only = |zones: &[&str]| json!({"type": "Only", "zones": zones});
    let cross =
        |rules: Value| json!({"localZone": {"affinityTags": []}, "crossZone": {"failover": rules}});
    let except = json!({"type": "AnyExcept", "zones": ["zone-3"]});
    let group = ["zone-1", "zone-2"];
    let in_group = json!({"from": {"zones": group}, "to": only(&group)});
    let table = [
        ("keep in the zone", json!({}), ["0=1", "0=2", "0=3"]),
        ("keep in the zone", json!({"localZone": {"affinityTags": []}}), ["0=1", "0=2", "0=3"]),
        (
            "any other zone",
            cross(json!([rule(json!({"type": "Any"}))])),
            ["0=1 1=2 1=3", "0=2 1=1 1=3", "0=3 1=1 1=2"],
        ),
        (
            "a list of zones",
            cross(json!([rule(only(&["zone-1", "zone-3"]))])),
            ["0=1 1=3", "0=2 1=1 1=3", "0=3 1=1"],
        ),
        (
            "zones in order",
            cross(json!([rule(only(&["zone-1"])), rule(only(&["zone-3"]))])),
            ["0=1 2=3", "0=2 1=1 2=3", "0=3 1=1"],
        ),
        ("all but one", cross(json!([rule(except)])), ["0=1 1=2", "0=2 1=1", "0=3 1=1 1=2"]),
        ("a group of zones", cross(json!([in_group])), ["0=1 1=2", "0=2 1=1", "0=3"]),
    ];
    for (case, awareness, expected) in table {
        let mut values = backends();
        values.extend(clients());
        let value = json!({
            "targetRef": {"kind": "Mesh"},
            "to": {
                "targetRef": {"kind": "MeshService", "name": "backend"},
                "defaults": {"localityAwareness": awareness},
            },
            "type": "MeshLoadBalancingStrategy", "mesh": MESH, "name": "case",
        });
        assert!(parse(&value, Form::File, Compat::Record).is_ok(), "{case}");
        values.push(value);
        let mut view = view_of(&values);
        for (zone, expected) in ["in-zone-1", "in-zone-2", "in-zone-3"].iter().zip(expected) {
            let plan = plan(&mut view, zone);
            let got = endpoints(&view, &plan).join("").replace("10.0.0.", "");
            assert_eq!(got, format!("backend: {expected}"), "{case}, {zone}");
        }
    }
}

#[test]
fn services_of_the_same_name_in_two_meshes_stay_apart() {
    let mut values = backends();
    values.extend(clients());
    let mut other: Vec<Value> = Vec::new();
    for mut value in [
        instance("backend-9", "10.0.0.9", "backend", &["kuma.io/zone=zone-1"]),
        client("in-zone-1", "zone-1", &["backend"]),
        strategy("one", "backend", &only_zone("zone-2")),
    ] {
        value["mesh"] = json!("other");
        other.push(value);
    }
    values.extend(other);
    let mut view = view_of(&values);
    let here = plan(&mut view, "in-zone-1");
    assert_eq!(endpoints(&view, &here), ["backend: 0=10.0.0.1 1=10.0.0.2 1=10.0.0.3"]);
    let there = view.proxy(&evenkeel_locality::view::ProxyKey::new("other", "in-zone-1")).unwrap();
    assert_eq!(endpoints(&view, &there), ["backend: 0=10.0.0.9"]);
}
