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
        let lost = |lost: bool| if lost { "Refused" } else { "SharedOut" };
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

/// A folder of its own for one test.
fn tempdir(name: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}
