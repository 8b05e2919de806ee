use std::{fmt::Write, time::Instant};

use serde_json::Value;

use crate::run::{Ran, evenkeel, golden};

const BROKEN: &str = "crates/evenkeel/tests/cli/broken.yaml";

fn analyze(args: &[&str]) -> Ran {
    evenkeel(&[&["analyze", "-f", BROKEN], args].concat(), b"")
}

#[test]
fn everyday_problems_are_found_with_their_fixes() {
    let ran = analyze(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("analyze-broken.txt", &ran.stdout);
}

#[test]
fn the_example_has_no_errors() {
    let ran = evenkeel(&["analyze", "-f", "examples/three-zones"], b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    golden("analyze-three-zones.txt", &ran.stdout);
}

#[test]
fn what_keeps_policies_of_our_own_from_taking_effect_is_found() {
    let ran = evenkeel(&["analyze", "-f", "crates/evenkeel/tests/cli/own_policies.yaml"], b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    golden("analyze-own-policies.txt", &ran.stdout);
}

#[test]
fn findings_have_codes_severities_objects_and_fixes() {
    let ran = analyze(&["-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, 1);
    assert_eq!(report["services"], 5);
    let findings = report["findings"].as_array().unwrap();
    let of = |name: &str, code: &str| {
        let is = |f: &&Value| f["object"]["name"] == name && f["code"] == code;
        findings.iter().find(is).unwrap_or_else(|| panic!("{name} {code}: {report:#}"))
    };
    let cart = of("cart", "SelectorMatchesNoPods");
    assert_eq!((&cart["severity"], &cart["nearest"][0]), (&"error".into(), &"app=cart".into()));
    assert_eq!(cart["object"]["namespace"], "shop");
    for (name, code, severity) in [
        ("orders", "PodsPending", "error"),
        ("pay", "PodsNotReady", "warning"),
        ("mail", "PodsNotReady", "error"),
        ("web", "UnknownValue", "warning"),
        ("web", "UnknownAnnotation", "warning"),
        ("zone-b", "ZoneDrained", "warning"),
        ("b2", "NodesNotReady", "warning"),
        ("b1", "NodesCordoned", "info"),
        ("gone", "OrphanedSlices", "info"),
    ] {
        let finding = of(name, code);
        assert_eq!(finding["severity"], severity, "{finding}");
        assert!(!finding["fix"].as_str().unwrap().is_empty(), "{finding}");
        assert!(!finding["message"].as_str().unwrap().is_empty(), "{finding}");
    }
    assert_eq!(of("web", "UnknownValue")["nearest"], "PreferSameZone");
}

#[test]
fn exit_codes_tell_findings_from_bad_input_and_from_no_cluster() {
    let example = ["analyze", "-f", "examples/three-zones"];
    let cases: [(Vec<&str>, i32); 8] = [
        (example.to_vec(), 0),
        ([&example[..], &["--fail-on", "warning"]].concat(), 1),
        ([&example[..], &["--fail-on", "warning", "-o", "json"]].concat(), 1),
        ([&example[..], &["-n", "empty", "--fail-on", "info"]].concat(), 0),
        ([&example[..], &["--fail-on", "never"]].concat(), 2),
        (vec!["analyze", "-f", "no/such/file.yaml"], 2),
        (vec!["analyze"], 3),
        (vec!["analyze", "-A", "--kubeconfig", "no/such/config"], 3),
    ];
    for (args, code) in cases {
        let ran = evenkeel(&args, b"");
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn explain_names_everyday_causes_first() {
    let explain = |name: &str| evenkeel(&["explain", name, "-f", BROKEN], b"").stdout;
    golden("explain-no-pods.txt", &explain("shop/cart"));
    golden("explain-not-ready.txt", &explain("svc/shop/mail"));
    golden("explain-unknown-value.txt", &explain("shop/web"));
}

#[test]
fn several_services_and_all_namespaces_are_explained() {
    let names = |args: &[&str]| {
        let ran = evenkeel(&[&["explain", "-f", BROKEN, "-o", "json"], args].concat(), b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let all: Value = serde_json::from_str(&ran.stdout).unwrap();
        let all = all.as_array().unwrap().clone();
        all.iter().map(|one| one["service"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["shop/web", "svc/shop/cart"]), ["web", "cart"]);
    assert_eq!(names(&["-n", "shop", "web", "mail"]), ["web", "mail"]);
    assert_eq!(names(&["-A"]), ["cart", "mail", "orders", "pay", "web"]);
    assert_eq!(names(&["-A", "pay"]), ["pay"]);
    assert_eq!(evenkeel(&["explain", "-f", BROKEN], b"").code, 2);
    assert_eq!(evenkeel(&["explain", "pod/web-1", "-f", BROKEN], b"").code, 2);
}

/// As `kubectl get svc,endpointslices,nodes,pods,hpa,events -A -o yaml` prints it, and more kinds.
#[test]
fn a_list_with_kinds_that_are_not_used_is_read() {
    let list = "apiVersion: v1\nkind: List\nitems:\n\
        - {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {a: b}}}\n\
        - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, \
           spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}\n\
        - {apiVersion: x.example/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}\n";
    for command in [&["analyze", "-A"][..], &["explain", "-A"], &["plan", "-A"]] {
        let ran = evenkeel(&[command, &["-f", "-"]].concat(), list.as_bytes());
        assert!(ran.code < 2, "{command:?}: {}", ran.stderr);
        assert_eq!(ran.stderr, "note: ignored kinds: 1 Widget\n", "{command:?}");
    }
}

/// Twice as many Services take about twice as long: a factor of four allows for a busy machine.
#[test]
fn the_cost_is_linear_in_the_number_of_services() {
    let time = |services: usize| {
        let manifest = manifest(services);
        let start = Instant::now();
        let ran = evenkeel(&["analyze", "-A", "-f", "-", "-o", "json"], manifest.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        start.elapsed()
    };
    let (some, many) = (time(250), time(2000));
    assert!(many < some * 8 * 4, "250 Services: {some:?}, 2000: {many:?}");
}

/// Services with three Pods each in three zones, and their slices.
fn manifest(services: usize) -> String {
    let mut text = String::new();
    for (number, zone) in ["a", "b", "c"].iter().enumerate() {
        let _ = write!(
            text,
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: n{number}, labels: \
             {{topology.kubernetes.io/zone: {zone}}}}}, status: {{allocatable: {{cpu: 4}}, \
             conditions: [{{type: Ready, status: 'True'}}]}}}}\n"
        );
    }
    for n in 0..services {
        let (high, low) = (n / 250, n % 250);
        let _ = write!(
            text,
            "---\n{{apiVersion: v1, kind: Service, metadata: {{name: s{n}}}, spec: {{clusterIP: \
             10.96.{high}.{low}, selector: {{app: s{n}}}, ports: [{{port: 80}}], \
             trafficDistribution: PreferSameZone}}}}\n"
        );
        let mut endpoints = Vec::new();
        for (index, zone) in ["a", "b", "c"].iter().enumerate() {
            let ip = format!("10.{index}.{high}.{low}");
            let _ = write!(
                text,
                "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p{n}-{index}, uid: p{n}-{index}, \
                 labels: {{app: s{n}}}}}, spec: {{nodeName: n{index}, containers: []}}, status: \
                 {{phase: Running, podIPs: [{{ip: {ip}}}], conditions: [{{type: Ready, status: \
                 'True'}}]}}}}\n"
            );
            endpoints.push(format!(
                "{{addresses: [{ip}], nodeName: n{index}, zone: {zone}, conditions: {{ready: true}}, \
                 hints: {{forZones: [{{name: {zone}}}]}}, targetRef: {{kind: Pod, name: p{n}-{index}, \
                 namespace: default, uid: p{n}-{index}}}}}"
            ));
        }
        let _ = write!(
            text,
            "---\n{{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {{name: s{n}-x, \
             labels: {{kubernetes.io/service-name: s{n}, endpointslice.kubernetes.io/managed-by: \
             endpointslice-controller.k8s.io}}}}, addressType: IPv4, ports: [{{port: 80, protocol: \
             TCP, name: ''}}], endpoints: [{}]}}\n",
            endpoints.join(", ")
        );
    }
    text
}
