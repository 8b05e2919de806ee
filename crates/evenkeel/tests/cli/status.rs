//! `evenkeel status` where nothing runs, or only the API.

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
fn without_a_cluster_the_first_check_fails_and_says_what_to_do() {
    let mut status = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    status.arg("status").current_dir(nowhere()).env("HOME", "/nonexistent");
    let ran =
        status.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").output().unwrap();
    let (told, error) =
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!(ran.status.code(), Some(1));
    assert!(told.contains("× no cluster to talk to"), "{told}");
    assert!(told.contains("    name a kubeconfig"), "{told}");
    assert!(error.contains("1 check failed"), "{error}");
}

#[test]
fn a_server_that_cannot_be_reached_is_told() {
    let server = Server::start(&["--ephemeral"]);
    let kept = fs::read_to_string(&server.kubeconfig).unwrap();
    drop(server);
    let path = nowhere().join("status.kubeconfig");
    fs::write(&path, kept).unwrap();
    let ran = evenkeel(&["status", "--kubeconfig", path.to_str().unwrap()], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("× cannot reach the API server at https://"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 of 1 checks failed"), "{}", ran.stdout);
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
    assert_eq!(failed.len(), 2, "{told:#}");
    assert!(failed.iter().all(|check| check["help"].is_string()), "{told:#}");
}

#[test]
fn a_lease_is_named_with_its_namespace() {
    let ran = evenkeel(&["status", "--lease", "here"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("expected NAMESPACE/NAME"), "{}", ran.stderr);
}
