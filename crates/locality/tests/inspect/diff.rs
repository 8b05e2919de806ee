use evenkeel_locality::inspect::{Change, Difference, MOST_PROXIES_NAMED, diff};
use serde_json::{Value, json};

use crate::setup::{client, instance, only_zone, policy, strategy, view_of};

fn mesh() -> Vec<Value> {
    let mut all = Vec::new();
    for n in 1..=3 {
        let zone = format!("zone-{n}");
        let tag = format!("kuma.io/zone={zone}");
        all.push(instance(&format!("b{n}"), &format!("10.0.0.{n}"), "backend", &[&tag]));
        all.push(instance(&format!("c{n}"), &format!("10.0.1.{n}"), "cart", &[&tag]));
        all.push(client(&format!("web-{n}a"), &zone, &["backend", "cart"]));
        all.push(client(&format!("web-{n}b"), &zone, &["backend", "cart"]));
    }
    all
}

fn changed(before: &[Value], after: &[Value]) -> Vec<Difference> {
    diff(&mut view_of(before), &mut view_of(after))
}

fn with(mut values: Vec<Value>, more: Value) -> Vec<Value> {
    values.push(more);
    values
}

fn names(difference: &Difference) -> Vec<&str> {
    difference.proxies.iter().map(|proxy| &*proxy.name).collect()
}

#[test]
fn the_same_resources_differ_in_nothing() {
    assert_eq!(changed(&mesh(), &mesh()), []);
}

#[test]
fn clients_of_one_zone_are_one_difference_with_one_destination() {
    let after = with(mesh(), strategy("only-3", "backend", &only_zone("zone-3")));
    let differences = changed(&mesh(), &after);
    let who: Vec<Vec<&str>> = differences.iter().map(names).collect();
    assert_eq!(who, [["web-1a", "web-1b"], ["web-2a", "web-2b"], ["web-3a", "web-3b"]]);
    for difference in &differences {
        let clusters: Vec<&str> = difference.destinations.iter().map(|to| &*to.cluster).collect();
        assert_eq!(clusters, ["backend"], "cart is as before");
        assert_eq!(difference.listeners, []);
    }
}

#[test]
fn shares_are_compared_now_and_without_the_own_zone() {
    let after = with(mesh(), strategy("only-3", "backend", &only_zone("zone-3")));
    let differences = changed(&mesh(), &after);
    let value = serde_json::to_value(&differences[0].destinations[0]).unwrap();
    assert_eq!(value["change"], "changed");
    let now = json!([
        {"zone": "zone-1", "before": 1.0, "after": 1.0},
        {"zone": "zone-2", "before": 0.0, "after": 0.0},
        {"zone": "zone-3", "before": 0.0, "after": 0.0},
    ]);
    assert_eq!(value["zones"], now);
    let lost = json!([
        {"zone": "zone-1", "before": 0.0, "after": 0.0},
        {"zone": "zone-2", "before": 0.5, "after": 0.0},
        {"zone": "zone-3", "before": 0.5, "after": 1.0},
    ]);
    assert_eq!(value["withoutOwnZone"]["zones"], lost);
    let gone = value["groups"].as_array().unwrap().iter().find(|group| group["zone"] == "zone-2");
    assert_eq!(gone.unwrap()["after"], Value::Null);
}

#[test]
fn a_split_adds_clusters_and_changes_where_a_listener_sends() {
    let part = |zone: &str, weight: u32| {
        json!({
            "kind": "MeshServiceSubset", "name": "backend", "weight": weight,
            "tags": {"kuma.io/zone": zone},
        })
    };
    let rules = json!([{
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "default": {"backendRefs": [part("zone-1", 3), part("zone-3", 1)]},
    }]);
    let to = json!([{"targetRef": {"kind": "MeshService", "name": "backend"}, "rules": rules}]);
    let split = policy("MeshHTTPRoute", "split", &json!({"kind": "Mesh"}), &to);
    let differences = changed(&mesh(), &with(mesh(), split));
    let first = &differences[0];
    let changes: Vec<Change> = first.destinations.iter().map(|to| to.change).collect();
    assert_eq!(changes.iter().filter(|change| **change == Change::Added).count(), 2, "{first:#?}");
    let [listener] = &first.listeners[..] else { panic!("{first:#?}") };
    assert_eq!(listener.before[0].clusters.len(), 1);
    let shares: Vec<f64> = listener.after[0].clusters.iter().map(|to| to.share).collect();
    assert_eq!(shares, [0.75, 0.25]);
}

#[test]
fn dataplanes_that_come_and_go_are_told_apart_from_those_that_change() {
    let after: Vec<Value> = mesh().into_iter().filter(|value| value["name"] != "b3").collect();
    let after = with(after, client("web-new", "zone-1", &["backend"]));
    let differences = changed(&mesh(), &after);
    let of = |change: Change| {
        let found = differences.iter().filter(|difference| difference.dataplane == change);
        found.flat_map(names).collect::<Vec<_>>()
    };
    assert_eq!(of(Change::Added), ["web-new"]);
    assert_eq!(of(Change::Removed), ["b3"]);
    assert_eq!(of(Change::Changed), ["web-1a", "web-1b", "web-2a", "web-2b", "web-3a", "web-3b"]);
}

#[test]
fn settings_that_change_no_share_are_named() {
    let to = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend"},
        "default": {"loadBalancer": {"type": "LeastRequest"}},
    }]);
    let new = policy("MeshLoadBalancingStrategy", "least", &json!({"kind": "Mesh"}), &to);
    let differences = changed(&mesh(), &with(mesh(), new));
    let [all] = &differences[..] else { panic!("{differences:#?}") };
    assert_eq!(all.n_proxies, 6);
    assert_eq!(all.destinations[0].settings, ["loadBalancer"]);
    assert_eq!(all.destinations[0].shares, None);
}

#[test]
fn an_inbound_that_moves_is_a_change_of_its_proxy_alone() {
    let mut after = mesh();
    let moved = after.iter_mut().find(|value| value["name"] == "web-2a").unwrap();
    moved["networking"]["inbound"][0]["port"] = json!(81);
    let differences = changed(&mesh(), &after);
    assert_eq!(differences.iter().flat_map(names).collect::<Vec<_>>(), ["web-2a"]);
    let changes: Vec<Change> = differences[0].listeners.iter().map(|l| l.change).collect();
    assert_eq!(changes, [Change::Removed, Change::Added]);
}

/// Ten thousand proxies cost their number; what they share is compared once, and few are named.
#[test]
fn many_proxies_alike_are_one_difference() {
    let many = |extra: Option<Value>| {
        let mut values: Vec<Value> =
            (0..2000).map(|n| client(&format!("p{n:04}"), "zone-1", &["backend"])).collect();
        values.push(instance("b1", "10.0.0.1", "backend", &["kuma.io/zone=zone-1"]));
        values.push(instance("b2", "10.0.0.2", "backend", &["kuma.io/zone=zone-2"]));
        values.extend(extra);
        values
    };
    let new = strategy("stay", "backend", &json!({"localZone": {}}));
    let differences = changed(&many(None), &many(Some(new)));
    let [all] = &differences[..] else { panic!("{} differences", differences.len()) };
    assert_eq!((all.n_proxies, all.proxies.len()), (2000, MOST_PROXIES_NAMED));
}
