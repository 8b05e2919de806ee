//! What a change costs, counted in what is looked at, against the size of the mesh.

use evenkeel_locality::view::View;
use serde_json::{Value, json};

use crate::setup::*;

const SERVICES: usize = 50;
const PROXIES_OF_SERVICE: usize = 2;

/// A mesh in which each proxy calls three services, whatever its size: `n` proxies in 60 places.
fn mesh(n: usize) -> View {
    let mut view = view_of(&[strategy(
        "s",
        "s-0",
        &json!({
            "localZone": {"affinityTags": [{"key": "node"}]},
            "crossZone": {"failover": [{"to": {"type": "Any"}}]},
        }),
    )]);
    for i in 0..n {
        view.apply(resource(&proxy(i, "Ready")));
    }
    for i in 0..n {
        plan(&mut view, &format!("p-{i}"));
    }
    view
}

/// The first ones are instances of services, all others call them.
fn proxy(i: usize, state: &str) -> Value {
    let service = match i / PROXIES_OF_SERVICE {
        service if service < SERVICES => format!("s-{service}"),
        _ => format!("client-{i}"),
    };
    let zone = format!("kuma.io/zone=zone-{}", i % 3);
    let node = format!("node=n-{}", i % 60);
    let address = format!("10.{}.{}.1", i / 200, i % 200);
    let value = instance(&format!("p-{i}"), &address, &service, &[&zone, &node]);
    let mut value = calling(value, &["s-0", "s-1", "s-2"]);
    value["networking"]["inbound"][0]["state"] = json!(state);
    value
}

#[test]
fn one_dataplane_costs_the_same_in_a_hundred_times_larger_mesh() {
    let cost = |n: usize| {
        let mut view = mesh(n);
        let before = view.work();
        let changes = view.apply(resource(&proxy(0, "NotReady")));
        assert_eq!(names(&changes.services), ["MeshService default/s-0"]);
        assert!(changes.proxies.is_empty());
        view.apply(resource(&proxy(0, "Ready")));
        let mut moved = proxy(7, "Ready");
        moved["networking"]["address"] = json!("10.250.0.1");
        let changes = view.apply(resource(&moved));
        assert_eq!(names(&changes.proxies), ["default/p-7"]);
        for key in changes.proxies {
            view.proxy(&key);
        }
        view.work() - before
    };
    let (small, large) = (cost(100), cost(10_000));
    assert_eq!(small, large);
    assert!(small < 30, "{small}");
}

#[test]
fn plans_are_made_once_for_each_place() {
    let work = |n: usize| {
        let mut view = mesh(n);
        view.apply(resource(&strategy("t", "s-1", &only_zone("zone-1"))));
        let mut plans: Vec<_> = (0..n)
            .map(|i| std::sync::Arc::as_ptr(&plan(&mut view, &format!("p-{i}")).outbound))
            .collect();
        plans.sort_unstable();
        plans.dedup();
        plans.len()
    };
    assert_eq!(work(60), 60);
    assert_eq!(work(2_000), 60);
}
