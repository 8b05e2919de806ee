//! `evenkeel mesh` on the example, on bad input, and on a control plane.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::run::{Ran, evenkeel, golden, root};

const EXAMPLE: &str = "examples/mesh";

fn mesh(args: &[&str]) -> Ran {
    evenkeel(&[&["mesh"], args].concat(), b"")
}

fn on_example(args: &[&str]) -> String {
    let ran = mesh(&[args, &["--resources", EXAMPLE]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

fn diff(file: &str, more: &[&str]) -> Ran {
    mesh(&[&["diff", "-f", file, "--resources", EXAMPLE], more].concat())
}

/// A folder with these files.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mesh").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn refused(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{part:?} is not in {:?}", ran.stderr);
    }
    assert!(ran.stderr.len() < 1000, "too long: {} characters", ran.stderr.len());
}

// === inspect ===

#[test]
fn a_client_is_shown_with_policies_groups_and_lost_zones() {
    golden("mesh-inspect.txt", &on_example(&["inspect", "web-1"]));
}

#[test]
fn json_and_yaml_hold_what_the_text_shows() {
    let shown: Value =
        serde_json::from_str(&on_example(&["inspect", "default/web-1", "-o", "json"])).unwrap();
    assert_eq!((&shown["mesh"], &shown["dataplane"]), (&"default".into(), &"web-1".into()));
    let backend = &shown["destinations"][0];
    assert_eq!(backend["cluster"], "backend");
    assert_eq!(backend["place"]["tags"]["k8s.io/node"], "node-1a");
    assert_eq!(backend["overprovisioningFactor"], 143);
    let first = backend["groups"].as_array().unwrap();
    let first = first.iter().find(|group| group["subZone"] == "k8s.io/node=node-1a").unwrap();
    assert_eq!(first["share"], 0.9);
    assert_eq!(backend["withoutZone"]["zone-1"]["errors"], 0.0);
    let fields = backend["policies"]["MeshLoadBalancingStrategy"]["origins"].as_object().unwrap();
    assert!(fields.values().all(|policy| policy == "backend") && !fields.is_empty());
    assert!(
        on_example(&["inspect", "web-1", "-o", "yaml"]).contains("overprovisioningFactor: 143")
    );
}

#[test]
fn a_dataplane_that_is_not_there_is_told_with_those_there_are() {
    let ran = mesh(&["inspect", "web-9", "--resources", EXAMPLE]);
    refused(&ran, 2, &["no Dataplane \"web-9\" in mesh \"default\"", "backend-1a"]);
    let ran = mesh(&["inspect", "shop/web-1", "--resources", EXAMPLE]);
    refused(&ran, 2, &["in mesh \"shop\""]);
    let ran = mesh(&["inspect", "web-1", "--mesh", "shop", "--resources", EXAMPLE]);
    refused(&ran, 2, &["in mesh \"shop\""]);
    refused(&mesh(&["inspect", "web-1", "--resources", "no/such/folder"]), 2, &["no/such/folder"]);
}

#[test]
fn invalid_objects_are_left_out_with_a_note() {
    let client = fs::read_to_string(root().join(EXAMPLE).join("clients.yaml")).unwrap();
    let bad = "type: MeshLoadBalancingStrategy\nmesh: default\nname: bad\nspec: {to: 3}\n";
    let folder = folder("note", &[("a.yaml", &client), ("b.yaml", bad)]);
    let ran = mesh(&["inspect", "web-1", "--resources", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("note: ignoring invalid object: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("b.yaml: document 1: spec.to"), "{}", ran.stderr);
}

// === diff ===

#[test]
fn what_a_policy_would_change_is_shown_in_shares() {
    let ran = diff("examples/mesh/use-cases/4-list-of-zones.yaml", &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("mesh-diff-list-of-zones.txt", &ran.stdout);
}

#[test]
fn what_a_route_would_change_is_shown_with_its_clusters() {
    let ran = diff("examples/mesh/use-cases/6-half-to-another-zone.yaml", &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("mesh-diff-halves.txt", &ran.stdout);
}

#[test]
fn what_is_in_force_already_changes_nothing() {
    let ran = diff("examples/mesh/policies.yaml", &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "No change for any of 10 proxies\n");
    let ran = diff("examples/mesh/policies.yaml", &["-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["differences"]), (0, &Value::Array(vec![])));
    assert_eq!(report["resources"][0]["kind"], "MeshLoadBalancingStrategy");
}

fn delete(names: &[&str], more: &[&str]) -> Ran {
    let deletes: Vec<&str> = names.iter().flat_map(|name| ["--delete", *name]).collect();
    mesh(&[&["diff", "--resources", EXAMPLE], &*deletes, more].concat())
}

#[test]
fn what_a_deletion_would_change_is_shown() {
    let ran = delete(&["meshloadbalancingstrategy/backend", "Dataplane/default/web-3"], &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("mesh-diff-delete.txt", &ran.stdout);
    let ran = delete(&["MeshLoadBalancingStrategy/backend"], &["-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["proxiesChanged"]), (1, &3.into()));
    assert_eq!(report["deleted"][0]["name"], "backend");
    assert_eq!(report["resources"], Value::Array(vec![]));
}

#[test]
fn what_cannot_be_deleted_is_refused() {
    for (name, part) in [
        ("MeshHTTPRoute/nothing", "no MeshHTTPRoute default/nothing in examples/mesh"),
        ("Dataplane/shop/web-1", "no Dataplane shop/web-1"),
        ("MeshMagic/web-1", "there is no such kind"),
        ("web-1", "KIND/NAME"),
    ] {
        refused(&delete(&[name], &[]), 2, &[part]);
    }
    let both = ["-f", "examples/mesh/policies.yaml"];
    refused(&delete(&["MeshLoadBalancingStrategy/backend"], &both), 2, &["is given with -f too"]);
    refused(&mesh(&["diff", "--resources", EXAMPLE]), 2, &["--filename"]);
}

/// Each use case of the decision record changes something for clients, and for nobody else.
#[test]
fn every_use_case_is_valid_and_concerns_the_clients() {
    let folder = root().join(EXAMPLE).join("use-cases");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 8);
    for file in files {
        let ran = diff(file.to_str().unwrap(), &["-o", "json"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{}", file.display());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&report["proxies"], &report["proxiesChanged"]), (&10.into(), &3.into()));
        let differences = report["differences"].as_array().unwrap();
        let proxies = differences.iter().flat_map(|one| one["proxies"].as_array().unwrap());
        assert!(proxies.clone().all(|proxy| proxy["name"].as_str().unwrap().starts_with("web-")));
    }
}

#[test]
fn new_files_must_be_valid() {
    let strategy = |percentage: &str| {
        format!(
            "type: MeshLoadBalancingStrategy\nname: p\nspec:\n  targetRef: {{kind: Mesh}}\n  to:\n  \
             - targetRef: {{kind: MeshService, name: backend}}\n    default: {{localityAwareness: \
             {{crossZone: {{failover: [{{to: {{type: Any}}}}], failoverThreshold: {{percentage: \
             {percentage}}}}}}}}}\n"
        )
    };
    let twice = format!("{}---\n{}", strategy("50"), strategy("banana"));
    let field = "spec.to[0].default.localityAwareness.crossZone.failoverThreshold.percentage";
    let over = strategy("101");
    for (text, parts) in [
        (twice.as_str(), &["new.yaml: document 2", field][..]),
        (&over, &["new.yaml: document 1", field]),
        ("type: MeshMagic\nname: x\n", &["document 1", "type", "MeshMagic"]),
        ("a: [1, 2\nb: }", &["new.yaml", "not YAML", "line"]),
        ("[1, 2]", &["document 1", "must be an object"]),
    ] {
        let ran = evenkeel(&["mesh", "diff", "-f", "-", "--resources", EXAMPLE], text.as_bytes());
        let parts: Vec<String> =
            parts.iter().map(|part| part.replace("new.yaml", "stdin")).collect();
        refused(&ran, 2, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    }
    refused(&diff("no/such/file.yaml", &[]), 2, &["no/such/file.yaml"]);
}

#[test]
fn hostile_files_are_refused_quickly() {
    let deep = "[".repeat(100_000);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &('b'..'m').fold(String::new(), |text, c| {
            let nine = [format!("*{}", (c as u8 - 1) as char).as_str(); 9].join(",");
            format!("{text}{c}: &{c} [{nine}]\n")
        });
    for text in [deep, bomb] {
        let ran = evenkeel(&["mesh", "diff", "-f", "-", "--resources", EXAMPLE], text.as_bytes());
        refused(&ran, 2, &["stdin: not YAML"]);
    }
}

// === lint ===

#[test]
fn the_example_has_no_findings() {
    assert_eq!(
        on_example(&["lint", "--fail-on", "info"]),
        "11 resources checked: 0 errors, 0 warnings, 0 infos\n"
    );
}

#[test]
fn findings_and_invalid_resources_are_shown_with_advice() {
    let text = "\
type: MeshLoadBalancingStrategy
name: doubtful
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: backend}
    default:
      localityAwareness:
        crossZone:
          failover:
          - to: {type: Any}
          - to: {type: Only, zones: [zone-9]}
---
type: MeshLoadBalancingStrategy
name: wrong
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: backend}
    default: {localityAwareness: {crossZone: {failover: [{to: {type: Sometimes}}]}}}
";
    let clients = fs::read_to_string(root().join(EXAMPLE).join("clients.yaml")).unwrap();
    let folder = folder("lint", &[("clients.yaml", &clients), ("policies.yaml", text)]);
    let folder = folder.to_str().unwrap();
    let lint = |more: &[&str]| mesh(&[&["lint", "--resources", folder], more].concat());
    let ran = lint(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("mesh-lint.txt", &ran.stdout.replace(folder, "FOLDER"));
    let report: Value = serde_json::from_str(&lint(&["-o", "json"]).stdout).unwrap();
    assert_eq!(report["summary"]["errors"], 1);
    assert_eq!(report["invalid"][0]["document"], 2);
    let codes: Vec<&Value> =
        report["findings"].as_array().unwrap().iter().map(|one| &one["finding"]["code"]).collect();
    assert!(codes.contains(&&Value::from("RuleNeverUsed")), "{codes:?}");
    assert!(codes.contains(&&Value::from("UnknownZone")), "{codes:?}");
}

#[test]
fn plans_that_are_not_as_written_are_shown_with_their_proxies() {
    let client = |name: &str| {
        format!(
            "type: Dataplane\nname: {name}\nnetworking:\n  address: 127.0.0.1\n  gateway: {{tags: \
             {{kuma.io/service: {name}, kuma.io/zone: zone-1}}}}\n  outbound:\n  - {{port: 9001, tags: \
             {{kuma.io/service: backend}}}}\n  - {{port: 9001, tags: {{kuma.io/service: other}}}}\n---\n"
        )
    };
    let rest = "\
type: Dataplane
name: backend-1
networking:
  address: 10.0.0.1
  inbound: [{port: 80, tags: {kuma.io/service: backend, kuma.io/protocol: tcp, kuma.io/zone: zone-1, version: v1}}]
---
type: Dataplane
name: backend-2
networking:
  address: 10.0.0.2
  inbound: [{port: 80, tags: {kuma.io/service: backend, kuma.io/protocol: tcp, kuma.io/zone: zone-2, version: v2}}]
---
type: MeshTCPRoute
name: parts
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: backend}
    rules:
    - default:
        backendRefs:
        - {kind: MeshServiceSubset, name: backend, tags: {version: v1}, weight: 1}
        - {kind: MeshServiceSubset, name: backend, tags: {version: v2}, weight: 1}
        - {kind: MeshServiceSubset, name: backend, tags: {version: v9}, weight: 1}
---
type: MeshLoadBalancingStrategy
name: own-zone
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: backend}
    default: {localityAwareness: {crossZone: {failover: [{to: {type: None}}]}}}
";
    let text: String = ["a", "b"].map(client).concat() + rest;
    let folder = folder("plans", &[("all.yaml", &text)]);
    let lint =
        |more: &[&str]| mesh(&[&["lint", "--resources", folder.to_str().unwrap()], more].concat());
    let ran = lint(&["--fail-on", "warning"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    golden("mesh-lint-plans.txt", &ran.stdout);
    let report: Value = serde_json::from_str(&lint(&["-o", "json"]).stdout).unwrap();
    let plans = report["plans"].as_array().unwrap();
    let taken = plans.iter().find(|one| one["reason"]["code"] == "AddressTaken").unwrap();
    assert_eq!((&taken["nProxies"], &taken["severity"]), (&2.into(), &"warning".into()));
    assert_eq!(taken["proxies"][1]["name"], "b");
}

#[test]
fn fail_on_decides_the_exit_code() {
    let text = "type: MeshLoadBalancingStrategy\nname: p\nspec: {targetRef: {kind: Mesh}, to: [{targetRef: \
                {kind: MeshService, name: b}, default: {localityAwareness: {crossZone: {failoverThreshold: \
                {percentage: 50}}}}}]}\n";
    let folder = folder("fail-on", &[("p.yaml", text)]);
    for (fail_on, code) in [("error", 0), ("warning", 1), ("info", 1), ("never", 2)] {
        let ran = mesh(&["lint", "--resources", folder.to_str().unwrap(), "--fail-on", fail_on]);
        assert_eq!(ran.code, code, "{fail_on}: {}{}", ran.stdout, ran.stderr);
    }
}

// === A control plane ===

#[test]
fn without_a_control_plane_it_says_how_to_start_one() {
    let says = ["cannot read http://127.0.0.1:1/mesh/", "evenkeel xds --resources FOLDER"];
    for command in [&["proxies"][..], &["propagation"], &["inspect", "web-1"]] {
        let ran = mesh(&[command, &["--control-plane-admin", "http://127.0.0.1:1"]].concat());
        refused(&ran, 3, &says);
    }
    let ran = mesh(&["proxies", "--control-plane-admin", "banana"]);
    refused(&ran, 3, &["banana", "--control-plane-admin"]);
    let both = ["inspect", "web-1", "--resources", EXAMPLE, "--control-plane-admin", "http://x"];
    assert_eq!(mesh(&both).code, 2);
}

/// `evenkeel xds` on free ports, ended with the test.
struct ControlPlane {
    child: Child,
    admin: String,
}

impl ControlPlane {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["xds", "--resources", EXAMPLE, "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .current_dir(root())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let admin = lines.find_map(|line| Some(line.strip_prefix("admin: ")?.to_owned()));
        Self { child, admin: admin.expect("it says where it listens") }
    }

    fn ask(&self, args: &[&str]) -> Ran {
        mesh(&[args, &["--control-plane-admin", &self.admin]].concat())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_running_control_plane_is_asked() {
    let control_plane = ControlPlane::start();
    let proxies = control_plane.ask(&["proxies"]);
    assert_eq!((proxies.code, proxies.stderr.as_str()), (0, ""));
    assert!(proxies.stdout.contains("default/web-1: not connected\n"), "{}", proxies.stdout);
    let ends = "10 Dataplanes: 0 synced, 0 stale, 0 nacked, 10 not connected\n";
    assert!(proxies.stdout.ends_with(ends), "{}", proxies.stdout);
    let propagation = control_plane.ask(&["propagation", "-o", "json"]);
    let propagation: Value = serde_json::from_str(&propagation.stdout).unwrap();
    assert_eq!(propagation["behind"], Value::Array(vec![]));

    let inspected = control_plane.ask(&["inspect", "web-1"]);
    assert_eq!((inspected.code, inspected.stderr.as_str()), (0, ""));
    for part in ["backend: MeshService default/backend", "k8s.io/node=node-1a", "IF LOST", "90 %"] {
        assert!(inspected.stdout.contains(part), "{part:?} is not in {}", inspected.stdout);
    }
    for name in ["web-9", "we b/1", "shop/web-1"] {
        refused(&control_plane.ask(&["inspect", name]), 2, &["no Dataplane", "backend-1a"]);
    }
}

#[test]
fn names_of_dataplanes_are_completed() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["--", "evenkeel", "mesh", "inspect", "--resources", EXAMPLE, "web"])
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "5")
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .current_dir(root())
        .output()
        .unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), ["web-1", "web-2", "web-3"]);
}
