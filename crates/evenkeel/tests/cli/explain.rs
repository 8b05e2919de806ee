use std::fs;

use serde_json::Value;

use crate::run::{evenkeel, golden, on_example, root};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&on_example(args)).unwrap()
}

#[test]
fn hints_in_force_are_explained() {
    golden("explain-web.txt", &on_example(&["explain", "web"]));
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    golden("explain-cart.txt", &on_example(&["explain", "cart"]));
}

#[test]
fn a_slice_of_somebody_else_is_found_to_spoil_hints() {
    golden("explain-checkout.txt", &on_example(&["explain", "checkout"]));
}

#[test]
fn a_zone_without_endpoints_and_an_autoscaler_are_warned_of() {
    golden("explain-search-wide.txt", &on_example(&["explain", "search", "-o", "wide"]));
}

#[test]
fn node_preference_shows_which_nodes_use_their_own() {
    let text = on_example(&["explain", "dns-cache", "--from-zone", "zone-a"]);
    assert!(text.contains("on node-a1, node-a2: only the endpoints on the node"), "{text}");
    let text = on_example(&["explain", "dns-cache", "--from-node", "node-b1"]);
    assert!(
        text.contains("from node node-b1 in zone-b: endpoints hinted for node node-b1"),
        "{text}"
    );
    assert!(text.contains("hinted for other nodes\n"), "{text}");
}

#[test]
fn local_traffic_is_shown_by_node() {
    let text = on_example(&["explain", "metrics-agent"]);
    assert!(text.contains("endpoints on node node-a1 only (Local)"), "{text}");
    assert!(text.contains("from other nodes: none: no endpoint on the node (Local)"), "{text}");
}

#[test]
fn a_service_without_selector_is_explained_from_its_own_slices() {
    let text = on_example(&["explain", "legacy-db"]);
    assert!(text.contains("10.20.0.11"), "{text}");
    assert!(text.contains("the Service has no selector"), "{text}");
}

#[test]
fn services_are_named_as_with_kubectl() {
    let plain = on_example(&["explain", "web"]);
    for name in ["svc/web", "service/web", "services/web"] {
        assert_eq!(on_example(&["explain", name]), plain, "{name}");
    }
}

#[test]
fn shares_sum_to_one_in_every_view() {
    let services = [
        "web",
        "cart",
        "search",
        "dns-cache",
        "payments",
        "metrics-agent",
        "legacy-db",
        "checkout",
    ];
    for service in services {
        let explanation = json(&["explain", service, "-o", "json"]);
        for view in explanation["families"][0]["views"].as_array().unwrap() {
            let uses = view["uses"].as_array().unwrap();
            let sum: f64 = uses.iter().map(|u| u["share"].as_f64().unwrap()).sum();
            let expected = if uses.is_empty() { 0.0 } else { 1.0 };
            assert!((sum - expected).abs() < 1e-9, "{service}: {view}");
        }
    }
}

#[test]
fn reasons_carry_code_fields_and_message() {
    let explanation = json(&["explain", "cart", "-o", "json"]);
    let desired = &explanation["families"][0]["hints"]["desired"];
    assert_eq!(desired["code"], "Refused");
    assert_eq!(desired["why"]["code"], "Overload");
    assert_eq!((&desired["why"]["endpoints"], &desired["why"]["zones"]), (&4.into(), &3.into()));
    assert_eq!(explanation["advice"]["code"], "Scale");
    assert_eq!(explanation["advice"]["next"], 6);
}

#[test]
fn fields_of_reasons_are_named_as_in_kubernetes() {
    let explanation = json(&["explain", "search", "-o", "json"]);
    let warnings = explanation["warnings"].as_array().unwrap();
    let autoscaled = warnings.iter().find(|w| w["code"] == "Autoscaled").unwrap();
    assert_eq!(autoscaled["maxReplicas"], 10);
}

#[test]
fn what_was_not_given_is_said_so() {
    let folder = "examples/three-zones";
    let (services, slices) =
        (format!("{folder}/services.yaml"), format!("{folder}/endpointslices.yaml"));
    let ran = evenkeel(&["explain", "web", "-n", "shop", "-f", &services, "-f", &slices], b"");
    for words in [
        "Zone capacity is unknown: the input has no Nodes",
        "desired hints:   none: the input has no Nodes",
        "?       no Events about the Service found",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
}

#[test]
fn yaml_says_what_json_says() {
    let json = json(&["explain", "web", "-o", "json"]);
    let yaml = on_example(&["explain", "web", "-o", "yaml"]);
    let yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(json, yaml);
}

#[test]
fn manifests_are_read_from_stdin_and_from_several_files() {
    let folder = root().join("examples/three-zones");
    let read = |file| fs::read(folder.join(file)).unwrap();
    let services = read("services.yaml");
    let ran = evenkeel(
        &[
            "explain",
            "web",
            "-n",
            "shop",
            "-f",
            "-",
            "-f",
            "examples/three-zones/nodes.yaml",
            "-f",
            "examples/three-zones/endpointslices.yaml",
        ],
        &services,
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("desired hints:   kept: zone-a 2, zone-b 2, zone-c 2"),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_kubernetes_profile_and_gates_can_be_chosen() {
    let off = "TopologyAwareHints=false,ServiceTrafficDistribution=false";
    let text = on_example(&["explain", "web", "--feature-gates", off]);
    assert!(
        text.contains("Auto has no effect while feature gate TopologyAwareHints is off"),
        "{text}"
    );
    assert!(text.contains("all ready endpoints: feature gates are off"), "{text}");
    let text = on_example(&["explain", "web", "--profile", "kubernetes"]);
    assert!(text.contains("endpoints hinted for zone-a"), "{text}");
}

#[test]
fn output_is_plain_when_piped() {
    assert!(!on_example(&["explain", "web"]).contains('\u{1b}'));
}

/// The example's slices are written by Kubernetes' own controller.
#[test]
fn the_rules_are_those_of_whoever_manages_the_slices() {
    let plane = |args: &[&str]| {
        let all = [&["explain", "web", "-o", "json"], args].concat();
        let plane = json(&all)["dataPlane"].clone();
        let part = |name: &str| {
            let text = |field: &str| plane[name][field].as_str().unwrap().to_owned();
            (text("profile"), text("code"))
        };
        (part("hints"), part("routing"))
    };
    let rules = |profile: &str, code: &str| (profile.to_owned(), code.to_owned());
    let routing = rules("kubernetes", "NoProxyReported");
    assert_eq!(plane(&[]), (rules("kubernetes", "SlicesManagedBy"), routing.clone()));
    assert_eq!(plane(&["--profile", "auto"]).1, routing);
    let requested = rules("evenkeel", "Requested");
    assert_eq!(plane(&["--profile", "evenkeel"]), (requested.clone(), requested));

    let read = |file| fs::read_to_string(root().join("examples/three-zones").join(file)).unwrap();
    let ours = read("endpointslices.yaml")
        .replace("endpointslice-controller.k8s.io", "endpointslice-controller.evenkeel.dev");
    let objects = [read("services.yaml"), read("nodes.yaml"), ours].join("\n---\n");
    let ran = evenkeel(&["explain", "web", "-n", "shop", "-f", "-"], objects.as_bytes());
    let lines = "
  hints:    Evenkeel rules (slices are managed by endpointslice-controller.evenkeel.dev)
  routing:  Kubernetes rules (no node reports Evenkeel's proxy)
";
    assert!(ran.stdout.contains(lines), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn no_value_is_advised_that_the_api_server_rejects() {
    let advice = |version: &[&str]| {
        let args = [&["explain", "payments", "-o", "json"], version].concat();
        let explanation = json(&args);
        let server = explanation["server"].clone();
        (explanation["advice"]["message"].as_str().unwrap().to_owned(), server)
    };
    let (newest, server) = advice(&[]);
    assert!(newest.contains("trafficDistribution: PreferSameZone"), "{newest}");
    assert_eq!(server, serde_json::json!({"version": "1.34", "source": "assumed"}));
    let (older, server) = advice(&["--server-version", "1.33"]);
    assert!(older.contains("trafficDistribution: PreferClose"), "{older}");
    assert_eq!(server, serde_json::json!({"version": "1.33", "source": "flag"}));
    let (oldest, _) = advice(&["--server-version", "v1.30.2"]);
    assert_eq!(oldest, "Upgrade to Kubernetes 1.31 or newer to use PreferSameZone");

    let text = on_example(&["explain", "search", "--server-version", "1.33"]);
    assert!(text.contains("policy none (PreferSameZone needs Kubernetes 1.34 or newer)"), "{text}");
    let ran = evenkeel(&["explain", "web", "-f", "-", "--server-version", "new"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("not a version of Kubernetes"), "{}", ran.stderr);
}

const OWN_POLICIES: &str = "crates/evenkeel/tests/cli/own_policies.yaml";

fn on_own_policies(args: &[&str]) -> String {
    let ran = evenkeel(&[args, &["-n", "shop", "-f", OWN_POLICIES]].concat(), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

/// 2, 1 and 1 endpoints in three equal zones: Auto gives no hints there.
#[test]
fn zone_shares_are_shown_with_what_keeps_them_from_taking_effect() {
    golden("explain-balanced.txt", &on_own_policies(&["explain", "web"]));
}

#[test]
fn zone_shares_are_followed_under_evenkeels_rules() {
    let args = ["explain", "web", "--profile", "evenkeel"];
    golden("explain-balanced-evenkeel.txt", &on_own_policies(&args));
}

#[test]
fn broken_zone_shares_are_explained() {
    let args = ["explain", "pay", "--profile", "evenkeel", "--from-zone", "zone-b"];
    golden("explain-balanced-broken.txt", &on_own_policies(&args));
}

#[test]
fn a_zone_that_is_required_and_empty_is_warned_of() {
    let args = ["explain", "strict", "--from-zone", "zone-c"];
    golden("explain-required.txt", &on_own_policies(&args));
}

#[test]
fn regions_are_shown_where_the_policy_looks_at_them() {
    golden("explain-region.txt", &on_own_policies(&["explain", "near", "--from-zone", "zone-b"]));
}

#[test]
fn zone_shares_are_data_in_json() {
    let text = on_own_policies(&["explain", "web", "-o", "json"]);
    let explanation: Value = serde_json::from_str(&text).unwrap();
    let shares = &explanation["families"][0]["shares"][0];
    assert_eq!(shares["state"]["code"], "SharesUpToDate");
    let row = &shares["rows"][1];
    assert_eq!((&row["clientZone"], &row["desired"][0]["part"]), (&"zone-b".into(), &750.into()));
    assert_eq!(row["desired"][1]["why"]["code"], "ZoneFull");
    assert_eq!(shares["adoption"]["awareZones"], serde_json::json!(["zone-b"]));
    let load = shares["adoption"]["maxLoad"].as_f64().unwrap();
    assert_eq!((load * 100.0).round(), 167.0);
    assert_eq!(explanation["advice"]["code"], "AwaitProxy");
}

#[test]
fn nodes_that_report_are_counted_and_decide_whose_rules_route() {
    let file = format!("{}/tests/cli/in_force.yaml", env!("CARGO_MANIFEST_DIR"));
    let ran = evenkeel(&["explain", "web", "-f", &file], b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let head: Vec<&str> = ran.stdout.lines().take(5).collect();
    let expected = [
        "  hints:    Evenkeel rules (slices are managed by endpointslice-controller.evenkeel.dev)",
        "  routing:  Evenkeel rules (2 of 3 nodes report Evenkeel's proxy; the others route by \
         Kubernetes' rules)",
    ];
    assert_eq!(head[1..3], expected, "{}", ran.stdout);
    let nodes = "  nodes:    in force on 1 of 2 nodes; node-2 is behind; 1 node without Evenkeel's \
                 proxy";
    assert_eq!(head[4], nodes, "{}", ran.stdout);
    let ran = evenkeel(&["explain", "web", "-f", &file, "-o", "json"], b"");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let in_force = &told["inForce"];
    assert_eq!((&in_force["code"], &in_force["nodes"]), (&"Partly".into(), &1.into()));
    assert_eq!(in_force["behind"][0]["node"], "node-2");
    assert_eq!((&in_force["of"], &in_force["without"]), (&2.into(), &1.into()));
    assert_eq!(told["dataPlane"]["routing"]["code"], "ProxyReportedBySome");
}
