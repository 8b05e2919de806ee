//! The eight use cases of the decision record, each a service of its own, with the same servers behind
//! all of them: three in zone-1, two each in zone-2 and zone-3.

use evenkeel_testkit::envoy::Server;
use serde_json::{Value, json};

use crate::{
    client::{Client, Spec, TOLERANCE, is_near, predicted, share_of_zone},
    control_plane::ControlPlane,
    folder::{Folder, Instance, strategy},
};

/// Name, zone, node and availability zone.
const SERVERS: [(&str, &str, &str, &str); 7] = [
    ("zone-1.a", "zone-1", "node-1", "az-1"),
    ("zone-1.b", "zone-1", "node-2", "az-1"),
    ("zone-1.c", "zone-1", "node-3", "az-2"),
    ("zone-2.a", "zone-2", "node-4", "az-3"),
    ("zone-2.b", "zone-2", "node-5", "az-3"),
    ("zone-3.a", "zone-3", "node-6", "az-4"),
    ("zone-3.b", "zone-3", "node-7", "az-4"),
];

const SERVICES: [&str; 8] =
    ["case-1", "case-2", "case-3", "case-4", "case-5", "case-6", "case-7", "case-8"];

struct World {
    folder: Folder,
    control_plane: ControlPlane,
    servers: Vec<Server>,
}

impl World {
    fn start(test: &str) -> World {
        let folder = Folder::new(test);
        let servers: Vec<Server> = SERVERS.iter().map(|(name, ..)| Server::http(name)).collect();
        let control_plane = ControlPlane::start(folder.path());
        let world = World { folder, control_plane, servers };
        for (service, awareness) in awareness() {
            world.folder.put(&strategy(service, &awareness));
        }
        world.folder.put(&local_and_another_zone());
        world.set(|_| "Ready");
        world
    }

    /// States of all instances, by zone.
    fn set(&self, state: impl Fn(&str) -> &'static str) {
        for service in SERVICES {
            for (server, (_, zone, node, az)) in self.servers.iter().zip(&SERVERS) {
                let tags = [("k8s.io/node", *node), ("k8s.io/az", *az)];
                let instance = Instance::new(service, zone, server).with_tags(&tags);
                self.folder.put(&instance.dataplane(state(zone)));
            }
        }
    }

    fn lose_zone_1(&self, clients: &[&Client]) {
        self.set(|zone| if zone == "zone-1" { "NotReady" } else { "Ready" });
        let lost: Vec<_> = self.servers[..3].iter().map(Server::address).collect();
        for client in clients {
            client.told(&self.control_plane, "UNHEALTHY", &lost);
        }
    }

    /// The shares of the zones, which must also be near the prediction.
    fn goes(&self, client: &Client, service: &str, expected: [f64; 3]) {
        let answers = client.as_predicted(service, &self.control_plane, &self.servers);
        for (zone, expected) in ["zone-1", "zone-2", "zone-3"].into_iter().zip(expected) {
            let measured = share_of_zone(&answers, zone);
            let is_near = (measured - expected).abs() <= TOLERANCE;
            assert!(is_near, "{service} to {zone}: {measured} instead of {expected}");
        }
    }
}

/// Those of the record, by service.
fn awareness() -> [(&'static str, Value); 7] {
    let to = |rules: Value| json!({ "localZone": { "affinityTags": [] }, "crossZone": { "failover": rules } });
    let only = |zones: &[&str]| json!({ "type": "Only", "zones": zones });
    [
        ("case-1", json!({})),
        (
            "case-2",
            json!({ "localZone": { "affinityTags": [{ "key": "k8s.io/node" }, { "key": "k8s.io/az" }] } }),
        ),
        ("case-3", to(json!([{ "to": { "type": "Any" } }]))),
        ("case-4", to(json!([{ "to": only(&["zone-1", "zone-3"]) }]))),
        ("case-5", to(json!([{ "to": only(&["zone-3"]) }, { "to": only(&["zone-2"]) }]))),
        ("case-7", to(json!([{ "to": { "type": "AnyExcept", "zones": ["zone-3"] } }]))),
        (
            "case-8",
            to(json!([
                { "from": { "zones": ["zone-1", "zone-2"] }, "to": only(&["zone-1", "zone-2"]) },
                { "from": { "zones": ["zone-3"] }, "to": only(&["zone-3"]) },
            ])),
        ),
    ]
}

/// The record gives this case to routes: half for the own zone, half for another.
fn local_and_another_zone() -> Value {
    let backend = |zone: &str| {
        let tags = json!({ "kuma.io/zone": zone });
        json!({ "kind": "MeshServiceSubset", "name": "case-6", "tags": tags, "weight": 50 })
    };
    json!({
        "type": "MeshHTTPRoute",
        "mesh": "default",
        "name": "halves",
        "spec": {
            "targetRef": { "kind": "Mesh" },
            "to": [{
                "targetRef": { "kind": "MeshService", "name": "case-6" },
                "rules": [{
                    "matches": [{ "path": { "type": "PathPrefix", "value": "/" } }],
                    "default": { "backendRefs": [backend("zone-1"), backend("zone-2")] },
                }],
            }],
        },
    })
}

#[test]
fn use_cases_with_all_zones_healthy() {
    let world = World::start("use_cases_healthy");
    let tags = &[("k8s.io/node", "node-1"), ("k8s.io/az", "az-1")];
    let spec = Spec { tags, ..Spec::new("near", "zone-1", &SERVICES) };
    let near = Client::start(&spec, &world.folder, &world.control_plane);
    for service in ["case-1", "case-3", "case-4", "case-5", "case-7", "case-8"] {
        world.goes(&near, service, [1.0, 0.0, 0.0]);
    }

    // Within the zone 90 % stay on the node, 9 % in the availability zone.
    let answers = near.as_predicted("case-2", &world.control_plane, &world.servers);
    for (server, expected) in [("zone-1.a", 0.9), ("zone-1.b", 0.09), ("zone-1.c", 0.01)] {
        let measured = answers.share(server);
        assert!((measured - expected).abs() <= TOLERANCE, "{server}: {measured}");
    }

    let page = world.control_plane.inspect(&near.key);
    let mut halves = predicted(&page, "case-6", &json!({ "kuma.io/zone": "zone-1" }));
    halves.extend(predicted(&page, "case-6", &json!({ "kuma.io/zone": "zone-2" })));
    halves.values_mut().for_each(|share| *share /= 2.0);
    let answers = near.measure("case-6");
    is_near("case-6", &answers, &halves, &world.servers);
    assert!((share_of_zone(&answers, "zone-1") - 0.5).abs() <= TOLERANCE);
    assert!((share_of_zone(&answers, "zone-2") - 0.5).abs() <= TOLERANCE);
}

#[test]
fn use_cases_with_the_own_zone_lost() {
    let world = World::start("use_cases_lost");
    let services = &["case-1", "case-3", "case-4", "case-5", "case-7", "case-8"];
    let spec = Spec { protocol: "sotw", ..Spec::new("near", "zone-1", services) };
    let near = Client::start(&spec, &world.folder, &world.control_plane);
    // Its zone is not in the group of the others.
    let far =
        Spec { protocol: "sotw", ..Spec::new("far", "zone-3", &["case-4", "case-7", "case-8"]) };
    let far = Client::start(&far, &world.folder, &world.control_plane);
    world.lose_zone_1(&[&near]);

    world.goes(&near, "case-3", [0.0, 0.5, 0.5]);
    world.goes(&near, "case-4", [0.0, 0.0, 1.0]);
    world.goes(&near, "case-5", [0.0, 0.0, 1.0]);
    world.goes(&near, "case-7", [0.0, 1.0, 0.0]);
    world.goes(&near, "case-8", [0.0, 1.0, 0.0]);
    for service in ["case-4", "case-7", "case-8"] {
        world.goes(&far, service, [0.0, 0.0, 1.0]);
    }
    // Traffic that is to stay in the zone is not sent to endpoints that are known to fail.
    near.until("case-1", |answers| answers.share_of_status(503) == 1.0);

    // Nor does traffic leave its group of zones.
    world.set(|zone| if zone == "zone-2" { "Ready" } else { "NotReady" });
    let lost = [world.servers[5].address(), world.servers[6].address()];
    far.told(&world.control_plane, "UNHEALTHY", &lost);
    far.until("case-8", |answers| answers.share_of_status(503) == 1.0);
    world.goes(&near, "case-8", [0.0, 1.0, 0.0]);
}
