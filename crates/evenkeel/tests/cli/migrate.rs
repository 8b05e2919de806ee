//! `evenkeel migrate`.

use serde_json::Value;

use crate::run::{Ran, evenkeel, golden};

const OLD: &str = "examples/migrate";

fn on_old(args: &[&str]) -> Ran {
    let ran = evenkeel(&[&["migrate", "-f", OLD], args].concat(), b"");
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    ran
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&on_old(&[args, &["-o", "json"]].concat()).stdout).unwrap()
}

fn of<'a>(report: &'a Value, service: &str) -> &'a Value {
    let services = report["services"].as_array().unwrap();
    services.iter().find(|migration| migration["service"] == service).unwrap()
}

/// One Service with these fields of its spec, as YAML.
fn service(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{app: web}}, ports: [{{port: 80}}], {spec}}}\n"
    )
}

#[test]
fn each_service_is_shown_with_what_changes() {
    let ran = on_old(&[]);
    assert_eq!(ran.stderr, "");
    golden("migrate.txt", &ran.stdout);
    assert_eq!(on_old(&["-o", "table"]).stdout, ran.stdout);
}

#[test]
fn whole_services_and_commands_are_printed() {
    let stays = "note: shop/storage: left alone: no policy prefers endpoints by the node label example.com/rack\n";
    let yaml = on_old(&["-o", "yaml"]);
    assert_eq!(yaml.stderr, stays);
    golden("migrate.yaml", &yaml.stdout);
    let patch = on_old(&["-o", "patch"]);
    assert_eq!(patch.stderr, stays);
    golden("migrate.patch.txt", &patch.stdout);
}

#[test]
fn migrating_the_output_changes_nothing() {
    for profile in ["auto", "evenkeel", "kubernetes"] {
        for version in ["1.21", "1.30", "1.33", "1.34"] {
            let flags = ["--profile", profile, "--server-version", version];
            let yaml = on_old(&[&flags[..], &["-o", "yaml"]].concat()).stdout;
            let again = [&["migrate", "-f", "-", "-o", "patch"], &flags[..]].concat();
            let ran = evenkeel(&again, yaml.as_bytes());
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{flags:?}");
            assert!(ran.stderr.ends_with("note: nothing to change\n"), "{}", ran.stderr);
        }
    }
}

#[test]
fn json_has_codes_effects_and_patches() {
    let report = json(&[]);
    let cart = of(&report, "cart");
    assert_eq!(cart["outcome"], "toChange");
    assert_eq!(cart["from"][0]["place"], "service.kubernetes.io/topology-aware-hints");
    assert_eq!(cart["notes"][0]["code"], "OverloadProtectionLost");
    assert_eq!(cart["notes"][0]["effect"], "changes");
    assert_eq!(cart["patch"]["spec"]["trafficDistribution"], "PreferSameZone");
    let removed = &of(&report, "dns-cache")["patch"]["spec"];
    assert!(removed.get("topologyKeys").is_some_and(Value::is_null), "{removed}");
    let storage = of(&report, "storage");
    assert_eq!((&storage["outcome"], storage.get("patch")), (&"leftAlone".into(), None));
    assert_eq!(of(&report, "web")["outcome"], "upToDate");
    let summary = serde_json::json!({"services": 10, "toChange": 8, "leftAlone": 1, "upToDate": 1});
    assert_eq!(report["summary"], summary);
}

#[test]
fn what_auto_becomes_can_be_chosen() {
    let to = |flags: &[&str], service: &str| {
        of(&json(flags), service)["to"][0]["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(to(&[], "cart"), "PreferSameZone");
    assert_eq!(to(&[], "catalog"), "Balanced");
    assert_eq!(to(&["--to", "balanced"], "cart"), "Balanced");
    assert_eq!(to(&["--to", "same-zone"], "catalog"), "PreferSameZone");
    assert_eq!(to(&["--profile", "evenkeel"], "cart"), "Balanced");
    assert_eq!(to(&["--profile", "evenkeel"], "payments"), "RequireSameZone");
}

#[test]
fn no_value_is_printed_that_the_server_rejects() {
    let close = on_old(&["--server-version", "1.33", "-o", "patch"]).stdout;
    assert!(!close.contains("PreferSameZone") && !close.contains("PreferSameNode"), "{close}");
    assert!(close.contains(r#""trafficDistribution":"PreferClose""#), "{close}");
    let none = on_old(&["--server-version", "1.30", "-o", "patch"]).stdout;
    assert!(!none.contains("trafficDistribution"), "{none}");
    let report = json(&["--server-version", "1.20"]);
    assert_eq!(of(&report, "dns-cache")["notes"][0]["code"], "StillInUse");
}

#[test]
fn services_are_named_as_for_explain() {
    let one = on_old(&["shop/cart", "-o", "patch"]).stdout;
    assert_eq!(one.lines().count(), 1);
    assert_eq!(on_old(&["svc/cart", "-n", "shop", "-o", "patch"]).stdout, one);
    assert_eq!(on_old(&["-A", "cart", "shop/cart", "-o", "patch"]).stdout, one);
    assert_eq!(on_old(&["-n", "other", "-o", "patch"]).stdout, "");
    for (name, problem) in [("cart", "found shop/cart"), ("pod/cart", "is not a Service")] {
        let ran = evenkeel(&["migrate", name, "-f", OLD], b"");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
    }
}

#[test]
fn wrong_keys_are_refused_with_their_place() {
    for (keys, problem) in [
        ("zone", "spec.topologyKeys: expected a list of keys of labels"),
        ("[1]", "spec.topologyKeys[0]: expected the key of a label"),
        ("['*', a]", "spec.topologyKeys[0]: \"*\" must be the last key"),
        ("[a b]", "spec.topologyKeys[0]: \"a b\" is not the key of a label"),
    ] {
        let text = service(&format!("topologyKeys: {keys}"));
        let ran = evenkeel(&["migrate", "-f", "-"], text.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{keys}");
        assert!(ran.stderr.contains("stdin"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("Service/default/web: {problem}")), "{}", ran.stderr);
    }
    let long = service(&format!("topologyKeys: [{}]", "x".repeat(1 << 20)));
    let ran = evenkeel(&["migrate", "-f", "-"], long.as_bytes());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.len() < 1000, "{} characters", ran.stderr.len());
}

#[test]
fn what_a_file_holds_does_not_reach_the_terminal_or_the_shell() {
    let text = service("trafficDistribution: PreferClose").replace(
        "name: web",
        r#"name: "it's; rm", annotations: {service.kubernetes.io/topology-mode: "\e[2Jx"}"#,
    );
    let ran = evenkeel(&["migrate", "-f", "-"], text.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    assert!(ran.stdout.contains(r"kubectl patch svc 'it'\''s; rm' -n default"), "{}", ran.stdout);
}

#[test]
fn nothing_found_and_no_cluster_are_said() {
    let ran = evenkeel(&["migrate", "-f", OLD, "-n", "other"], b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "No Services found.\n"));
    let ran = evenkeel(&["migrate"], b"");
    assert_eq!(ran.code, 3);
    let ran = evenkeel(&["migrate", "-f", OLD, "--to", "auto"], b"");
    assert_eq!(ran.code, 2);
}
