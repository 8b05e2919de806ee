//! Load balancers that hash: without the weight of any group in a priority, Envoy answers 503 for it.

use evenkeel_locality::predict::{Balancing, predict};
use serde_json::{Value, json};

use crate::setup::*;

fn backends(not_ready: &[&str]) -> Vec<Value> {
    let zones = [("1", "zone-1"), ("2", "zone-2"), ("3", "zone-2"), ("4", "zone-3")];
    let backends = zones.into_iter().map(|(n, zone)| {
        let address = format!("10.0.0.{n}");
        let name = format!("backend-{n}");
        let tags = [format!("kuma.io/zone={zone}"), format!("k8s.io/node=node-{n}")];
        let mut backend = instance(&name, &address, "backend", &[&tags[0], &tags[1]]);
        if not_ready.contains(&n) {
            backend["networking"]["inbound"][0]["state"] = json!("NotReady");
        }
        backend
    });
    backends.collect()
}

/// Zone and weight of each group for a client in zone-1, and the part of its requests that get 503.
fn told_in_zone_1(balancer: &str, tags: &Value, not_ready: &[&str]) -> (Vec<String>, f64) {
    let awareness = json!({
        "localZone": {"affinityTags": tags},
        "crossZone": {"failover": [{"to": {"type": "Any"}}]},
    });
    let conf = json!({"loadBalancer": {"type": balancer}, "localityAwareness": awareness});
    let to = json!([{"targetRef": {"kind": "MeshService", "name": "backend"}, "default": conf}]);
    let policy = policy("MeshLoadBalancingStrategy", "all", &json!({"kind": "Mesh"}), &to);
    let client = client("client", "zone-1", &["backend"]);
    let mut view = view_of(&[backends(&[]), vec![policy, client]].concat());
    for backend in backends(not_ready) {
        view.apply(resource(&backend));
    }
    let plan = plan(&mut view, "client");
    let (_, key) = &plan.assignments()[0];
    let assigned = view.assignment(key);
    let groups = assigned.assignment.groups.iter().map(|group| {
        let weight = group.weight.map_or(0, std::num::NonZeroU32::get);
        format!("{} {weight}", group.zone.as_deref().unwrap_or_default())
    });
    let config = plan.config();
    let balancing = Balancing::from(&*config.clusters[0]);
    (groups.collect(), predict(&assigned.assignment, &balancing).errors)
}

#[test]
fn with_weights_all_groups_of_a_hashing_load_balancer_have_one() {
    let tags = json!([{"key": "k8s.io/node"}]);
    let lost = ["1"];
    // Elsewhere an endpoint gets the same in every zone, as without weights.
    let weighted = ["zone-1 1", "zone-2 2", "zone-3 1"];
    let without = ["zone-1 1", "zone-2 0", "zone-3 0"];
    let rows: [(&str, &Value, &[&str], [&str; 3]); 7] = [
        ("RingHash", &tags, &lost, weighted),
        ("Maglev", &tags, &lost, weighted),
        ("RingHash", &tags, &[], weighted),
        ("RingHash", &tags, &["1", "3"], ["zone-1 1", "zone-2 1", "zone-3 1"]),
        ("RingHash", &json!([]), &lost, without),
        ("RoundRobin", &tags, &lost, without),
        ("Random", &tags, &lost, without),
    ];
    for (balancer, tags, not_ready, expected) in rows {
        let (groups, errors) = told_in_zone_1(balancer, tags, not_ready);
        assert_eq!(groups, expected, "{balancer} {tags} {not_ready:?}");
        assert_eq!(errors, 0.0, "{balancer} {tags} {not_ready:?}");
    }
}
