//! `-o yaml`, `-o patch` and `--diff`.

use serde_json::Value;

use super::{cluster, json, policy};
use crate::run::{evenkeel, golden, on_example};

#[test]
fn whole_services_are_printed_for_what_should_change_only() {
    let text = on_example(&["plan", "-o", "yaml"]);
    golden("plan-shop.yaml", &text);
    assert!(text.contains("resourceVersion: \"185495\""), "{text}");
    assert!(!text.contains("name: web") && !text.contains("status:"), "{text}");
}

#[test]
fn fields_that_are_not_known_here_are_kept() {
    let given = cluster(&["a", "b", "c"], "spec: {");
    let ran = evenkeel(&["plan", "-f", "-", "-o", "yaml"], given.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("aFieldOfTomorrow:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("namespace: default"), "{}", ran.stdout);
    let again = evenkeel(
        &["plan", "-f", "-", "-o", "json"],
        (given.split("apiVersion: v1\nkind: Service").next().unwrap().to_owned() + &ran.stdout)
            .as_bytes(),
    );
    let plan: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(plan["summary"]["toChange"], 0, "{}", again.stdout);
}

#[test]
fn patches_are_commands_of_a_line_each() {
    golden("plan-shop.patch.txt", &on_example(&["plan", "-o", "patch"]));
}

#[test]
fn names_are_quoted_for_the_shell() {
    let given = cluster(&["a", "b", "c"], "spec: {");
    let given = given.replace("name: web,", "name: \"it's; rm\",");
    let ran = evenkeel(&["plan", "-f", "-", "-o", "patch"], given.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with(r"kubectl patch svc 'it'\''s; rm' -n default "),
        "{}",
        ran.stdout
    );
}

#[test]
fn nothing_to_change_is_said_and_the_output_is_valid() {
    for (form, wanted) in [("yaml", "apiVersion: v1\nitems: []\nkind: List\n"), ("patch", "")] {
        let args = ["plan", "web", "-n", "shop", "-f", "examples/three-zones", "-o", form];
        let ran = evenkeel(&args, b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, wanted), "{form}");
        assert_eq!(ran.stderr, "note: nothing to change\n", "{form}");
    }
}

#[test]
fn a_diff_is_shown_as_kubectl_shows_it() {
    let shop = ["-n", "shop", "-f", "examples/three-zones", "--diff"];
    let ran = evenkeel(&[&["plan"], &shop[..]].concat(), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    golden("plan-shop.diff", &ran.stdout);
    let none = evenkeel(&[&["plan", "web"], &shop[..]].concat(), b"");
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", ""));
    let usage = evenkeel(&[&["plan", "-o", "yaml"], &shop[..]].concat(), b"");
    assert_eq!(usage.code, 2, "{}", usage.stderr);
    let missing = evenkeel(&[&["plan", "wbe"], &shop[..]].concat(), b"");
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    let blind = evenkeel(&["plan", "--diff", "--kubeconfig", "/nonexistent"], b"");
    assert_eq!(blind.code, 3, "{}", blind.stderr);
}

/// PreferClose exists from 1.31, PreferSameZone and PreferSameNode from 1.34.
#[test]
fn no_value_that_the_server_rejects_is_suggested() {
    let values = [
        ("1.34", r#"{"spec":{"trafficDistribution":"PreferSameZone"}}"#),
        ("1.33", r#"{"spec":{"trafficDistribution":"PreferClose"}}"#),
        ("1.31", r#"{"spec":{"trafficDistribution":"PreferClose"}}"#),
        ("1.30", r#"{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":"Auto"}}}"#),
    ];
    for (version, patch) in values {
        let text = on_example(&["plan", "payments", "-o", "patch", "--server-version", version]);
        assert!(text.ends_with(&format!("-p '{patch}'\n")), "{version}: {text}");
    }
    let text = on_example(&["plan", "payments", "--server-version", "1.33"]);
    assert!(text.contains("  PreferSameNode: needs Kubernetes 1.34 or newer\n"), "{text}");
    let plan = json(&["plan", "payments", "--server-version", "1.30", "-o", "json"]);
    let zone = policy(&plan, "PreferSameZone");
    assert_eq!(zone["cannotAct"]["code"], "UnavailableBefore");
    assert_eq!(zone["cannotAct"]["version"], "1.31");
    assert_eq!(plan["assumptions"]["server"]["version"], "1.30");
}
