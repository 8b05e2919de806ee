//! The version-skew strategies of KEP-4444 and KEP-2433, row by row, as far as proxies go, and the
//! downgrade of the former.
//!
//! Proxies of other versions run on nodes of their own, all of them in zone-a: node-old knows
//! KEP-2433 only, node-hintless neither, node-zonal all but hints for nodes. Slices of an old
//! controller are written by hand, for Services without a selector.

use serde_json::{Value, json};

use crate::{
    cluster::{PODS, off, settings},
    space::{Space, Target, with},
};

fn auto() -> Value {
    json!({"service.kubernetes.io/topology-mode": "Auto"})
}

fn prefer() -> Value {
    json!({"trafficDistribution": "PreferSameZone"})
}

/// "A newer kube-apiserver serves the new field but the older kube-proxy … silently ignores" it.
#[test]
fn kep_4444_new_api_server_and_old_proxy_the_field_has_no_effect() {
    let space = Space::new("skew-api");
    space.pods(&PODS);
    let web = space.service("web", prefer());
    space.reaches(space.client("hintless"), web.http(), &PODS);
    space.reaches(space.client("a1"), web.http(), &["a1", "a2"]);
}

#[test]
fn kep_4444_new_controller_and_old_proxy_1_both_are_set_and_hints_of_auto_are_used() {
    let space = Space::new("skew-new-old-1");
    space.pods(&PODS);
    let web = space.annotated("web", auto(), prefer());
    space.reaches(space.client("old"), web.http(), &["a1", "a2"]);
}

#[test]
fn kep_4444_new_controller_and_old_proxy_2_only_the_field_is_set_and_hints_are_ignored() {
    let space = Space::new("skew-new-old-2");
    space.pods(&PODS);
    let web = space.service("web", prefer());
    space.reaches(space.client("a1"), web.http(), &["a1", "a2"]);
    space.reaches(space.client("old"), web.http(), &PODS);
}

#[test]
fn kep_4444_new_controller_and_old_proxy_3_only_the_annotation_is_set_and_hints_are_used() {
    let space = Space::new("skew-new-old-3");
    space.pods(&PODS);
    let web = space.annotated("web", auto(), json!({}));
    space.reaches(space.client("old"), web.http(), &["a1", "a2"]);
}

/// A Service with slices of an old controller, which hint for the zones that `hint` says.
fn old_controller(
    space: &Space,
    annotations: Value,
    more: Value,
    hint: impl Fn(&str) -> Value,
) -> Target {
    let web = space.annotated("web", annotations, with(json!({"selector": null}), more));
    space.slice("web", &PODS, hint);
    web
}

/// As Auto may: an endpoint of zone-b serves zone-a.
fn of_auto(pod: &str) -> Value {
    let zone = match pod {
        "a1" | "a2" | "b1" => "zone-a",
        "b2" => "zone-b",
        _ => "zone-c",
    };
    json!({"forZones": [{"name": zone}]})
}

#[test]
fn kep_4444_old_controller_and_new_proxy_1_both_are_set_and_hints_of_auto_are_used() {
    let space = Space::new("skew-old-new-1");
    let web = old_controller(&space, auto(), prefer(), of_auto);
    space.reaches(space.client("a1"), web.http(), &["a1", "a2", "b1"]);
}

#[test]
fn kep_4444_old_controller_and_new_proxy_2_only_the_field_is_set_and_all_are_used() {
    let space = Space::new("skew-old-new-2");
    let web = old_controller(&space, json!({}), prefer(), |_| Value::Null);
    space.reaches(space.client("a1"), web.http(), &PODS);
}

#[test]
fn kep_4444_old_controller_and_new_proxy_3_only_the_annotation_is_set_and_hints_are_used() {
    let space = Space::new("skew-old-new-3");
    let web = old_controller(&space, auto(), json!({}), of_auto);
    space.reaches(space.client("a1"), web.http(), &["a1", "a2", "b1"]);
}

/// "kube-proxy will still work because EndpointSlices will not include topology hints."
#[test]
fn kep_2433_a_controller_without_hints_and_a_proxy_with_them() {
    let space = Space::new("skew-2433-1");
    let web = old_controller(&space, auto(), json!({}), |_| Value::Null);
    space.reaches(space.client("a1"), web.http(), &PODS);
    space.reaches(space.client("old"), web.http(), &PODS);
}

/// "kube-proxy will continue to consume all endpoints."
#[test]
fn kep_2433_a_controller_with_hints_and_a_proxy_without_them() {
    let space = Space::new("skew-2433-2");
    space.pods(&PODS);
    let web = space.annotated("web", auto(), json!({}));
    space.reaches(space.client("a1"), web.http(), &["a1", "a2"]);
    space.reaches(space.client("hintless"), web.http(), &PODS);
}

/// "*All* endpoints within an EndpointSlice must have corresponding hints".
#[test]
fn hints_of_some_endpoints_only_are_ignored() {
    let space = Space::new("partial-hints");
    let web = old_controller(&space, json!({}), prefer(), |pod| match pod {
        "c2" => Value::Null,
        _ => of_auto(pod),
    });
    space.reaches(space.client("a1"), web.http(), &PODS);
}

/// "Other service proxy implementations that don't process the new hint will still be able to treat
/// the Service as `PreferClose`".
#[test]
fn a_proxy_without_hints_for_nodes_uses_those_for_zones() {
    let space = Space::new("zonal");
    space.pods(&PODS);
    let pods = ["a1", "a2", "b1"];
    let web = space.service("web", json!({"selector": null}));
    space.slice("web", &pods, |pod| {
        let node = if pod == "a1" { "node-zonal".to_owned() } else { format!("node-{pod}") };
        let zone = space.cluster.pod(pod).zone.clone();
        json!({"forNodes": [{"name": node}], "forZones": [{"name": zone}]})
    });
    space.reaches(space.client("zonal"), web.http(), &["a1", "a2"]);
    space.reaches(space.client("a2"), web.http(), &["a2"]);
}

/// Steps 8 to 10 of the tested downgrade: with an older proxy all endpoints are used, while "the
/// Service should still have the `trafficDistribution` field set and similarly the EndpointSlices
/// should still have the hints". Then back.
#[test]
fn kep_4444_walk_through_a_proxy_is_downgraded_and_upgraded() {
    const NODE: &str = "node-restarted";
    let space = Space::new("walk-through");
    let _turn = space.cluster.turn(NODE);
    space.pods(&PODS);
    let web = space.service("web", json!({"trafficDistribution": "PreferClose"}));
    let client = space.client("restarted");
    space.reaches(client, web.http(), &["a1", "a2"]);
    let hints = || serde_json::to_string(&space.slices("web")).unwrap();
    let before = hints();
    assert!(before.contains("forZones"), "{before}");

    space.cluster.stop_proxy(NODE);
    // Without a proxy, its last rules serve.
    space.reaches(client, web.http(), &["a1", "a2"]);
    let mut downgraded = settings(NODE);
    downgraded.engine.topology.gates = off();
    space.cluster.start_proxy(downgraded);
    space.reaches(client, web.http(), &PODS);
    assert_eq!(hints(), before);
    let spec = space.get("web").spec.unwrap();
    assert_eq!(spec.traffic_distribution.as_deref(), Some("PreferClose"));

    space.cluster.stop_proxy(NODE);
    space.cluster.start_proxy(settings(NODE));
    space.reaches(client, web.http(), &["a1", "a2"]);
}
