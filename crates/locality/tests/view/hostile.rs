//! Input that is large, odd or contradictory.

use evenkeel_locality::{
    Compat,
    resource::{Form, parse},
};
use evenkeel_model::mesh::LoadBalancer;
use serde_json::{Value, json};

use crate::setup::*;

#[test]
fn ten_thousand_outbounds_are_planned() {
    let mut web = client("web-1", "zone-1", &[]);
    let outbounds = (0..10_000)
        .map(|i| json!({"port": 10_000 + i, "tags": {"kuma.io/service": format!("s-{i}")}}));
    web["networking"]["outbound"] = outbounds.collect();
    let mut view = view_of(&[web]);
    let plan = plan(&mut view, "web-1");
    assert_eq!(plan.outbound.config.clusters.len(), 10_000);
    assert!(view.work() < 100_000, "{}", view.work());
}

#[test]
fn routes_that_refer_to_each_other_end() {
    let route = |from: &str, to: &str| {
        let rules = json!([{"default": {"backendRefs": [
            {"kind": "MeshMultiZoneService", "name": to}, {"kind": "MeshService", "name": from},
        ]}}]);
        let to = json!([{"targetRef": {"kind": "MeshMultiZoneService", "name": from},
            "rules": rules}]);
        policy("MeshHTTPRoute", &format!("{from}-{}", "r"), &json!({"kind": "Mesh"}), &to)
    };
    let multi_zone = |name: &str, label: &str| {
        json!({"type": "MeshMultiZoneService", "mesh": MESH, "name": name, "labels": {"l": name},
            "spec": {"selector": {"meshService": {"matchLabels": {"l": label}}}}})
    };
    let mut web = client("web-1", "zone-1", &[]);
    web["networking"]["outbound"] =
        json!([{"port": 1, "backendRef": {"kind": "MeshMultiZoneService", "name": "a"}}]);
    let values =
        [web, multi_zone("a", "b"), multi_zone("b", "a"), route("a", "b"), route("b", "a")];
    let plan = plan(&mut view_of(&values), "web-1");
    assert_eq!(told(&plan), ["1 Any 503"]);
}

#[test]
fn a_service_may_not_take_the_cluster_of_another() {
    let to = json!([{"targetRef": {"kind": "MeshService", "name": "a"}, "rules": [{"default": {
        "backendRefs": [{"kind": "MeshServiceSubset", "name": "a", "tags": {"v": "1"}}]}}]}]);
    let values = |services: &[&str]| {
        vec![
            client("web-1", "zone-1", services),
            instance("a-1", "10.0.0.1", "a", &["v=1"]),
            policy("MeshHTTPRoute", "r", &json!({"kind": "Mesh"}), &to),
        ]
    };
    let honest = plan(&mut view_of(&values(&["a"])), "web-1");
    let taken = honest.assignments()[0].0.to_string();
    assert!(taken.starts_with("a-"), "{taken}");
    let hostile = plan(&mut view_of(&values(&["a", &taken])), "web-1");
    assert_eq!(codes(&hostile), ["ClusterNameTaken"]);
    assert_eq!(told(&hostile)[0], told(&honest)[0], "the first keeps it");
}

#[test]
fn odd_names_are_refused() {
    for name in ["", "a b", "a\u{202e}b", "a\nb", "ä", "a{b}", &"x".repeat(1_000_000)] {
        for value in [client("web-1", "zone-1", &[name]), instance(name, "10.0.0.1", "s", &[])] {
            let errors = parse(&value, Form::File, Compat::Record).unwrap_err();
            assert!(errors.iter().all(|error| error.to_string().len() < 500), "{name}");
        }
    }
}

/// Each is valid for itself; together the smallest ring would be larger than the largest.
#[test]
fn policies_that_make_no_sense_together_fall_back_to_the_less_specific() {
    let mesh = json!({"kind": "Mesh"});
    let ring = |size: Value| {
        json!([{"targetRef": mesh, "default": {
            "loadBalancer": {"type": "RingHash", "ringHash": size},
        }}])
    };
    let kind = "MeshLoadBalancingStrategy";
    let values = [
        client("web-1", "zone-1", &["backend"]),
        policy(kind, "b", &mesh, &ring(json!({"minRingSize": 4096}))),
        policy(kind, "a", &mesh, &ring(json!({"maxRingSize": 1024}))),
    ];
    let plan = plan(&mut view_of(&values), "web-1");
    assert_eq!(codes(&plan), ["MergedPolicyInvalid"]);
    let LoadBalancer::RingHash(ring) = &plan.outbound.config.clusters[0].load_balancer else {
        panic!("it is a ring");
    };
    assert_eq!((ring.min_ring_size, ring.max_ring_size), (Some(4096), None));
}

#[test]
fn many_dataplanes_on_one_address_are_one_endpoint() {
    let mut values = vec![client("web-1", "zone-1", &["backend"])];
    for i in 0..100 {
        values.push(instance(&format!("b-{i}"), "10.0.0.1", "backend", &["kuma.io/zone=zone-1"]));
    }
    let mut view = view_of(&values);
    let plan = plan(&mut view, "web-1");
    assert_eq!(endpoints(&view, &plan), ["backend: 0=10.0.0.1"]);
}
