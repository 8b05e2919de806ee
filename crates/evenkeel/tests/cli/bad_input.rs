use std::{fs, path::PathBuf, time::Instant};

use crate::run::{Ran, evenkeel};

const NODE: &str =
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: CPU}}\n";
const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";

/// Writes `text` to a file of its own and explains `web` from it.
fn explain(test: &str, text: impl AsRef<[u8]>) -> Ran {
    let path = file(test);
    fs::write(&path, text).unwrap();
    evenkeel(&["explain", "web", "-f", path.to_str().unwrap()], b"")
}

fn file(test: &str) -> PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad_input").join(test);
    fs::create_dir_all(&dir).unwrap();
    dir.join("given.yaml")
}

/// The error is a refusal that names all of `parts`, and nothing went to stdout.
fn refused(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    for part in parts {
        assert!(ran.stderr.contains(part), "{part:?} is not in {:?}", ran.stderr);
    }
    assert!(ran.stderr.len() < 1000, "too long: {} characters", ran.stderr.len());
}

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    refused(&explain("not-yaml", "a: [1, 2\nb: }"), &["given.yaml", "not YAML", "line"]);
}

#[test]
fn the_second_document_is_named() {
    let text = format!("{SERVICE}---\n{}", NODE.replace("CPU", "banana"));
    let parts = [
        "given.yaml",
        "document 2",
        "Node/n1",
        "status.allocatable.cpu",
        "\"banana\" is not a quantity",
    ];
    refused(&explain("banana", text), &parts);
}

#[test]
fn duplicates_that_differ_are_refused_with_both_places() {
    let text = format!("{}---\n{}", NODE.replace("CPU", "1"), NODE.replace("CPU", "2"));
    refused(
        &explain("duplicates", text),
        &["given.yaml", "document 1", "document 2", "Node/n1", "status.allocatable.cpu", "differs"],
    );
}

#[test]
fn duplicates_that_are_the_same_are_fine() {
    let ran = explain("same", format!("{SERVICE}---\n{SERVICE}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn ten_megabytes_of_one_line_are_refused_quickly() {
    let start = Instant::now();
    let ran = explain("one-line", "x".repeat(10 << 20));
    refused(&ran, &["given.yaml", "expected a Kubernetes object", "10485760 characters"]);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_wrongly_typed_field_is_named() {
    let text = SERVICE.replace("port: 80", "port: eighty");
    refused(&explain("typed", text), &["given.yaml", "Service/web", "spec.ports[0].port"]);
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    refused(&explain("bytes", [0xff, 0xfe, 0x00]), &["given.yaml", "not UTF-8"]);
}

#[test]
fn missing_files_and_empty_folders_are_named() {
    let ran = evenkeel(&["explain", "web", "-f", "no/such/file.yaml"], b"");
    refused(&ran, &["no/such/file.yaml"]);
    let empty = file("empty").with_file_name("folder");
    fs::create_dir_all(&empty).unwrap();
    let ran = evenkeel(&["explain", "web", "-f", empty.to_str().unwrap()], b"");
    refused(&ran, &["folder", "no .yaml, .yml or .json file"]);
}

#[test]
fn kinds_that_are_not_used_are_passed_over_with_one_note() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let ran = explain("kinds", format!("{SERVICE}---\n{other}---\n{other}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr, "note: ignored kinds: 2 ConfigMap\n");
}

#[test]
fn an_unknown_service_is_told_with_where_it_is() {
    let ran = evenkeel(&["explain", "web", "-f", "examples/three-zones"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("found shop/web; set its namespace with -n"), "{}", ran.stderr);
}

#[test]
fn an_unknown_zone_or_node_is_told_with_those_there_are() {
    for (flag, known) in [("--from-zone", "zone-a, zone-b, zone-c"), ("--from-node", "node-a1")] {
        let args = ["explain", "web", "-n", "shop", "-f", "examples/three-zones", flag, "nowhere"];
        let ran = evenkeel(&args, b"");
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains(known), "{}", ran.stderr);
    }
}

#[test]
fn wrong_settings_are_refused() {
    let cases: [(&[&str], &str); 5] = [
        (&["--assign-threshold", "-1"], "the assign threshold"),
        (&["--keep-threshold", "0.1"], "hints would flap"),
        (&["--assign-threshold", "NaN"], "the assign threshold"),
        (&["--feature-gates", "Typo=true"], "no feature gate \"Typo\""),
        (&["--feature-gates", "TopologyAwareHints"], "expected NAME=true"),
    ];
    for (flags, says) in cases {
        let base = ["explain", "web", "-n", "shop", "-f", "examples/three-zones"];
        // A leading minus needs the form with an equals sign.
        let joined = format!("{}={}", flags[0], flags[1]);
        let ran = evenkeel(&[&base[..], &[joined.as_str()]].concat(), b"");
        refused(&ran, &[says]);
    }
}

#[test]
fn without_cluster_and_files_it_says_what_to_give() {
    let ran = evenkeel(&["explain", "web"], b"");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("no cluster configured"), "{}", ran.stderr);
    let ran = evenkeel(&["explain", "web", "--kubeconfig", "no/such/config"], b"");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("no/such/config"), "{}", ran.stderr);
}
