//! Load balancers that hash: equal keys go to one endpoint, in the own zone and after a failover.

use std::collections::BTreeSet;

use evenkeel_testkit::envoy::{Requests, Server};
use serde_json::{Value, json};

use crate::{
    client::{Client, Spec},
    control_plane::ControlPlane,
    folder::{Folder, Instance, strategy_with},
};

const KEYS: usize = 200;

/// By the name of the service.
fn conf(service: &str) -> Value {
    let balancer = if service == "maglev" { "Maglev" } else { "RingHash" };
    json!({
        "loadBalancer": { "type": balancer },
        "hashPolicies": [{ "type": "Header", "header": { "name": ":authority" } }],
        "localityAwareness": {
            "localZone": { "affinityTags": [{ "key": "k8s.io/node" }] },
            "crossZone": { "failover": [{ "to": { "type": "Any" } }] },
        },
    })
}

#[test]
fn equal_keys_go_to_one_endpoint_also_in_other_zones() {
    let folder = Folder::new("hashing");
    let servers = ["zone-1.a", "zone-1.b", "zone-2.a", "zone-2.b", "zone-3.a"].map(Server::http);
    let services = &["ring", "maglev"];
    for service in services {
        folder.put(&strategy_with(service, &conf(service)));
        for server in &servers {
            let zone =
                ["zone-1", "zone-2", "zone-3"].into_iter().find(|z| server.name().starts_with(z));
            folder.put(&Instance::new(service, zone.unwrap(), server).dataplane("Ready"));
        }
    }
    let control_plane = ControlPlane::start(folder.path());
    let client = Client::start(&Spec::new("client", "zone-1", services), &folder, &control_plane);
    for service in services {
        assert_eq!(
            sticky(&client, service),
            BTreeSet::from(["zone-1.a".into(), "zone-1.b".into()])
        );
    }
    for service in services {
        for server in &servers[..2] {
            folder.put(&Instance::new(service, "zone-1", server).dataplane("NotReady"));
        }
    }
    client.told(&control_plane, "UNHEALTHY", &[servers[0].address(), servers[1].address()]);
    for destination in control_plane.inspect(&client.key)["destinations"].as_array().unwrap() {
        assert_eq!(destination["errors"], 0.0, "{destination:#}");
    }
    for service in services {
        client.until(service, |answers| {
            answers.share_of_status(200) == 1.0
                && !answers.by_server.keys().any(|s| s.starts_with("zone-1"))
        });
        let others = ["zone-2.a", "zone-2.b", "zone-3.a"].map(str::to_owned);
        assert_eq!(sticky(&client, service), BTreeSet::from(others));
    }
}

/// Sends requests with many keys, each several times: the servers that answered.
fn sticky(client: &Client, service: &str) -> BTreeSet<String> {
    let servers = (0..KEYS).map(|key| {
        let host = format!("user-{key}");
        let answers = Requests::new(5).kept_alive().host(&host).http(client.outbound(service));
        assert_eq!(answers.by_status.get(&200), Some(&5), "{service}: {answers:?}");
        assert_eq!(answers.by_server.len(), 1, "{service}, {host}: {:?}", answers.by_server);
        answers.by_server.into_keys().next().unwrap()
    });
    servers.collect()
}
