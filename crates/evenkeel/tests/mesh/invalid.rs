//! A policy that is not valid changes nothing, and is reported.

use evenkeel_testkit::envoy::Server;
use serde_json::json;

use crate::{
    client::{Client, Spec},
    control_plane::ControlPlane,
    folder::{Folder, Instance, strategy},
};

#[test]
fn an_invalid_policy_is_reported_and_its_last_good_form_stays_in_force() {
    let folder = Folder::new("invalid");
    let servers = ["zone-1.a", "zone-2.a"].map(Server::http);
    for (server, zone) in servers.iter().zip(["zone-1", "zone-2"]) {
        folder.put(&Instance::new("backend", zone, server).dataplane("Ready"));
    }
    let all_alike = strategy("backend", &json!({ "disabled": true }));
    folder.write("policy", &all_alike.to_string());
    let control_plane = ControlPlane::start(folder.path());
    let client =
        Client::start(&Spec::new("client", "zone-1", &["backend"]), &folder, &control_plane);
    let before = control_plane.inspect(&client.key)["destinations"].clone();

    let texts = [
        // A percentage that none can be.
        strategy(
            "backend",
            &json!({ "crossZone": { "failoverThreshold": { "percentage": "banana" } } }),
        )
        .to_string(),
        "type: MeshLoadBalancingStrategy\nname: [".to_owned(),
        "type: MeshLoadBalanceStrategy\nmesh: default\nname: strategy-backend\nspec: {}\n"
            .to_owned(),
    ];
    for (n, text) in texts.iter().enumerate() {
        folder.write("policy", text);
        let page = control_plane.eventually("/mesh/policies", |page| {
            let invalid = page["invalid"].as_array().unwrap();
            invalid.len() == 1 && (n != 0 || !invalid[0]["field"].is_null())
        });
        let problem = &page["invalid"][0];
        assert!(problem["origin"].as_str().unwrap().ends_with("/policy.yaml"), "{problem}");
        assert!(!problem["message"].as_str().unwrap().is_empty(), "{problem}");
        assert_eq!(control_plane.inspect(&client.key)["destinations"], before, "{text}");
        folder.write("policy", &all_alike.to_string());
        control_plane.eventually("/mesh/policies", |page| page["invalid"] == json!([]));
    }
    client.as_predicted("backend", &control_plane, &servers);

    // What is valid in the same folder takes effect beside it.
    folder.write("policy", &texts[0]);
    control_plane.eventually("/mesh/policies", |page| page["invalid"] != json!([]));
    folder.put(&Instance::new("backend", "zone-1", &servers[0]).dataplane("NotReady"));
    client.told(&control_plane, "UNHEALTHY", &[servers[0].address()]);
    client.until("backend", |answers| answers.share("zone-2.a") == 1.0);
}
