//! What a change leads to, and what it does not.

use std::sync::Arc;

use evenkeel_locality::{
    resource::Kind,
    view::{Changes, Settings, View},
};
use evenkeel_model::mesh::EndpointHealth;
use serde_json::{Value, json};

use crate::setup::*;

fn backend(n: u8, zone: &str) -> Value {
    let zone = format!("kuma.io/zone={zone}");
    instance(&format!("backend-{n}"), &format!("10.0.0.{n}"), "backend", &[&zone])
}

fn with_state(mut dataplane: Value, state: &str) -> Value {
    dataplane["networking"]["inbound"][0]["state"] = json!(state);
    dataplane
}

fn changed(changes: &Changes) -> (Vec<String>, Vec<String>) {
    (names(&changes.services), names(&changes.proxies))
}

fn halves() -> Value {
    let half = |zone: &str| json!({"kind": "MeshServiceSubset", "name": "backend", "tags": {"kuma.io/zone": zone}});
    let to = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend"},
        "rules": [{"default": {"backendRefs": [half("zone-1"), half("zone-2")]}}],
    }]);
    policy("MeshHTTPRoute", "halves", &json!({"kind": "Mesh"}), &to)
}

#[test]
fn an_endpoint_touches_its_service_and_its_own_proxy() {
    let mut view = view_of(&[
        client("web-1", "zone-1", &["backend"]),
        client("web-2", "zone-2", &["other"]),
        backend(1, "zone-1"),
    ]);
    plan(&mut view, "web-1");
    let changes = view.apply(resource(&backend(2, "zone-2")));
    let service = "MeshService default/backend".to_owned();
    assert_eq!(changed(&changes), (vec![service.clone()], vec!["default/backend-2".to_owned()]));
    assert!(view.apply(resource(&backend(2, "zone-2"))).is_empty(), "nothing changed");
    let changes = view.apply(resource(&with_state(backend(1, "zone-1"), "NotReady")));
    assert_eq!(changed(&changes), (vec![service.clone()], vec![]), "its own plan is the same");
    let changes = delete(&mut view, Kind::Dataplane, "backend-2");
    assert_eq!(changed(&changes), (vec![service], vec!["default/backend-2".to_owned()]));
    assert!(delete(&mut view, Kind::Dataplane, "backend-2").is_empty());
}

#[test]
fn an_endpoint_that_was_ready_is_unhealthy_and_one_that_never_was_is_left_out() {
    let web = client("web-1", "zone-1", &["backend"]);
    let not_ready = with_state(backend(1, "zone-1"), "NotReady");
    let health = |view: &mut View| {
        let plan = plan(view, "web-1");
        let assigned = view.assignment(&plan.assignments()[0].1);
        let groups = assigned.assignment.groups.iter();
        groups.flat_map(|group| group.endpoints.iter().map(|e| e.health)).collect::<Vec<_>>()
    };
    let mut view = view_of(&[web, not_ready.clone()]);
    assert_eq!(health(&mut view), []);
    view.apply(resource(&backend(1, "zone-1")));
    assert_eq!(health(&mut view), [EndpointHealth::Healthy]);
    view.apply(resource(&not_ready));
    assert_eq!(health(&mut view), [EndpointHealth::Unhealthy]);
    view.apply(resource(&with_state(backend(1, "zone-1"), "Ignored")));
    assert_eq!(health(&mut view), []);
    view.apply(resource(&not_ready));
    assert_eq!(health(&mut view), [], "it has to become ready again");
}

#[test]
fn a_restart_does_not_forget_that_an_endpoint_was_ready() {
    let mut view = View::first_read(Settings::default());
    let not_ready = |n, zone| with_state(backend(n, zone), "NotReady");
    for value in [client("web-1", "zone-1", &["backend"]), not_ready(1, "zone-1")] {
        view.apply(resource(&value));
    }
    view.apply(resource(&with_state(backend(3, "zone-1"), "Ignored")));
    view.end_first_read();
    view.apply(resource(&not_ready(2, "zone-1")));
    let plan = plan(&mut view, "web-1");
    let groups = view.assignment(&plan.assignments()[0].1).assignment.groups;
    let seen = groups.iter().flat_map(|group| &group.endpoints);
    let seen: Vec<_> = seen.map(|endpoint| (endpoint.health, endpoint.address)).collect();
    let [(EndpointHealth::Unhealthy, first)] = seen[..] else { panic!("{seen:?}") };
    view.apply(resource(&backend(1, "zone-1")));
    let groups = view.assignment(&plan.assignments()[0].1).assignment.groups;
    assert_eq!(groups[0].endpoints[0].address, first, "the one of the first read");
    assert_eq!(groups[0].endpoints[0].health, EndpointHealth::Healthy);
}

#[test]
fn a_split_that_empties_or_fills_touches_who_depends_on_it() {
    let mut view = view_of(&[
        client("web-1", "zone-1", &["backend"]),
        client("web-2", "zone-2", &["backend"]),
        client("web-3", "zone-2", &["other"]),
        backend(1, "zone-1"),
        backend(2, "zone-2"),
        backend(3, "zone-2"),
        halves(),
    ]);
    let before = ["web-1", "web-2", "web-3"].map(|name| told(&plan(&mut view, name)));
    let changes = delete(&mut view, Kind::Dataplane, "backend-2");
    assert_eq!(names(&changes.proxies), ["default/backend-2"], "another is left in the zone");
    let changes = delete(&mut view, Kind::Dataplane, "backend-3");
    let expected = ["default/backend-3", "default/web-1", "default/web-2"];
    assert_eq!(names(&changes.proxies), expected);
    assert!(!told(&plan(&mut view, "web-1"))[0].contains("*1 "), "one cluster is left");
    plan(&mut view, "web-2");
    let changes = view.apply(resource(&backend(2, "zone-2")));
    let expected = ["default/backend-2", "default/web-1", "default/web-2"];
    assert_eq!(names(&changes.proxies), expected);
    assert_eq!(before, ["web-1", "web-2", "web-3"].map(|name| told(&plan(&mut view, name))));
}

#[test]
fn a_protocol_touches_who_calls_the_service() {
    let mut view = view_of(&[
        client("web-1", "zone-1", &["backend"]),
        client("web-2", "zone-1", &["other"]),
        backend(1, "zone-1"),
    ]);
    plan(&mut view, "web-1");
    plan(&mut view, "web-2");
    let mut tcp = backend(1, "zone-1");
    tcp["networking"]["inbound"][0]["tags"]["kuma.io/protocol"] = json!("tcp");
    let changes = view.apply(resource(&tcp));
    assert_eq!(names(&changes.proxies), ["default/backend-1", "default/web-1"]);
    assert_eq!(told(&plan(&mut view, "web-1")), ["10000 tcp backend*1"]);
}

#[test]
fn a_policy_touches_those_it_is_for() {
    let mut view = view_of(&[
        client("web-1", "zone-1", &["backend"]),
        client("web-2", "zone-2", &["backend"]),
        backend(1, "zone-1"),
    ]);
    let awareness = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend"},
        "default": {"localityAwareness": {"disabled": true}},
    }]);
    let target = json!({"kind": "MeshSubset", "tags": {"kuma.io/zone": "zone-2"}});
    let value = policy("MeshLoadBalancingStrategy", "s", &target, &awareness);
    let changes = view.apply(resource(&value));
    assert_eq!(changed(&changes), (vec![], vec!["default/web-2".to_owned()]));
    assert!(view.apply(resource(&value)).is_empty());
    let changes = delete(&mut view, Kind::MeshLoadBalancingStrategy, "s");
    assert_eq!(names(&changes.proxies), ["default/web-2"]);
}

#[test]
fn a_multi_zone_service_follows_its_services() {
    let shop = |labels: Value| {
        json!({"type": "MeshService", "mesh": MESH, "name": "backend", "labels": labels,
            "spec": {"selector": {"dataplaneTags": {"kuma.io/service": "backend"}}}})
    };
    let all = json!({"type": "MeshMultiZoneService", "mesh": MESH, "name": "all",
        "spec": {"selector": {"meshService": {"matchLabels": {"in": "all"}}}}});
    let mut web = client("web-1", "zone-1", &[]);
    web["networking"]["outbound"] =
        json!([{"port": 10000, "backendRef": {"kind": "MeshMultiZoneService", "name": "all"}}]);
    let mut view = view_of(&[web, all, backend(1, "zone-1"), shop(json!({}))]);
    let first = plan(&mut view, "web-1");
    assert_eq!(endpoints(&view, &first).len(), 1);
    assert!(endpoints(&view, &first)[0].ends_with(": "), "no service is selected");
    let changes = view.apply(resource(&shop(json!({"in": "all"}))));
    assert!(names(&changes.services).contains(&"MeshMultiZoneService default/all".to_owned()));
    assert_eq!(names(&changes.proxies), ["default/web-1"], "its protocol became known");
    let second = plan(&mut view, "web-1");
    assert!(endpoints(&view, &second)[0].ends_with(": 0=10.0.0.1"));
    let changes = view.apply(resource(&backend(2, "zone-1")));
    assert!(names(&changes.services).contains(&"MeshMultiZoneService default/all".to_owned()));
    delete(&mut view, Kind::MeshService, "backend");
    let third = plan(&mut view, "web-1");
    assert!(endpoints(&view, &third)[0].ends_with(": "));
}

#[test]
fn proxies_alike_share_what_they_are_told() {
    let mut values = vec![
        backend(1, "zone-1"),
        strategy(
            "s",
            "backend",
            &json!({
                "localZone": {"affinityTags": [{"key": "node"}]},
            }),
        ),
    ];
    for (name, node) in [("web-1", "n1"), ("web-2", "n1"), ("web-3", "n2")] {
        let mut web = client(name, "zone-1", &["backend"]);
        web["networking"]["inbound"][0]["tags"]["node"] = json!(node);
        web["networking"]["inbound"][0]["tags"]["pod"] = json!(name);
        values.push(web);
    }
    let mut view = view_of(&values);
    let [one, two, three] = ["web-1", "web-2", "web-3"].map(|name| plan(&mut view, name));
    assert!(Arc::ptr_eq(&one.outbound, &two.outbound), "same node");
    assert!(!Arc::ptr_eq(&one.outbound, &three.outbound));
    assert_ne!(one.assignments()[0].1, three.assignments()[0].1);
    assert!(shares(&one.outbound.config.clusters, &three.outbound.config.clusters));
    assert!(shares(&one.outbound.config.listeners, &three.outbound.config.listeners));
    // A policy for another service makes new plans with the same parts.
    view.apply(resource(&strategy("t", "other", &json!({}))));
    let again = plan(&mut view, "web-1");
    assert!(shares(&one.outbound.config.clusters, &again.outbound.config.clusters));
    assert_eq!(one.assignments(), again.assignments());
}
