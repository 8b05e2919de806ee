//! `evenkeel plan`: what it says. What it prints to be carried out: `changes`.

mod changes;
mod own_policies;

use std::fs;

use serde_json::Value;

use crate::run::{evenkeel, golden, on_example};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&on_example(args)).unwrap()
}

fn policy<'a>(plan: &'a Value, policy: &str) -> &'a Value {
    let policies = plan["services"][0]["policies"].as_array().unwrap();
    policies.iter().find(|p| p["policy"] == policy).unwrap()
}

/// A traffic file of its own for one test.
fn traffic(test: &str, text: &str) -> String {
    let file = tempdir(test).join("traffic.yaml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// 1000 GB a month for each Service, 5000 for one.
const TRAFFIC: &str = "crates/evenkeel/tests/cli/traffic.yaml";

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn all_services_of_a_namespace_are_compared() {
    let text = on_example(&["plan"]);
    fits(&text);
    golden("plan-shop.txt", &text);
}

#[test]
fn money_comes_with_traffic_and_its_assumptions() {
    let text = on_example(&["plan", "--traffic", TRAFFIC]);
    fits(&text);
    golden("plan-shop-priced.txt", &text);
    let (above, below) = text.split_once("SERVICE ").unwrap();
    assert!(above.contains("USD") && below.contains("USD"), "{text}");
    let one = on_example(&["plan", "payments", "--traffic", TRAFFIC]);
    assert!(one.contains("3 ready endpoints, 5000 GB a month\n"), "{one}");
    assert!(one.contains("saves 66.67 USD a"), "{one}");
}

#[test]
fn no_money_is_shown_until_traffic_is_given() {
    for args in [&["plan"][..], &["plan", "web"], &["plan", "-o", "wide"], &["plan", "-o", "json"]]
    {
        let text = on_example(args);
        for word in ["USD", "COST", "SAVES", "\"cost", "Gb\"", "gbPerMonth"] {
            assert!(!text.contains(word), "{args:?}: {word} in {text}");
        }
    }
    let text = on_example(&["plan"]);
    assert!(text.contains("clients  in proportion to zone CPU: zone-a 33.3 %"), "{text}");
}

#[test]
fn one_service_is_shown_with_each_zone_lost() {
    let text = on_example(&["plan", "search"]);
    fits(&text);
    golden("plan-search.txt", &text);
}

/// Three Pods, two, one in equal zones, with PreferSameZone.
fn uneven() -> String {
    cluster(&["a", "a", "a", "b", "b", "c"], "spec: {trafficDistribution: PreferSameZone,")
}

fn cluster(homes: &[&str], spec: &str) -> String {
    let mut cluster = String::new();
    for zone in ["a", "b", "c"] {
        cluster += &format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: n-{zone}, labels: {{topology.kubernetes.io/zone: {zone}}}}}\nstatus: {{allocatable: {{cpu: 4}}, conditions: [{{type: Ready, status: 'True'}}]}}\n---\n"
        );
    }
    let endpoint = |(i, zone): (usize, &&str)| {
        let hints = match spec.contains("PreferSameZone") {
            true => format!(", hints: {{forZones: [{{name: {zone}}}]}}"),
            false => String::new(),
        };
        format!(
            "- {{addresses: [10.0.0.{i}], conditions: {{ready: true}}, zone: {zone}, nodeName: n-{zone}{hints}}}\n"
        )
    };
    let endpoints: String = (1..).zip(homes).map(endpoint).collect();
    cluster += &format!(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: web-1, labels: {{kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}}}\naddressType: IPv4\nendpoints:\n{endpoints}---\n"
    );
    cluster
        + &format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web, resourceVersion: '7'}}\n{spec} selector: {{app: web}}, ports: [{{port: 80}}], aFieldOfTomorrow: {{x: 1}}}}\nstatus: {{loadBalancer: {{}}}}\n"
        )
}

#[test]
fn what_costs_more_than_today_is_a_trade_and_never_the_headline() {
    let file = traffic("trade", "gbPerMonth: 1000\n");
    let args = ["plan", "web", "-f", "-", "--traffic", &file];
    let unpriced = evenkeel(&args[..4], uneven().as_bytes());
    assert_eq!((unpriced.code, unpriced.stderr.as_str()), (0, ""));
    fits(&unpriced.stdout);
    golden("plan-trade.txt", &unpriced.stdout);
    let ran = evenkeel(&args, uneven().as_bytes());
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("trade: Auto instead of PreferSameZone costs 3.33 USD"), "{flat}");
    assert!(flat.contains("if a fails, the busiest endpoint takes 200 %"), "{flat}");
    let ran = evenkeel(&[&args[..], &["-o", "json"]].concat(), uneven().as_bytes());
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let service = &plan["services"][0];
    assert_eq!(service["recommendation"]["policy"], "PreferSameZone");
    assert_eq!(service["recommendation"]["why"]["code"], "CurrentPolicyOverloads");
    assert_eq!(service["trades"][0]["policy"], "Auto");
    assert_eq!(service["trades"][0]["costs"]["currency"], "USD");
    assert_eq!(service["trades"][0]["benefits"][1]["code"], "LowerLoadOnZoneLoss");
}

#[test]
fn a_daemon_set_that_prefers_the_same_node_is_left_alone() {
    let plan = json(&["plan", "dns-cache", "-o", "json"]);
    let recommendation = &plan["services"][0]["recommendation"];
    assert_eq!(recommendation["policy"], "PreferSameNode");
    assert_eq!(recommendation["why"]["code"], "BackedByDaemonSet");
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
    let text = on_example(&["plan", "web", "--replicas", "web=11", "--profile", "evenkeel"]);
    assert!(text.contains("hints of Auto: kept: zone-a 4, zone-b 4, zone-c 3"), "{text}");
    assert!(text.contains("if hints were not in force yet: none: 11 ready endpoints"), "{text}");
}

#[test]
fn traffic_and_prices_come_from_a_file() {
    let yaml = "byZone: {zone-a: 300, zone-b: 100}\nprice: {outPerGb: 1, inPerGb: 0}\n";
    let file = traffic("traffic", yaml);
    let out = json(&["plan", "payments", "--traffic", &file, "-o", "json"]);
    let none = policy(&out, "none").as_object().unwrap();
    assert_eq!(out["services"][0]["gbPerMonth"], 400.0);
    assert_eq!(out["assumptions"]["traffic"]["priceInUse"]["outPerGb"], 1.0);
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

/// A namespace of many Services: a line for each, the largest saving first, in little time.
#[test]
fn a_thousand_services_are_planned_and_the_top_is_shown() {
    let mut given = cluster(&["a", "b", "c"], "spec: {");
    let (nodes, web) = given.split_at(given.find("apiVersion: discovery").unwrap());
    let nodes = nodes.to_owned();
    let many: String = (0..1000)
        .map(|n| web.replace("web", &format!("a-service-with-a-long-name-{n:04}")) + "---\n")
        .collect();
    given = nodes + &many;
    let begun = std::time::Instant::now();
    let ran = evenkeel(&["plan", "-f", "-", "--top", "15"], given.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let took = begun.elapsed();
    assert!(took.as_secs() < 30, "{took:?}");
    fits(&ran.stdout);
    golden("plan-top.txt", &ran.stdout);
    let all = evenkeel(&["plan", "-f", "-"], given.as_bytes());
    assert!(all.stdout.lines().count() < 1100, "{}", all.stdout);
    let top = evenkeel(&["plan", "-f", "-", "--top", "2", "-o", "patch"], given.as_bytes());
    assert_eq!(top.stdout.lines().count(), 2);
}

#[test]
fn services_are_sorted_by_what_they_save() {
    let yaml = "services:\n  shop/checkout: {gbPerMonth: 100}\n  shop/payments: {gbPerMonth: 10}\n";
    let file = traffic("sorted", yaml);
    let plan = json(&["plan", "-o", "json", "--traffic", &file, "--top", "3"]);
    let name = |n: usize| plan["services"][n]["service"].as_str().unwrap();
    assert_eq!([name(0), name(1)], ["payments", "cart"], "{plan:#}");
    assert_eq!(plan["summary"]["services"], 8);
    assert_eq!(plan["summary"]["leftOut"], 5);
}

#[test]
fn a_total_outage_is_shown() {
    let text = on_example(&["plan", "web", "--replicas", "web=1"]);
    assert!(text.contains("1 endpoint planned"), "{text}");
    assert!(text.contains("UNSERVED"), "{text}");
    let lost = text.lines().find(|line| line.contains("without zone-a")).unwrap();
    assert!(lost.ends_with("100 %"), "{text}");
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
fn a_typo_in_the_traffic_file_is_an_error_with_a_suggestion() {
    let cases = [
        (
            "services: {shop/paymets: {gbPerMonth: 3}}\n",
            "Service \"shop/paymets\" (did you mean \"shop/payments\"?)",
        ),
        ("services: {web: {gbPerMonth: 3}}\n", "Service \"web\" (did you mean \"shop/web\"?)"),
        ("byZone: {zone-q: 3, zone-a: 1}\n", "zone \"zone-q\" (did you mean \"zone-a\"?)"),
        (
            "services: {shop/web: {byZone: {zonea: 1}}}\n",
            "zone \"zonea\" (did you mean \"zone-a\"?)",
        ),
        (
            "services: {shop/warehouse-export: {gbPerMonth: 3}}\n",
            "Service \"shop/warehouse-export\"\n",
        ),
    ];
    for (text, wanted) in cases {
        let file = traffic("typos", text);
        let args = ["plan", "-n", "shop", "-f", "examples/three-zones", "--traffic", &file];
        let ran = evenkeel(&args, b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}");
        assert!(
            ran.stderr.contains(&format!("traffic.yaml: not found: {wanted}")),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("help: "), "{}", ran.stderr);
    }
}

/// A folder of its own for one test.
fn tempdir(name: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Hints by who manages the slices, routing as Kubernetes does.
#[test]
fn forecasts_follow_the_data_plane_of_each_service() {
    let ours = cluster(&["a", "b", "c"], "spec: {")
        .replace("endpointslice-controller.k8s.io", "endpointslice-controller.evenkeel.dev");
    let ran = evenkeel(&["plan", "-f", "-", "-o", "json"], ours.as_bytes());
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let plane = &plan["services"][0]["dataPlane"];
    assert_eq!(plane["hints"]["profile"], "evenkeel");
    assert_eq!(plane["hints"]["code"], "SlicesManagedBy");
    assert_eq!(plane["routing"]["profile"], "kubernetes");
    let builtin = json(&["plan", "web", "-o", "json"]);
    assert_eq!(builtin["services"][0]["dataPlane"]["hints"]["profile"], "kubernetes");
    assert_eq!(builtin["assumptions"]["hints"], serde_json::json!({"kubernetes": 1}));
}
