use std::fs;

use serde_json::Value;

use crate::run::{evenkeel, golden, on_example};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&on_example(args)).unwrap()
}

fn policy<'a>(forecasts: &'a Value, policy: &str) -> &'a Value {
    let policies = forecasts[0]["policies"].as_array().unwrap();
    policies.iter().find(|p| p["policy"] == policy).unwrap()
}

#[test]
fn all_services_of_a_namespace_are_compared() {
    golden("plan-shop.txt", &on_example(&["plan"]));
}

#[test]
fn one_service_is_shown_with_each_zone_lost() {
    golden("plan-search.txt", &on_example(&["plan", "search"]));
}

/// Three equal zones lose all Auto hints at 4, 5, 8 and 11 endpoints in Kubernetes; ours keeps
/// hints that are in force at 11. (kubernetes/kubernetes#122437)
#[test]
fn the_replica_counts_that_surprise_users_are_foretold() {
    for n in 3..=13 {
        let replicas = format!("web={n}");
        let code = |profile: &str| {
            let args = ["plan", "--replicas", &replicas, "--profile", profile, "-o", "json"];
            policy(&json(&args), "Auto")["hints"]["code"].as_str().unwrap().to_owned()
        };
        let lost = |lost: bool| if lost { "Refused" } else { "Allocated" };
        assert_eq!(code("kubernetes"), lost([4, 5, 8, 11].contains(&n)), "kubernetes at {n}");
        assert_eq!(code("evenkeel"), lost([4, 5, 8].contains(&n)), "evenkeel at {n}");
    }
}

#[test]
fn plan_says_which_case_it_is_at_eleven() {
    let text = on_example(&["plan", "web", "--replicas", "web=11"]);
    assert!(text.contains("hints of Auto: kept: zone-a 4, zone-b 4, zone-c 3"), "{text}");
    assert!(text.contains("if hints were not in force yet: none: 11 ready endpoints"), "{text}");
}

#[test]
fn traffic_and_prices_come_from_a_file() {
    let dir = tempdir("traffic");
    let file = dir.join("traffic.yaml");
    fs::write(&file, "byZone: {zone-a: 300, zone-b: 100}\nprice: {outPerGb: 1, inPerGb: 0}\n")
        .unwrap();
    let out = json(&["plan", "payments", "--traffic", file.to_str().unwrap(), "-o", "json"]);
    let none = policy(&out, "none").as_object().unwrap();
    assert_eq!(out[0]["gbPerMonth"], 400.0);
    // A third of the traffic stays in its zone, the rest crosses at 1 a gigabyte.
    let cost = none["cost"].as_f64().unwrap();
    assert!((cost - 400.0 * 2.0 / 3.0).abs() < 1e-6, "{cost}");
}

#[test]
fn a_wrong_traffic_file_is_refused_with_its_field() {
    let dir = tempdir("wrong-traffic");
    let cases = [
        ("gbPerMonth: -1\n", "gbPerMonth"),
        ("price: {outPerGb: .nan}\n", "price.outPerGb"),
        ("byZone: {zone-a: -5}\n", "byZone.zone-a"),
        ("gbPerMont: 1\n", "gbPerMont"),
        ("gbPerMonth: plenty\n", "gbPerMonth"),
    ];
    for (text, field) in cases {
        let file = dir.join("traffic.yaml");
        fs::write(&file, text).unwrap();
        let args = ["plan", "-f", "examples/three-zones", "--traffic", file.to_str().unwrap()];
        let ran = evenkeel(&args, b"");
        assert_eq!(ran.code, 2, "{text}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(field) && ran.stderr.contains("traffic.yaml"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn wrong_replicas_are_refused() {
    for given in ["web", "web=", "web=many", "web=-1", "web=1000000", "pod/x=3"] {
        let ran = evenkeel(&["plan", "-f", "examples/three-zones", "--replicas", given], b"");
        assert_eq!(ran.code, 2, "{given}: {}", ran.stderr);
    }
}

#[test]
fn patches_are_printed_for_what_should_change_only() {
    let text = on_example(&["plan", "-o", "yaml"]);
    assert!(text.contains("name: payments"), "{text}");
    assert!(text.contains("trafficDistribution: PreferSameZone"), "{text}");
    assert!(!text.contains("name: web"), "{text}");
}

#[test]
fn a_patch_comes_with_the_command_that_applies_it() {
    let text = on_example(&["plan", "-o", "yaml"]);
    let command = "# evenkeel plan payments -n shop -o yaml | kubectl patch svc payments -n shop --type merge --patch-file /dev/stdin\n";
    assert!(text.contains(command), "{text}");
}

#[test]
fn a_total_outage_is_the_worst_loss() {
    let text = on_example(&["plan", "web", "--replicas", "web=1"]);
    let none = text.lines().find(|line| line.contains("1 (planned)")).unwrap();
    assert!(none.ends_with("100 % unserved (zone-a)"), "{text}");
    let lost = text.lines().find(|line| line.contains("without zone-a")).unwrap();
    assert!(lost.contains("100 % unserved"), "{text}");
}

#[test]
fn a_policy_that_cannot_act_says_why() {
    let out = json(&["plan", "metrics-agent", "-o", "json"]);
    assert_eq!(policy(&out, "Auto")["cannotAct"]["code"], "Local");
    assert!(policy(&out, "none").get("cannotAct").is_none());
}

#[test]
fn a_refusal_is_told_once() {
    let text = on_example(&["plan", "cart", "--replicas", "cart=4"]);
    assert_eq!(text.matches("can't be allocated").count(), 1, "{text}");
}

#[test]
fn names_of_the_traffic_file_that_are_not_there_are_noted() {
    let file = tempdir("unknown-names").join("traffic.yaml");
    fs::write(&file, "byZone: {zone-x: 3, zone-a: 1}\nservices: {shop/nope: {gbPerMonth: 3}}\n")
        .unwrap();
    let args = ["plan", "-f", "examples/three-zones", "--traffic", file.to_str().unwrap()];
    let ran = evenkeel(&args, b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("zones without nodes: zone-x\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Services that are not here: shop/nope\n"), "{}", ran.stderr);
}

/// A folder of its own for one test.
fn tempdir(name: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}
