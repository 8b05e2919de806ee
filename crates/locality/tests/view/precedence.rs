//! Which policies are for whom, and which of them wins.

use evenkeel_locality::resource::Kind;
use evenkeel_model::mesh::ConnectionLimits;
use serde_json::{Value, json};

use crate::setup::*;

/// A limit of connections for traffic to `to`, which tells policies apart.
fn limit(name: &str, target: &Value, to: &Value, connections: u32) -> Value {
    let conf = json!({"connectionLimits": {"maxConnections": connections}});
    let to = json!([{"targetRef": to, "default": conf}]);
    policy("MeshCircuitBreaker", name, target, &to)
}

fn limits(values: &[Value]) -> Option<ConnectionLimits> {
    let mut web = calling(
        instance("web-1", "10.0.0.1", "web", &["version=v1", "kuma.io/zone=zone-1"]),
        &["backend"],
    );
    web["labels"] = json!({"team": "a", "env": "prod"});
    web["networking"]["inbound"][0]["name"] = json!("main");
    let mut all = vec![web, instance("backend-1", "10.0.0.2", "backend", &[])];
    all.extend(values.iter().cloned());
    let mut view = view_of(&all);
    let plan = plan(&mut view, "web-1");
    all.reverse();
    let mut reversed = view_of(&all);
    assert_eq!(plan, crate::setup::plan(&mut reversed, "web-1"), "the order says nothing");
    plan.outbound.config.clusters[0].limits.clone()
}

fn connections(values: &[Value]) -> Option<u32> {
    limits(values).and_then(|limits| limits.max_connections)
}

#[test]
fn a_policy_is_for_whom_its_target_names() {
    let all = json!({"kind": "Mesh"});
    let table = [
        (json!({"kind": "Mesh"}), true),
        (json!({"kind": "Mesh", "proxyTypes": ["Sidecar"]}), true),
        (json!({"kind": "Mesh", "proxyTypes": ["Gateway"]}), false),
        (json!({"kind": "MeshSubset", "tags": {"version": "v1"}}), true),
        (json!({"kind": "MeshSubset", "tags": {"version": "*"}}), true),
        (json!({"kind": "MeshSubset", "tags": {"version": "v2"}}), false),
        (json!({"kind": "MeshSubset", "tags": {"version": "v1", "kuma.io/zone": "zone-2"}}), false),
        (json!({"kind": "MeshService", "name": "web"}), true),
        (json!({"kind": "MeshService", "name": "backend"}), false),
        (json!({"kind": "MeshServiceSubset", "name": "web", "tags": {"version": "v1"}}), true),
        (json!({"kind": "MeshServiceSubset", "name": "web", "tags": {"version": "v2"}}), false),
        (json!({"kind": "Dataplane"}), true),
        (json!({"kind": "Dataplane", "name": "web-1"}), true),
        (json!({"kind": "Dataplane", "name": "web-2"}), false),
        (json!({"kind": "Dataplane", "labels": {"team": "a"}}), true),
        (json!({"kind": "Dataplane", "labels": {"team": "b"}}), false),
        (json!({"kind": "Dataplane", "name": "web-1", "sectionName": "main"}), true),
        (json!({"kind": "Dataplane", "name": "web-1", "sectionName": "80"}), true),
        (json!({"kind": "Dataplane", "name": "web-1", "sectionName": "81"}), false),
    ];
    for (target, is_for) in table {
        let got = connections(&[limit("a", &target, &all, 7)]);
        assert_eq!(got, is_for.then_some(7), "{target}");
    }
}

#[test]
fn an_item_is_for_the_destination_it_names() {
    let service = json!({
        "type": "MeshService", "mesh": MESH, "name": "backend", "labels": {"tier": "two"},
        "spec": {"selector": {"dataplaneTags": {"kuma.io/service": "backend"}}},
    });
    let table = [
        (json!({"kind": "Mesh"}), true),
        (json!({"kind": "MeshService", "name": "backend"}), true),
        (json!({"kind": "MeshService", "name": "web"}), false),
        (json!({"kind": "MeshService", "labels": {"tier": "two"}}), true),
        (json!({"kind": "MeshService", "labels": {"tier": "one"}}), false),
        (json!({"kind": "MeshService", "labels": {"kuma.io/display-name": "backend"}}), true),
        (json!({"kind": "MeshMultiZoneService", "name": "backend"}), true),
        (json!({"kind": "MeshMultiZoneService", "name": "web"}), false),
        (json!({"kind": "MeshExternalService", "name": "backend"}), false),
    ];
    for (to, is_for) in table {
        let policy = limit("a", &json!({"kind": "Mesh"}), &to, 7);
        let got = connections(&[service.clone(), policy]);
        assert_eq!(got, is_for.then_some(7), "{to}");
    }
}

#[test]
fn the_more_specific_policy_wins() {
    let mesh = || json!({"kind": "Mesh"});
    let backend = || json!({"kind": "MeshService", "name": "backend"});
    // Each is more specific than all before it.
    let ladder = [
        (mesh(), mesh()),
        (mesh(), json!({"kind": "MeshService", "labels": {"kuma.io/display-name": "backend"}})),
        (mesh(), backend()),
        (json!({"kind": "Mesh", "proxyTypes": ["Sidecar"]}), mesh()),
        (json!({"kind": "MeshSubset", "tags": {"version": "v1"}}), mesh()),
        (json!({"kind": "MeshSubset", "tags": {"version": "v1"}}), backend()),
        (
            json!({"kind": "MeshSubset", "tags": {"version": "v1", "kuma.io/zone": "zone-1"}}),
            mesh(),
        ),
        (json!({"kind": "MeshService", "name": "web"}), mesh()),
        (json!({"kind": "MeshServiceSubset", "name": "web", "tags": {"version": "v1"}}), mesh()),
        (json!({"kind": "Dataplane", "labels": {"team": "a"}}), mesh()),
        (json!({"kind": "Dataplane", "labels": {"team": "a", "env": "prod"}}), mesh()),
        (json!({"kind": "Dataplane", "name": "web-1"}), mesh()),
        (json!({"kind": "Dataplane", "name": "web-1", "sectionName": "main"}), mesh()),
        (json!({"kind": "Dataplane", "name": "web-1", "sectionName": "main"}), backend()),
    ];
    for (i, below) in ladder.iter().enumerate() {
        for (j, above) in ladder.iter().enumerate().skip(i + 1) {
            // Its name alone would make the less specific one win.
            let one = limit("a", &below.0, &below.1, 1);
            let other = limit("b", &above.0, &above.1, 2);
            assert_eq!(connections(&[one, other]), Some(2), "{i} against {j}");
        }
    }
}

#[test]
fn of_equal_policies_the_first_name_wins_and_of_equal_items_the_last() {
    let mesh = json!({"kind": "Mesh"});
    let a = limit("a", &mesh, &mesh, 1);
    let b = limit("b", &mesh, &mesh, 2);
    assert_eq!(connections(&[a, b]), Some(1));
    let item =
        |n: u32| json!({"targetRef": mesh, "default": {"connectionLimits": {"maxConnections": n}}});
    let both = policy("MeshCircuitBreaker", "a", &mesh, &json!([item(1), item(2)]));
    assert_eq!(connections(&[both]), Some(2));
}

#[test]
fn fields_are_merged_and_lists_replaced() {
    let mesh = json!({"kind": "Mesh"});
    let backend = json!({"kind": "MeshService", "name": "backend"});
    let conf = |to: &Value, conf: Value| json!([{"targetRef": to, "default": conf}]);
    let affinity = |key: &str| json!({"affinityTags": [{"key": key}]});
    let wide = conf(
        &mesh,
        json!({
            "loadBalancer": {"type": "Random"},
            "localityAwareness": {
                "localZone": affinity("node"),
                "crossZone": {"failover": [{"to": {"type": "Any"}}]},
            },
        }),
    );
    let narrow = conf(&backend, json!({"localityAwareness": {"localZone": affinity("rack")}}));
    let kind = "MeshLoadBalancingStrategy";
    let mut view = view_of(&[
        client("web-1", "zone-1", &["backend"]),
        policy(kind, "wide", &mesh, &wide),
        policy(kind, "narrow", &mesh, &narrow),
    ]);
    let plan = plan(&mut view, "web-1");
    let in_force = plan.outbound.in_force.values().next().unwrap();
    let merged = &in_force.policies[&Kind::MeshLoadBalancingStrategy];
    assert_eq!(
        merged.value,
        json!({
            "loadBalancer": {"type": "Random"},
            "localityAwareness": {
                "localZone": {"affinityTags": [{"key": "rack"}]},
                "crossZone": {"failover": [{"to": {"type": "Any"}}]},
            },
        })
    );
    let origin = |path: &str| merged.origins.get(path).map(|name| &**name);
    assert_eq!(origin("loadBalancer.type"), Some("wide"));
    assert_eq!(origin("localityAwareness.localZone.affinityTags"), Some("narrow"));
    assert_eq!(origin("localityAwareness.crossZone.failover"), Some("wide"));
}

#[test]
fn a_policy_never_reaches_into_another_mesh() {
    let mesh = json!({"kind": "Mesh"});
    let mut elsewhere = limit("a", &mesh, &mesh, 1);
    elsewhere["mesh"] = json!("other");
    assert_eq!(connections(&[elsewhere]), None);
}

#[test]
fn health_is_readiness_unless_a_policy_checks_it() {
    let mesh = json!({"kind": "Mesh"});
    let conf = |conf: Value| json!([{"targetRef": mesh, "default": conf}]);
    let checks = conf(json!({"http": {"path": "/live"}, "interval": "3s"}));
    let checks = policy("MeshHealthCheck", "a", &mesh, &checks);
    let detection =
        json!({"outlierDetection": {"detectors": {"totalFailures": {"consecutive": 3}}}});
    let detects = policy("MeshCircuitBreaker", "a", &mesh, &conf(detection));
    let table = [
        (vec![], Some(0), 0, false),
        (vec![checks.clone()], None, 1, false),
        (vec![detects.clone()], None, 0, true),
        (vec![checks, detects], None, 1, true),
    ];
    for (policies, panic_threshold, n_checks, has_detection) in table {
        let mut values = vec![
            client("web-1", "zone-1", &["backend"]),
            instance("backend-1", "10.0.0.1", "backend", &[]),
        ];
        values.extend(policies);
        let mut view = view_of(&values);
        let plan = plan(&mut view, "web-1");
        let cluster = &plan.outbound.config.clusters[0];
        assert_eq!(cluster.panic_threshold, panic_threshold);
        assert_eq!(cluster.health_checks.len(), n_checks);
        assert_eq!(cluster.outlier_detection.is_some(), has_detection);
    }
}
