//! With the real `kubectl` on both sides: what it prints we read, what we print it applies.

use std::{
    fs,
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

/// All endpoints in one zone: PreferSameZone would overload them, Auto shares them out.
#[test]
fn the_patch_we_print_is_applied_by_kubectl() {
    let zones = ["a", "b", "c"];
    let mut cluster = String::new();
    for zone in zones {
        cluster += &format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: n-{zone}, labels: {{topology.kubernetes.io/zone: {zone}}}}}\nstatus: {{allocatable: {{cpu: 4}}, conditions: [{{type: Ready, status: 'True'}}]}}\n---\n"
        );
    }
    let homes = ["a", "a", "a", "a", "b", "c"];
    let endpoints: String = (1..)
        .zip(homes)
        .map(|(i, zone)| {
            format!("- {{addresses: [10.0.0.{i}], conditions: {{ready: true}}, zone: {zone}, nodeName: n-{zone}}}\n")
        })
        .collect();
    cluster += &format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: web-1, labels: {{kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}}}\naddressType: IPv4\nendpoints:\n{endpoints}---\n"
    );
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
    let ran = evenkeel(&["plan", "web", "-o", "yaml", "-f", "-"], (cluster + service).as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);

    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl");
    fs::create_dir_all(&dir).unwrap();
    let patch = dir.join("patch.yaml");
    fs::write(&patch, &ran.stdout).unwrap();
    let file = patch.to_str().unwrap();
    let patched = kubectl(
        &["patch", "-f", "-", "--local", "--type", "merge", "--patch-file", file, "-o", "yaml"],
        service.as_bytes(),
    );
    assert!(patched.contains("service.kubernetes.io/topology-mode: Auto"), "{patched}");
}
