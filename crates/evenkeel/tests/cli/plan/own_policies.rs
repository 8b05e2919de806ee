//! Policies of Evenkeel's own.

use serde_json::Value;

use super::{cluster, fits, json, policy};
use crate::run::{evenkeel, golden, on_example};

const OURS: &str = "endpointslice-controller.evenkeel.dev";

fn managed_by_us(homes: &[&str], spec: &str) -> String {
    cluster(homes, spec).replace("endpointslice-controller.k8s.io", OURS)
}

fn share(value: &Value) -> f64 {
    (value.as_f64().unwrap() * 1000.0).round() / 10.0
}

/// KEP-2433's example: four endpoints in three equal zones.
#[test]
fn balanced_is_recommended_where_auto_gives_up() {
    let args = ["plan", "cart", "--profile", "evenkeel"];
    let text = on_example(&args);
    fits(&text);
    golden("plan-cart-balanced.txt", &text);
    let plan = json(&[&args[..], &["-o", "json"]].concat());
    let balanced = policy(&plan, "Balanced");
    assert_eq!(share(&balanced["inZoneShare"]), 83.3, "{balanced:#}");
    assert_eq!(share(&balanced["maxLoad"]), 100.0, "{balanced:#}");
    assert_eq!(policy(&plan, "Auto")["hints"]["code"], "Refused");
    assert_eq!(plan["services"][0]["recommendation"]["policy"], "Balanced");
    let patch = on_example(&[&args[..], &["-o", "patch"]].concat());
    let wanted = r#"{"metadata":{"annotations":{"evenkeel.dev/traffic-distribution":"Balanced","service.kubernetes.io/topology-mode":null}}}"#;
    assert!(patch.ends_with(&format!("-p '{wanted}'\n")), "{patch}");
    let yaml = on_example(&[&args[..], &["-o", "yaml"]].concat());
    assert!(yaml.contains("      evenkeel.dev/traffic-distribution: Balanced\n"), "{yaml}");
}

#[test]
fn what_balanced_needs_is_told_where_nodes_run_kube_proxy() {
    let auto = "  annotations: {service.kubernetes.io/topology-mode: Auto}\nspec: {";
    let given = managed_by_us(&["a", "a", "b", "c"], "spec: {").replace(
        "metadata: {name: web, resourceVersion: '7'}\nspec: {",
        &format!("metadata:\n  name: web\n{auto}"),
    );
    let ran = evenkeel(&["plan", "-f", "-"], given.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    fits(&ran.stdout);
    golden("plan-balanced-kube-proxy.txt", &ran.stdout);
}

#[test]
fn every_policy_is_in_wide_output() {
    let text = on_example(&["plan", "search", "--profile", "evenkeel", "-o", "wide"]);
    golden("plan-search-wide.txt", &text);
    for name in ["Balanced", "PreferSameRegion", "PreferSameZoneThenRegion", "RequireSameZone"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {text}");
    }
}

#[test]
fn refused_traffic_of_the_policy_in_force_is_told() {
    let required = "  annotations: {evenkeel.dev/traffic-distribution: RequireSameZone}\nspec: {";
    let given = managed_by_us(&["a", "a", "b"], "spec: {").replace(
        "metadata: {name: web, resourceVersion: '7'}\nspec: {",
        &format!("metadata:\n  name: web\n{required}"),
    );
    let ran = evenkeel(&["plan", "-f", "-", "--profile", "evenkeel"], given.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    fits(&ran.stdout);
    golden("plan-required.txt", &ran.stdout);
}
