//! Services of the same name in two meshes.

use evenkeel_testkit::envoy::{Requests, Server};
use serde_json::json;

use crate::{
    client::{Client, Spec},
    control_plane::{ControlPlane, inspect_page},
    folder::{Folder, Instance, strategy},
};

const N: usize = 1_000;
/// With a dot, so that an id of mesh, dot and name says too little.
const BLUE: &str = "shop.eu";
const GREEN: &str = "shop";

#[test]
fn services_and_policies_of_two_meshes_stay_apart() {
    let folder = Folder::new("two_meshes");
    let blue = ["blue-1", "blue-2"].map(Server::http);
    let green = ["green-1", "green-2"].map(Server::http);
    for (mesh, servers) in [(BLUE, &blue), (GREEN, &green)] {
        for (server, zone) in servers.iter().zip(["zone-1", "zone-2"]) {
            let instance = Instance::new("backend", zone, server);
            folder.put(&Instance { mesh, ..instance }.dataplane("Ready"));
        }
    }
    let control_plane = ControlPlane::start(folder.path());
    let client = |mesh: &str, name: &str| {
        let spec = Spec {
            mesh,
            name,
            zone: "zone-1",
            tags: &[],
            services: &["backend"],
            protocol: "delta",
        };
        Client::start(&spec, &folder, &control_plane)
    };
    // Their node ids are the same.
    let (in_blue, in_green) = (client(BLUE, "client"), client(GREEN, "eu.client"));
    let by_server = |client: &Client| {
        let answers = Requests::new(N).kept_alive().http(client.outbound("backend"));
        assert_eq!(answers.by_status.get(&200), Some(&N), "{answers:?}");
        answers.by_server
    };
    assert_eq!(by_server(&in_blue).get("blue-1"), Some(&N));
    assert_eq!(by_server(&in_green).get("green-1"), Some(&N));

    let of_green = control_plane.inspect(&in_green.key)["destinations"].clone();
    let mut policy = strategy("backend", &json!({ "disabled": true }));
    policy["mesh"] = json!(BLUE);
    folder.put(&policy);
    control_plane.eventually(&inspect_page(&in_blue.key), |page| {
        page["destinations"][0]["groups"]
            .as_array()
            .unwrap()
            .iter()
            .all(|group| group["priority"] == 0)
    });
    in_blue.in_sync(&control_plane);
    in_blue.as_predicted("backend", &control_plane, &blue);
    assert_eq!(control_plane.inspect(&in_green.key)["destinations"], of_green);
    assert_eq!(by_server(&in_green).get("green-1"), Some(&N));

    // The endpoints of one mesh end, those of the other don't.
    for (server, zone) in blue.iter().zip(["zone-1", "zone-2"]) {
        let instance = Instance::new("backend", zone, server);
        folder.put(&Instance { mesh: BLUE, ..instance }.dataplane("NotReady"));
    }
    in_blue.told(&control_plane, "UNHEALTHY", &blue.each_ref().map(Server::address));
    in_blue.until("backend", |answers| answers.share_of_status(503) == 1.0);
    assert_eq!(by_server(&in_green).get("green-1"), Some(&N));
}
