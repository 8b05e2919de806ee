//! Where the requests of the components go, beside Kubernetes' default objects.

use std::process::Command;

use serde_json::Value;

use crate::rendered::{Rendered, path, text};

const CONTROLLER: &str = "system:serviceaccount:evenkeel-system:evenkeel-controller";
const PROXY: &str = "system:serviceaccount:evenkeel-proxy:evenkeel-proxy";

const MESH: &str = "system:serviceaccount:evenkeel-mesh:evenkeel-mesh";

/// The schema and the level of a request; `what` is flags of `fairness match`.
fn matched(folder: &str, user: &str, what: &str) -> (String, String) {
    let namespace = user.split(':').nth(2).unwrap();
    let groups = ["system:serviceaccounts", "system:authenticated"].map(str::to_owned);
    let groups = groups.into_iter().chain([format!("system:serviceaccounts:{namespace}")]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(["fairness", "match", "-o", "json", "--default", "kubernetes", "-f"]);
    command.arg(path(&format!("flowcontrol/{folder}/flowschemas.yaml")));
    command.args(["--user", user]).args(what.split(' '));
    let output = command.args(groups.flat_map(|group| ["--group".to_owned(), group])).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{what}: {said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    (text(&answer["schema"]).to_owned(), text(&answer["level"]).to_owned())
}

#[track_caller]
fn check(folder: &str, user: &str, what: &str, schema: &str, level: &str) {
    let expected = (schema.to_owned(), level.to_owned());
    assert_eq!(matched(folder, user, what), expected, "{user}: {what}");
}

#[test]
fn leases_of_the_controller_go_to_leader_election() {
    let lease = "--api-group coordination.k8s.io --resource leases -n evenkeel-system --name l";
    for verb in ["get", "create", "update"] {
        let what = format!("--verb {verb} {lease}");
        let schema = "evenkeel-controller-leader-election";
        check("controller", CONTROLLER, &what, schema, "leader-election");
    }
    // Reports of proxies are read, not renewed.
    let reports =
        "--verb watch --api-group coordination.k8s.io --resource leases -n evenkeel-proxy";
    check("controller", CONTROLLER, reports, "evenkeel-controller", "workload-high");
}

#[test]
fn all_other_requests_of_the_components_go_to_workload_high() {
    let common = [
        "--verb list --resource services",
        "--verb watch --resource nodes",
        "--verb list --api-group discovery.k8s.io --resource endpointslices",
        "--verb get --path /version",
    ];
    let of_controller = [
        "--verb watch --resource pods",
        "--verb patch --resource services/status -n shop --name web",
        "--verb create --api-group discovery.k8s.io --resource endpointslices -n shop",
        "--verb patch --api-group discovery.k8s.io --resource endpointslices -n shop --name web-1",
        "--verb create --resource events -n shop",
    ];
    for what in common.iter().chain(&of_controller) {
        check("controller", CONTROLLER, what, "evenkeel-controller", "workload-high");
    }
    let report = "--verb patch --api-group coordination.k8s.io --resource leases -n evenkeel-proxy";
    for what in common.iter().chain([&report]) {
        check("proxy", PROXY, what, "evenkeel-proxy", "workload-high");
    }
    let kinds = "--verb watch --api-group kuma.io --resource dataplanes";
    for what in common.iter().chain([&kinds]) {
        check("mesh", MESH, what, "evenkeel-mesh", "workload-high");
    }
    // Probes are exempt for everyone.
    check("controller", CONTROLLER, "--verb get --path /readyz", "probes", "exempt");
}

#[test]
fn requests_of_others_go_where_they_went() {
    let other = "system:serviceaccount:shop:web";
    for folder in ["controller", "proxy", "mesh"] {
        check(folder, other, "--resource pods -n shop", "service-accounts", "workload-low");
    }
    let own = "system:serviceaccount:kube-system:coredns";
    check("controller", own, "--resource pods", "kube-system-service-accounts", "workload-high");
}

#[test]
fn schemas_are_for_the_accounts_of_the_overlay() {
    for (folder, account, n) in [
        ("overlays/opt-in", "evenkeel-controller", 2),
        ("overlays/sole", "evenkeel-controller", 2),
        ("overlays/proxy", "evenkeel-proxy", 1),
        ("overlays/proxy-beside", "evenkeel-proxy", 1),
        ("overlays/proxy-cleanup", "evenkeel-proxy", 1),
        ("overlays/mesh", "evenkeel-mesh", 1),
        ("overlays/mesh-compat-kuma", "evenkeel-mesh", 1),
    ] {
        let rendered = Rendered::new(folder);
        let account = rendered.one("ServiceAccount", account);
        assert_eq!(rendered.of("FlowSchema").count(), n, "{folder}");
        for schema in rendered.of("FlowSchema") {
            assert_eq!(schema["metadata"]["namespace"], Value::Null, "{folder}");
            let subject = &schema["spec"]["rules"][0]["subjects"][0]["serviceAccount"];
            assert_eq!(subject["name"], account["metadata"]["name"], "{folder}");
            assert_eq!(subject["namespace"], account["metadata"]["namespace"], "{folder}");
        }
    }
}
