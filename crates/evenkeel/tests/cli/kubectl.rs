//! What the real `kubectl` prints is read. (What `plan` prints for it: `tests/up/plan.rs`.)

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::run::evenkeel;

fn kubectl(args: &[&str], stdin: &[u8]) -> String {
    let mut child = Command::new("kubectl")
        .args(args)
        .env("KUBECONFIG", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl is installed by `cargo xtask test`");
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "kubectl {args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_kubectl_prints_is_read() {
    let service = kubectl(
        &[
            "create",
            "service",
            "clusterip",
            "web",
            "--tcp=80:8080",
            "--dry-run=client",
            "-o",
            "yaml",
        ],
        b"",
    );
    let ran = evenkeel(&["explain", "web", "-f", "-"], service.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("default/web: policy none"), "{}", ran.stdout);
}
