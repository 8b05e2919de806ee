//! `evenkeel status` without a cluster, and on one with only an API server.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    apiserver::Server,
    run::{evenkeel, golden},
};

/// A folder in which nothing runs.
fn nowhere() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn without_a_cluster_the_only_check_fails_with_help() {
    let mut status = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    status.arg("status").current_dir(nowhere()).env("HOME", "/nonexistent");
    let ran =
        status.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").output().unwrap();
    let (told, error) =
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!((ran.status.code(), error.as_str()), (Some(3), ""));
    assert!(told.starts_with("kubeconfig: none\n"), "{told}");
    assert!(told.contains("× no cluster configured"), "{told}");
    assert!(told.contains("    set --kubeconfig"), "{told}");
}

#[test]
fn an_unreachable_server_is_reported_with_its_own_exit_code() {
    let server = Server::start(&["--ephemeral"]);
    let kept = fs::read_to_string(&server.kubeconfig).unwrap();
    drop(server);
    let path = nowhere().join("status.kubeconfig");
    fs::write(&path, kept).unwrap();
    let ran = evenkeel(&["status", "--kubeconfig", path.to_str().unwrap()], b"");
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("× cannot reach the API server at https://"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 check: 1 failed, 0 warnings"), "{}", ran.stdout);
}

#[test]
fn an_empty_cluster_has_neither_nodes_nor_a_controller() {
    let server = Server::start(&["--ephemeral"]);
    let kubeconfig = server.kubeconfig.to_str().unwrap();
    let ran = evenkeel(&["status", "--kubeconfig", kubeconfig], b"");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    golden("status-empty.txt", &ran.stdout.replace(kubeconfig, "KUBECONFIG"));

    let ran = evenkeel(&["status", "--kubeconfig", kubeconfig, "-o", "json"], b"");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &told["ok"], &told["kubeconfig"]),
        (1, &false.into(), &kubeconfig.into())
    );
    let failed: Vec<&Value> =
        told["checks"].as_array().unwrap().iter().filter(|c| c["outcome"] == "failed").collect();
    let codes: Vec<&Value> = failed.iter().map(|check| &check["code"]).collect();
    assert_eq!(codes, ["NoReadyNodes", "LeaseNotFound"]);
    let source = (&told["kubeconfigSource"], &told["summary"]["failed"]);
    assert_eq!(source, (&"--kubeconfig".into(), &2.into()));
    assert!(failed.iter().all(|check| check["help"].is_string()), "{told:#}");
}

#[test]
fn a_lease_is_named_with_its_namespace() {
    let ran = evenkeel(&["status", "--lease", "here"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("expected NAMESPACE/NAME"), "{}", ran.stderr);
}

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {topology.kubernetes.io/zone: zone-NAME}}
spec: {unschedulable: CORDONED}
status:
  allocatable: {cpu: '4'}
  conditions: [{type: Ready, status: 'True'}]
";

const LEASE: &str = "
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: evenkeel-endpointslice-controller, namespace: NAMESPACE}
spec: {holderIdentity: HOLDER, leaseDurationSeconds: SECONDS, renewTime: 'TIME'}
";

/// A Service that is left to kube-controller-manager, with a condition of an earlier mode.
const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]
";

const STATUS: &str = r#"{"status": {"conditions": [{"type": "TrafficDistributionProgrammed",
    "status": "True", "reason": "HintsProgrammed", "message": "x",
    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}"#;

/// The controller runs in a namespace of its own; the lease in `kube-system` is left over.
#[test]
fn the_active_lease_cordoned_nodes_and_stale_conditions_are_found() {
    let server = Server::start(&["--ephemeral"]);
    let lease = |namespace: &str, holder: &str, seconds: &str, time: &str| {
        let lease = LEASE.replace("NAMESPACE", namespace).replace("HOLDER", holder);
        lease.replace("SECONDS", seconds).replace("TIME", time)
    };
    let objects = [
        NODE.replace("NAME", "a").replace("CORDONED", "true"),
        NODE.replace("NAME", "b").replace("CORDONED", "false"),
        lease("kube-system", "old", "15", "2026-01-01T00:00:00.000000Z"),
        lease("default", "new", "2000000000", "2026-01-02T00:00:00.000000Z"),
        SERVICE.to_owned(),
    ];
    server.create(&objects.join("---"));
    server.patch_status("service", "web", STATUS);
    let kubeconfig = server.kubeconfig.to_str().unwrap();
    let status = |args: &[&str]| {
        evenkeel(&[&["status", "--kubeconfig", kubeconfig, "-o", "json"], args].concat(), b"")
    };
    let ran = status(&[]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().filter(|check| check["outcome"] != "ok");
    let found: Vec<String> = found.map(|check| text(&check["code"])).collect();
    let expected = ["NodesCordoned", "StaleLease", "MetricsNotChecked", "StaleConditions"];
    assert_eq!(found, expected, "{report:#}");
    let leader = checks.iter().find(|check| check["code"] == "LeaderActive").unwrap();
    assert!(text(&leader["message"]).starts_with("new is leader"), "{leader}");
    assert_eq!(ran.code, 0, "warnings alone are no failure");
    assert_eq!(status(&["--fail-on", "warning"]).code, 1);
    let ran = status(&["--lease", "kube-system/evenkeel-endpointslice-controller"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("\"LeaseExpired\""), "{}", ran.stdout);
}
