//! Custom resources of an API server, which kubectl writes, served to real Envoys.

use std::path::Path;

use evenkeel_testkit::envoy::{Requests, Server};
use serde_json::{Value, json};

use crate::{
    client::{Client, Spec},
    cluster::{Cluster, Ran, custom, deploy, ran},
    control_plane::{ControlPlane, evenkeel, inspect_page},
    folder::{Instance, Place, free_address, strategy},
};

/// What the ServiceAccount of `deploy/mesh` is called.
const ACCOUNT: &str = "system:serviceaccount:evenkeel-mesh:evenkeel-mesh";
const POLICY: [&str; 3] = ["delete", "meshloadbalancingstrategy", "strategy-backend"];

/// A server in each of two zones.
fn instances(place: &impl Place) -> [Server; 2] {
    let servers = ["zone-1.a", "zone-2.a"].map(Server::http);
    for (server, zone) in servers.iter().zip(["zone-1", "zone-2"]) {
        place.put(&Instance::new("backend", zone, server).dataplane("Ready"));
    }
    servers
}

fn all_alike() -> Value {
    strategy("backend", &json!({ "disabled": true }))
}

fn start(cluster: &Cluster, control_plane: &ControlPlane) -> Client {
    Client::start(&Spec::new("client", "zone-1", &["backend"]), cluster, control_plane)
}

/// Waits until the client is told to use only its zone first, or both zones alike.
fn told(client: &Client, control_plane: &ControlPlane, is_alike: bool) {
    control_plane.eventually(&inspect_page(&client.key), |page| {
        let groups = page["destinations"][0]["groups"].as_array().unwrap();
        is_alike == groups.iter().all(|group| group["priority"] == 0)
    });
    client.in_sync(control_plane);
}

/// `evenkeel` on this cluster.
fn evenkeel_on(cluster: &Cluster, args: &[&str], stdin: &str) -> Ran {
    ran(evenkeel(args).env("KUBECONFIG", cluster.kubeconfig()), stdin)
}

#[test]
fn policies_take_effect_when_they_are_applied_and_end_when_they_are_deleted() {
    let cluster = Cluster::start("policies");
    let servers = instances(&cluster);
    let control_plane = ControlPlane::on_cluster(&cluster.kubeconfig());
    let client = start(&cluster, &control_plane);
    told(&client, &control_plane, false);
    client.as_predicted("backend", &control_plane, &servers);

    // What it would change is told before.
    let diff = ["mesh", "diff", "-f", "-", "-o", "json"];
    let would = evenkeel_on(&cluster, &diff, &all_alike().to_string());
    assert_eq!(would.code, 1, "{would:?}");
    let report: Value = serde_json::from_str(&would.out).unwrap();
    assert_eq!((&report["proxies"], &report["proxiesChanged"]), (&3.into(), &1.into()));

    cluster.put(&all_alike());
    told(&client, &control_plane, true);
    let answers = client.as_predicted("backend", &control_plane, &servers);
    assert!(servers.iter().all(|server| answers.share(server.name()) > 0.4), "{answers:?}");

    refused(&cluster, &control_plane, &client);

    cluster.done(&POLICY);
    told(&client, &control_plane, false);
    client.as_predicted("backend", &control_plane, &servers);
    // An instance that is gone gets nothing, and the other zone all.
    cluster.done(&["delete", "dataplane", "backend-zone-1.a"]);
    client.until("backend", |answers| answers.share("zone-2.a") == 1.0);
}

/// An invalid policy is refused by its schema, or reported; either way the last good one stays in force.
fn refused(cluster: &Cluster, control_plane: &ControlPlane, client: &Client) {
    let before = control_plane.inspect(&client.key)["destinations"].clone();
    let wrong = json!({ "crossZone": { "failover": [{ "to": { "type": "Sometimes" } }] } });
    let ran = cluster.apply(&custom(&strategy("backend", &wrong)));
    assert!(ran.code != 0 && ran.err.contains("Unsupported value: \"Sometimes\""), "{ran:?}");
    let page = control_plane.page("/mesh/policies");
    assert_eq!(page["invalid"], json!([]), "it is not stored");

    let banana = json!({ "crossZone": { "failoverThreshold": { "percentage": "banana" } } });
    cluster.put(&strategy("backend", &banana));
    let page = control_plane.eventually("/mesh/policies", |page| page["invalid"] != json!([]));
    let problem = &page["invalid"][0];
    assert_eq!(problem["origin"], "MeshLoadBalancingStrategy default/strategy-backend");
    assert_eq!(problem["lastGoodInForce"], true);
    let field = "spec.to[0].default.localityAwareness.crossZone.failoverThreshold.percentage";
    assert_eq!(problem["field"], field);
    assert_eq!(control_plane.inspect(&client.key)["destinations"], before);

    let lint = evenkeel_on(cluster, &["mesh", "lint"], "");
    assert_eq!(lint.code, 1, "{lint:?}");
    assert!(lint.out.contains("error[InvalidResource]") && lint.out.contains(field), "{lint:?}");
    let admin = format!("http://{}", control_plane.admin);
    let status = evenkeel_on(cluster, &["status", "--control-plane-admin", &admin], "");
    for line in [
        "√ control plane is ready: 1 Envoy connected, 2 not connected",
        "√ no Envoy proxy rejects what it was sent",
        "‼ 1 invalid resource not in force: MeshLoadBalancingStrategy default/strategy-backend: ",
    ] {
        assert!(status.out.contains(line), "{line:?} is not in {status:?}");
    }
    cluster.put(&all_alike());
    control_plane.eventually("/mesh/policies", |page| page["invalid"] == json!([]));
}

#[test]
fn an_api_server_that_was_away_is_followed_again_and_nothing_is_missed() {
    let mut cluster = Cluster::start("away");
    let servers = instances(&cluster);
    cluster.put(&all_alike());
    let control_plane = ControlPlane::on_cluster(&cluster.kubeconfig());
    let client = start(&cluster, &control_plane);
    told(&client, &control_plane, true);
    let updates = client.envoy.stat("cluster.backend.update_success");

    // Without an API server, nothing changes for proxies.
    cluster.kill();
    let answers = Requests::new(500).kept_alive().http(client.outbound("backend"));
    assert_eq!(answers.by_status.get(&200), Some(&500), "{answers:?}");
    assert!(control_plane.inspect(&client.key)["destinations"][0]["groups"].is_array());

    // Nor when it comes back with what it had; its changes arrive.
    cluster.begin();
    let third = Server::http("zone-2.b");
    cluster.put(&Instance::new("backend", "zone-2", &third).dataplane("Ready"));
    client.until("backend", |answers| answers.share("zone-2.b") > 0.2);
    assert_eq!(client.envoy.stat("cluster.backend.update_success"), updates + 1);

    // What changed elsewhere, while the watch had no connection: a policy is gone, and an instance.
    cluster.kill();
    cluster.begin_at(free_address());
    cluster.done(&POLICY);
    cluster.done(&["delete", "dataplane", "backend-zone-2.b"]);
    cluster.kill();
    cluster.begin();
    told(&client, &control_plane, false);
    client.as_predicted("backend", &control_plane, servers.iter().chain([&third]));
}

#[test]
fn the_rights_of_deploy_mesh_suffice_and_without_them_it_says_what_is_missing() {
    let cluster = Cluster::start("rights");
    let servers = instances(&cluster);
    let limited = cluster.kubeconfig_of(ACCOUNT);
    let run = |kubeconfig: &Path| {
        let mut command = evenkeel(&["xds", "--listen", "127.0.0.1:0", "--admin-listen"]);
        command.arg("127.0.0.1:0").arg("--kubeconfig").arg(kubeconfig);
        ran(&mut command, "")
    };
    let without = run(&limited);
    assert_eq!((without.code, without.out.as_str()), (1, ""), "{without:?}");
    for words in [
        "credentials lack permissions the control plane needs: list meshes.kuma.io",
        "watch endpointslices.discovery.k8s.io",
        "bind the roles in deploy/mesh; then `kubectl auth can-i list meshes.kuma.io` prints yes",
    ] {
        assert!(without.err.contains(words), "{words:?} is not in {without:?}");
    }

    cluster.done(&["apply", "-k", deploy("overlays/mesh").to_str().unwrap()]);
    let control_plane = ControlPlane::on_cluster(&limited);
    let client = start(&cluster, &control_plane);
    client.as_predicted("backend", &control_plane, &servers);
}

#[test]
fn a_bootstrap_has_zone_and_tags_of_the_dataplane_in_the_cluster() {
    let cluster = Cluster::start("bootstrap");
    instances(&cluster);
    let kubeconfig = cluster.kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let bootstrap = |name: &str| {
        let args = ["xds", "bootstrap", "--kubeconfig", kubeconfig, "--dataplane", name];
        ran(&mut evenkeel(&args), "")
    };
    let found = bootstrap("backend-zone-2.a.default");
    assert_eq!(found.code, 0, "{found:?}");
    for part in ["zone: \"zone-2\"", "cluster: \"backend\"", "127.0.0.1"] {
        assert!(found.out.contains(part), "{part} is not in {}", found.out);
    }
    let missing = bootstrap("backend");
    assert_eq!((missing.code, missing.out.as_str()), (2, ""), "{missing:?}");
    assert!(missing.err.contains("backend-zone-1.a.default"), "{missing:?}");
    let both = ["xds", "bootstrap", "--dataplane", "x", "--resources", ".", "--context", "x"];
    assert_eq!(ran(&mut evenkeel(&both), "").code, 2);

    let words = [
        "evenkeel",
        "xds",
        "bootstrap",
        "--kubeconfig",
        kubeconfig,
        "--dataplane",
        "backend-zone-1",
    ];
    let mut completion = evenkeel(&["--"]);
    completion.args(words).env("COMPLETE", "bash").env("_CLAP_IFS", "\n");
    completion.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    completion.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    let completed = ran(&mut completion, "");
    assert_eq!(completed.out.trim(), "backend-zone-1.a.default", "{completed:?}");
}
