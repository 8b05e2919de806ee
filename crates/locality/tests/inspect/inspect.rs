use evenkeel_locality::inspect::{MOST_ZONES, inspect};
use serde_json::{Value, json};

use crate::setup::{client, instance, key, policy, strategy, view_of};

fn three_zones() -> Vec<Value> {
    let mut all = vec![client("web", "zone-1", &["backend"])];
    for (n, zone) in [(1, "zone-1"), (2, "zone-2"), (3, "zone-3")] {
        let zone = format!("kuma.io/zone={zone}");
        all.push(instance(&format!("b{n}"), &format!("10.0.0.{n}"), "backend", &[&zone]));
    }
    all
}

fn inspected(values: &[Value], name: &str) -> Value {
    serde_json::to_value(inspect(&mut view_of(values), &key(name)).unwrap()).unwrap()
}

fn any_zone() -> Value {
    json!({"localZone": {}, "crossZone": {"failover": [{"to": {"type": "Any"}}]}})
}

#[test]
fn a_dataplane_that_is_not_there_is_none() {
    assert_eq!(inspect(&mut view_of(&three_zones()), &key("nobody")), None);
}

#[test]
fn shares_are_shown_now_and_with_each_zone_lost() {
    let mut values = three_zones();
    values.push(strategy("near", "backend", &any_zone()));
    let shown = inspected(&values, "web");
    let to = &shown["destinations"][0];
    assert_eq!(
        (&to["cluster"], &to["service"]["kind"]),
        (&json!("backend"), &json!("MeshService"))
    );
    assert_eq!(to["place"]["zone"], "zone-1");
    assert_eq!(to["overprovisioningFactor"], 200);
    assert_eq!(to["groups"][0]["share"], 1.0);
    let endpoint = &to["groups"][0]["endpoints"][0];
    assert_eq!(
        (&endpoint["address"], &endpoint["health"]),
        (&json!("10.0.0.1:80"), &json!("HEALTHY"))
    );
    let shares = |zone: &str| {
        let groups = to["withoutZone"][zone]["groups"].as_array().unwrap();
        groups.iter().map(|group| group["share"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shares("zone-1"), [0.0, 0.5, 0.5]);
    assert_eq!(shares("zone-2"), [1.0, 0.0, 0.0]);
    assert_eq!(to["withoutZone"]["zone-1"]["groups"][0].get("endpoints"), None);
}

#[test]
fn every_field_of_a_policy_says_where_it_comes_from() {
    let mut values = three_zones();
    values.push(strategy("base", "backend", &any_zone()));
    let to = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend"},
        "default": {"localityAwareness": {"crossZone": {"failover": [
            {"to": {"type": "Only", "zones": ["zone-3"]}},
        ]}}},
    }]);
    let target = json!({"kind": "MeshService", "name": "frontend"});
    values.push(policy("MeshLoadBalancingStrategy", "for-frontend", &target, &to));
    let shown = inspected(&values, "web");
    let policies = &shown["destinations"][0]["policies"];
    let merged = &policies["MeshLoadBalancingStrategy"];
    let to = &merged["conf"]["localityAwareness"]["crossZone"]["failover"][0]["to"];
    assert_eq!(to["zones"], json!(["zone-3"]));
    let fields = merged["origins"].as_object().unwrap();
    let of = |path: &str| {
        let found = fields.iter().find(|(field, _)| field.contains(path));
        found.map(|(_, policy)| policy.clone())
    };
    assert_eq!(of("crossZone.failover"), Some(json!("for-frontend")), "{policies:#}");
    let reasons = shown["destinations"][0]["reasons"].as_array().unwrap();
    let left_out = reasons.iter().find(|reason| reason["zone"] == "zone-2").unwrap();
    assert_eq!(left_out["code"], "NoRuleAccepts");
    assert_eq!(
        left_out["message"],
        "1 endpoint of zone zone-2 left out: no failover rule names it"
    );
}

#[test]
fn without_endpoints_everything_is_answered_with_503() {
    let values = [client("web", "zone-1", &["backend"])];
    let shown = inspected(&values, "web");
    assert_eq!(shown["destinations"][0]["errors"], 1.0);
    assert_eq!(shown["destinations"][0]["groups"], json!([]));
}

#[test]
fn listeners_name_the_clusters_of_their_traffic() {
    let shown = inspected(&three_zones(), "web");
    let listeners = shown["listeners"].as_array().unwrap();
    let outbound = listeners.iter().find(|l| l["direction"] == "outbound").unwrap();
    assert_eq!(outbound["address"], "127.0.0.1:10000");
    assert_eq!(outbound["routes"][0]["clusters"][0], json!({"cluster": "backend", "share": 1.0}));
    assert!(listeners.iter().any(|l| l["direction"] == "inbound"));
}

/// A thousand zones must not mean a thousand predictions over a thousand endpoints.
#[test]
fn the_number_of_zones_that_are_taken_away_is_bounded() {
    let mut values = vec![client("web", "zone-0", &["backend"])];
    for n in 0..100 {
        let zone = format!("kuma.io/zone=zone-{n}");
        values.push(instance(&format!("b{n}"), &format!("10.0.0.{n}"), "backend", &[&zone]));
    }
    let to = inspected(&values, "web")["destinations"][0].clone();
    assert_eq!(to["withoutZone"].as_object().unwrap().len(), MOST_ZONES);
    assert_eq!(to["zonesNotShown"], 100 - MOST_ZONES);
}
