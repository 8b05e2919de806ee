//! What `plan` prints, carried out with the real `kubectl`.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::process::{Ran, Up, evenkeel};

const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

/// A cluster with the sample, once its endpoints are ready.
fn start() -> Up {
    let mut up = Up::start(&["--ephemeral"]);
    up.explained();
    up
}

fn plan(up: &Up, form: &str) -> String {
    let ran = up.evenkeel(&["plan", "-n", "shop", "-o", form]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

/// Runs a command line in a shell, on this cluster.
pub(crate) fn shell(up: &Up, line: &str, stdin: &str) -> Ran {
    let mut child = Command::new("sh")
        .args(["-c", line])
        .env("KUBECONFIG", &up.kubeconfig)
        // kubectl keeps a cache at home.
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A Service whose annotations contradict each other and its field: Auto holds, without effect.
fn contradict(up: &Up) {
    let patch = json!({
        "metadata": {"annotations": {
            TOPOLOGY_MODE: "Auto", "team": "it's \"ours\"",
        }},
        "spec": {"trafficDistribution": "PreferSameNode"},
    });
    let patch = patch.to_string();
    let ran = up.kubectl(&["patch", "svc", "cart", "-n", "shop", "--type=merge", "-p", &patch]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

fn nothing_more(up: &Up) {
    let summary: Value = serde_json::from_str(&plan(up, "json")).unwrap();
    assert_eq!(summary["summary"]["toChange"], 0, "{summary:#}");
    let diff = up.evenkeel(&["plan", "-n", "shop", "--diff"]);
    assert_eq!((diff.code, diff.out.as_str()), (0, ""), "{}", diff.err);
}

#[test]
fn kubectl_replace_carries_a_plan_out_completely() {
    let up = start();
    let before = up.get(&["svc", "cart", "-n", "shop"]);
    let diff = up.evenkeel(&["plan", "-n", "shop", "--diff"]);
    assert_eq!(diff.code, 1, "{}", diff.err);
    assert!(diff.out.contains("LIVE/v1.Service.shop.cart"), "{}", diff.out);
    let ran = shell(&up, "kubectl replace -f -", &plan(&up, "yaml"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let after = up.get(&["svc", "cart", "-n", "shop"]);
    assert_ne!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["spec"]["clusterIP"], before["spec"]["clusterIP"]);
    assert_eq!(after["spec"]["ports"], before["spec"]["ports"]);
    assert_eq!(before["metadata"]["annotations"], json!({TOPOLOGY_MODE: "Auto"}));
    assert_eq!(after["metadata"].get("annotations"), None, "{after:#}");
    assert_eq!(after["spec"]["trafficDistribution"], "PreferSameZone");
    nothing_more(&up);
}

#[test]
fn what_was_planned_for_an_older_version_is_not_replaced() {
    let up = start();
    let planned = plan(&up, "yaml");
    let label = up.kubectl(&["label", "svc", "cart", "-n", "shop", "x=y"]);
    assert_eq!(label.code, 0, "{}", label.err);
    let ran = shell(&up, "kubectl replace -f -", &planned);
    assert!(ran.code != 0 && ran.err.contains("the object has been modified"), "{}", ran.err);
}

#[test]
fn each_printed_command_carries_its_change_out() {
    let up = start();
    contradict(&up);
    let commands = plan(&up, "patch");
    assert!(commands.lines().any(|line| line.contains(" cart ")), "{commands}");
    for command in commands.lines() {
        let ran = shell(&up, command, "");
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
    }
    let after = up.get(&["svc", "cart", "-n", "shop"]);
    assert_eq!(after["metadata"]["annotations"], json!({"team": "it's \"ours\""}));
    nothing_more(&up);
}

#[test]
fn names_of_a_traffic_file_that_were_not_read_are_no_errors() {
    let up = start();
    let file = crate::process::folder("plan-traffic").with_extension("yaml");
    std::fs::write(&file, "services: {shop/wbe: {gbPerMonth: 1}, other/x: {gbPerMonth: 1}}")
        .unwrap();
    let traffic = ["--traffic", file.to_str().unwrap()];
    let one = up.evenkeel(&[&["plan", "web", "-n", "shop"], &traffic[..]].concat());
    assert_eq!(one.code, 0, "only one Service was read: {}", one.err);
    let all = up.evenkeel(&[&["plan", "-n", "shop"], &traffic[..]].concat());
    assert_eq!(all.code, 2, "{}", all.out);
    assert!(all.err.contains("\"shop/wbe\" (did you mean \"shop/web\"?)"), "{}", all.err);
    assert!(!all.err.contains("other/x"), "of another namespace nothing was read: {}", all.err);
}

#[test]
fn a_cluster_that_does_not_answer_is_told_by_the_exit_code() {
    let mut command = evenkeel(&["plan", "--diff", "--kubeconfig", "/nonexistent/kubeconfig"]);
    assert_eq!(crate::process::ran(&mut command).code, 3);
}
