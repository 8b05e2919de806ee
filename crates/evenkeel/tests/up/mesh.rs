//! `up --mesh`: the control plane with the sample, a real Envoy, and what there is to copy.

use std::{
    fs,
    time::{Duration, Instant},
};

use evenkeel_testkit::envoy::{Envoy, Requests, Server};
use serde_json::{Value, json};

use crate::process::{Up, folder, ran, shell};

const PATIENCE: Duration = Duration::from_secs(60);

const POLICY: &str = "
apiVersion: kuma.io/v1alpha1
kind: MeshLoadBalancingStrategy
metadata: {name: backend, namespace: shop, labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: backend}
    default: {localityAwareness: {disabled: true}}
";

fn start(args: &[&str]) -> Up {
    let free = ["--mesh", "--xds-listen", "127.0.0.1:0", "--xds-admin-listen", "127.0.0.1:0"];
    Up::start(&[&free, args].concat())
}

/// Shares of the groups of its only destination, the smallest first, once there are so many.
fn shares(up: &Up, dataplane: &str, n: usize) -> Vec<f64> {
    let begun = Instant::now();
    loop {
        let ran = up.evenkeel(&["mesh", "inspect", dataplane, "-o", "json"]);
        let page: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let groups = page["destinations"][0]["groups"].as_array().cloned().unwrap_or_default();
        if groups.len() == n {
            let mut shares: Vec<f64> =
                groups.iter().map(|group| group["share"].as_f64().unwrap()).collect();
            shares.sort_by(f64::total_cmp);
            return shares;
        }
        assert!(begun.elapsed() < PATIENCE, "{page:#} {}", ran.err);
    }
}

#[test]
fn the_sample_mesh_is_served_and_its_commands_can_be_copied() {
    let mut up = start(&["--ephemeral"]);
    let said = up.explained().to_owned();
    for words in ["\nxds ", "\nmesh ", "http://127.0.0.1:"] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    // Zone-b and zone-c, the rest of its zone, its node.
    assert_eq!(shares(&up, "client-a.shop", 4), [0.0, 0.0, 0.1, 0.9]);

    let page = up.evenkeel(&["mesh", "inspect", "client-a.shop", "-o", "json"]).out;
    assert!(page.contains("web_shop_svc_80"), "Services are destinations: {page}");

    // The line to copy, with a folder to write to.
    let line = said.lines().find(|line| line.contains(" xds bootstrap ")).unwrap();
    let file = folder("bootstrap").with_extension("yaml");
    let line = line.replace("envoy.yaml", file.to_str().unwrap());
    let copied = ran(&mut shell(&line));
    assert_eq!(copied.code, 0, "{line}: {}", copied.err);
    let envoy = Envoy::start(&fs::read_to_string(file).unwrap());
    envoy.listener("outbound:127.0.1.1:10001");

    let status = up.evenkeel(&["status"]);
    for words in [
        "√ control plane is ready: 1 Envoy connected, 6 not connected",
        "√ all resources of the mesh",
    ] {
        assert!(status.out.contains(words), "{words:?} is not in {}", status.out);
    }
    let proxies = up.evenkeel(&["mesh", "proxies"]);
    assert!(proxies.out.contains("7 Dataplanes: 1 synced"), "{}", proxies.out);
    assert_eq!(up.stop("-INT").0, Some(0));
}

/// Endpoints are of this test, so that it meets no other.
#[test]
fn what_kubectl_applies_reaches_an_envoy() {
    let up = start(&["--ephemeral", "--sample", "none"]);
    let servers = ["near", "far"].map(Server::http);
    let client = Server::http("place").address();
    let mut objects = vec![dataplane("client", "zone-1", client, true)];
    for (server, zone) in servers.iter().zip(["zone-1", "zone-2"]) {
        objects.push(dataplane(server.name(), zone, server.address(), false));
    }
    let file = folder("dataplanes").with_extension("json");
    fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())
        .unwrap();
    let applied = up.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{}", applied.err);

    let kubeconfig = up.kubeconfig.to_str().unwrap();
    let args = ["xds", "bootstrap", "--dataplane", "client.default", "--kubeconfig", kubeconfig];
    let bootstrap = up.evenkeel(&args);
    assert_eq!(bootstrap.code, 0, "{}", bootstrap.err);
    let envoy = Envoy::start(&bootstrap.out);
    envoy.listener(&format!("outbound:{client}"));
    let answers = || Requests::new(100).kept_alive().http(client);
    envoy.wait_until("the own zone", || answers().share("near") == 1.0);

    let policy = folder("policy").with_extension("yaml");
    fs::write(&policy, POLICY.replace("namespace: shop", "namespace: default")).unwrap();
    let applied = up.kubectl(&["apply", "-f", policy.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    envoy.wait_until("all alike", || answers().share("far") > 0.2);
    assert_eq!(up.stop("-TERM").0, Some(0));
}

fn dataplane(name: &str, zone: &str, at: std::net::SocketAddr, is_client: bool) -> Value {
    let (address, port) = (at.ip().to_string(), at.port());
    let mut networking = json!({ "address": address });
    if is_client {
        networking["gateway"] = json!({"tags": {"kuma.io/service": name, "kuma.io/zone": zone}});
        let tags = json!({"kuma.io/service": "backend"});
        networking["outbound"] = json!([{"address": address, "port": port, "tags": tags}]);
    } else {
        let tags = json!({
            "kuma.io/service": "backend", "kuma.io/protocol": "http", "kuma.io/zone": zone,
        });
        networking["inbound"] = json!([{"port": port, "tags": tags}]);
    }
    json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": "Dataplane",
        "metadata": {"name": name, "namespace": "default"},
        "mesh": "default",
        "spec": {"networking": networking},
    })
}

/// The identity of the control plane is that of `deploy/mesh`: it may read, and no more.
#[test]
fn the_control_plane_has_the_rights_of_deploy() {
    let data = folder("mesh-identity");
    let up = Up::in_folder(
        &data,
        &[
            "--mesh",
            "--xds-listen",
            "127.0.0.1:0",
            "--xds-admin-listen",
            "127.0.0.1:0",
            "--sample",
            "none",
        ],
    );
    let own = data.join("evenkeel-mesh.kubeconfig");
    let asked = |words: &str| {
        let line = format!("exec kubectl --kubeconfig '{}' auth {words}", own.display());
        ran(&mut shell(&line))
    };
    let who = asked("whoami -o jsonpath={.status.userInfo.username}");
    assert_eq!(who.out, "system:serviceaccount:evenkeel-mesh:evenkeel-mesh", "{}", who.err);
    for (verb, is_allowed) in [
        ("watch dataplanes.kuma.io -A", true),
        ("list meshloadbalancingstrategies.kuma.io -A", true),
        ("list endpointslices.discovery.k8s.io -A", true),
        ("update dataplanes.kuma.io -n default", false),
        ("get secrets -n default", false),
        ("list leases.coordination.k8s.io -n evenkeel-mesh", false),
    ] {
        let asked = asked(&format!("can-i {verb}"));
        assert_eq!(asked.code == 0, is_allowed, "{verb}: {}{}", asked.out, asked.err);
    }
    assert_eq!(up.stop("-INT").0, Some(0));
}

#[test]
fn without_the_flag_there_is_no_control_plane() {
    let mut up = Up::start(&["--ephemeral"]);
    let said = up.explained();
    assert!(!said.contains("xds"), "{said}");
    let clusters = up.get(&["namespaces"]);
    assert!(!clusters.to_string().contains("evenkeel-mesh"));
    let status = up.evenkeel(&["status"]);
    assert!(!status.out.contains("control plane"), "{}", status.out);
    let crds = up.get(&["crd", "dataplanes.kuma.io"]);
    assert_eq!(crds["kind"], "CustomResourceDefinition");
    assert_eq!(up.stop("-INT").0, Some(0));
}
