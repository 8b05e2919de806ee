//! `up --proxy`: real requests from real network namespaces. Needs root.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{self, Command},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    dashboard::{self, Browser},
    process::{Ran, Up, evenkeel, folder, ran},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Started, with the pattern of its namespaces' names.
fn start(args: &[&str]) -> (Up, String) {
    let up = Up::start(&[&["--proxy"], args].concat());
    let line = up.said.lines().find(|line| line.starts_with("proxy ")).unwrap();
    let pattern = line.split_whitespace().nth(1).unwrap().to_owned();
    assert!(pattern.ends_with("-NODE"), "{line}");
    (up, pattern)
}

fn namespace(pattern: &str, node: &str) -> PathBuf {
    Path::new("/run/netns").join(pattern.replace("NODE", node))
}

/// Polls until it is so.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Plain `curl`, inside.
fn curl(pattern: &str, node: &str, args: &[&str]) -> Ran {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &pattern.replace("NODE", node), "curl", "-s", "-m", "5"]);
    ran(command.args(args))
}

/// Name, node and address of each Pod of an app.
fn pods(up: &Up, app: &str) -> Vec<[String; 3]> {
    let items = up.get(&["pods", "-n", "shop", "-l", &format!("app={app}")])["items"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |pod: &Value| {
        [&pod["metadata"]["name"], &pod["spec"]["nodeName"], &pod["status"]["podIP"]].map(text)
    };
    items.as_array().unwrap().iter().map(of).collect()
}

fn create_node(up: &Up, name: &str) {
    let file = folder(&format!("{name}.json"));
    let labels = json!({"topology.kubernetes.io/zone": "zone-b"});
    let metadata = json!({"name": name, "labels": labels});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
    fs::write(&file, node.to_string()).unwrap();
    assert_eq!(up.kubectl(&["create", "-f", file.to_str().unwrap()]).code, 0);
    fs::remove_file(file).unwrap();
}

#[test]
fn every_pod_answers_at_its_address_and_a_stop_removes_everything() {
    let (mut up, pattern) = start(&["--ephemeral"]);
    up.explained();
    for [name, node, address] in pods(&up, "web") {
        for from in ["node-a1", "node-c2"] {
            let answer = curl(&pattern, from, &[&format!("http://{address}:8080")]);
            let zone = format!("zone-{}", &node[5..6]);
            assert_eq!(answer.out, format!("{name} on {node} in {zone}\n"), "{}", answer.err);
        }
    }
    let [dns, _, dns_address] = &pods(&up, "dns-cache")[0];
    let [web, web_node, _] = &pods(&up, "web")[0];
    let url = format!("udp://{dns_address}");
    let sent =
        up.evenkeel(&["curl", "--from", web, "-n", "shop", &url, "--count", "3", "-o", "json"]);
    assert_eq!(sent.code, 0, "{}", sent.err);
    let report: Value = serde_json::from_str(&sent.out).unwrap();
    assert_eq!(
        (&report["answers"][0]["pod"], &report["answers"][0]["requests"]),
        (&json!(dns), &json!(3))
    );
    assert_eq!((&report["from"]["pod"], &report["from"]["node"]), (&json!(web), &json!(web_node)));

    let (code, errors) = up.stop("-TERM");
    assert_eq!(code, Some(0), "{errors}");
    for name in fs::read_dir("/run/netns").unwrap().map(|entry| entry.unwrap().file_name()) {
        let name = name.to_str().unwrap();
        assert!(!name.starts_with(pattern.strip_suffix("NODE").unwrap()), "{name} is left");
    }
    let prefix = pattern.strip_suffix("-NODE").unwrap();
    assert!(!namespace(&format!("{prefix}_bridge"), "").exists());
    assert!(!Path::new("/run/evenkeel").join(prefix).with_extension("json").exists());
}

/// Zones, nodes and Pods that answered, with how many requests; all were answered.
fn reached(up: &Up, from: &str, url: &str) -> Vec<(String, String, String, u64)> {
    let sent = up.evenkeel(&["curl", "--from", from, url, "--count", "100", "-o", "json"]);
    assert_eq!(sent.code, 0, "{from} {url}: {}{}", sent.out, sent.err);
    let report: Value = serde_json::from_str(&sent.out).unwrap();
    let text = |answer: &Value, field: &str| answer[field].as_str().unwrap().to_owned();
    let of = |one: &Value| {
        let requests = one["requests"].as_u64().unwrap();
        (text(one, "zone"), text(one, "node"), text(one, "pod"), requests)
    };
    report["answers"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn requests_to_a_service_go_where_its_policy_says() {
    let (mut up, pattern) = start(&["--ephemeral"]);
    up.explained();
    let is_answered = |from: &str, url: &str| up.evenkeel(&["curl", "--from", from, url]).code == 0;
    let nodes = ["node-a1", "node-b1", "node-c1"];
    for (node, service) in nodes
        .iter()
        .flat_map(|node| [(node, "http://checkout.shop"), (node, "udp://dns-cache.shop")])
    {
        wait("the proxy has its rules", || is_answered(node, service));
    }
    for (node, zone) in nodes.iter().zip(["zone-a", "zone-b", "zone-c"]) {
        let same_zone = reached(&up, node, "http://checkout.shop");
        assert_eq!(same_zone.len(), 2, "both of its zone: {same_zone:?}");
        assert!(same_zone.iter().all(|(of, ..)| of == zone), "{node}: {same_zone:?}");
        let same_node = reached(&up, node, "udp://dns-cache.shop");
        assert!(same_node.iter().all(|(_, of, ..)| of == node), "{node}: {same_node:?}");
        assert_eq!(reached(&up, node, "payments.shop").len(), 3, "without a policy, all");
    }

    let service = up.get(&["service", "-n", "shop", "cart"]);
    let url = format!("http://{}", service["spec"]["clusterIP"].as_str().unwrap());
    let answer = curl(&pattern, "node-c2", &[&url]);
    assert!(answer.out.starts_with("cart-"), "{answer:?}");

    let extra = format!("extra-{}", rand::random::<u16>());
    create_node(&up, &extra);
    wait("the new Node has a namespace", || namespace(&pattern, &extra).exists());
    wait("its proxy has its rules", || is_answered(&extra, "http://cart.shop"));
    assert_eq!(up.kubectl(&["scale", "deployment", "-n", "shop", "cart", "--replicas=0"]).code, 0);
    wait("without endpoints, requests are refused", || {
        let ran = up.evenkeel(&["curl", "--from", &extra, "http://cart.shop"]);
        ran.code == 1 && ran.err.contains("connection refused")
    });
    let (code, errors) = up.stop("-TERM");
    assert_eq!(code, Some(0), "{errors}");
    assert!(!errors.contains("WARN") && !errors.contains("ERROR"), "{errors}");
}

/// By zone of the endpoint, of the requests of a Node's clients.
fn measured(up: &Up, node: &str, url: &str) -> BTreeMap<String, f64> {
    let args = ["curl", "--from", node, url, "--count", "600", "-o", "json"];
    let sent = up.evenkeel(&args);
    assert_eq!(sent.code, 0, "{node} {url}: {}", sent.err);
    let report: Value = serde_json::from_str(&sent.out).unwrap();
    let mut shares = BTreeMap::new();
    for answer in report["answers"].as_array().unwrap() {
        let zone = answer["zone"].as_str().unwrap().to_owned();
        *shares.entry(zone).or_default() += answer["requests"].as_f64().unwrap() / 600.0;
    }
    shares
}

/// The shares of the clients of a zone, as a page of the dashboard has them.
fn drawn(page: &Value, zone: &str) -> BTreeMap<String, f64> {
    let rows = page["rows"].as_array().unwrap().iter().filter(|row| row["from"] == zone);
    let share = |row: &Value| {
        (row["to"].as_str().unwrap().to_owned(), row["share"]["value"].as_f64().unwrap())
    };
    rows.map(share).collect()
}

/// Four standard deviations of a half in 600 requests.
const TOLERANCE: f64 = 0.08;

#[test]
fn requests_go_where_the_dashboard_says() {
    let (mut up, _) = start(&["--ephemeral"]);
    up.explained();
    let browser = Browser::new(&dashboard::url(&up));
    // Its own annotation, which comes first, is taken away.
    let balanced =
        ["evenkeel.dev/traffic-distribution=Balanced", "service.kubernetes.io/topology-mode-"];
    let annotate = [&["annotate", "service", "cart", "-n", "shop"][..], &balanced].concat();
    let annotated = up.kubectl(&annotate);
    assert_eq!(annotated.code, 0, "{}", annotated.err);
    let is_by_shares = |row: &Value| row["why"].as_str().unwrap().contains("zone shares");
    browser.eventually("cart", |page| page["rows"].as_array().unwrap().iter().any(is_by_shares));
    for service in ["cart", "checkout", "payments"] {
        let page = browser.eventually(service, |page| !drawn(page, "zone-a").is_empty());
        // Without a policy, zones share all endpoints.
        assert_eq!(drawn(&page, "zone-a").len() > 1, service == "payments", "{page:#}");
        for (node, zone) in [("node-a1", "zone-a"), ("node-b1", "zone-b"), ("node-c1", "zone-c")] {
            let (url, drawn) = (format!("http://{service}.shop"), drawn(&page, zone));
            wait("the proxy has its rules", || {
                let goes = reached(&up, node, &url);
                goes.iter().all(|(of, ..)| drawn.contains_key(of))
            });
            let measured = measured(&up, node, &url);
            let zones: Vec<_> = measured.keys().collect();
            assert_eq!(zones, drawn.keys().collect::<Vec<_>>(), "{service} from {zone}");
            for (to, share) in &drawn {
                let is_near = (measured[to] - share).abs() <= TOLERANCE;
                assert!(is_near, "{service} from {zone} to {to}: {measured:?} for {share}");
            }
        }
    }
    // Proxies have counted the same connections.
    let is_counted = |row: &Value| row["measured"]["basis"] == "measured";
    let page = browser
        .eventually("payments", |page| page["rows"].as_array().unwrap().iter().all(is_counted));
    for row in page["rows"].as_array().unwrap() {
        let [predicted, counted] = ["share", "measured"].map(|of| row[of]["value"].as_f64());
        let is_near = (predicted.unwrap() - counted.unwrap()).abs() <= TOLERANCE;
        assert!(is_near, "{row:#}");
    }
    assert_eq!(up.stop("-TERM").0, Some(0));
}

#[test]
fn nodes_and_pods_come_and_go() {
    let (mut up, pattern) = start(&["--ephemeral", "--sandbox-end-after", "2s"]);
    up.explained();
    let extra = format!("extra-{}", process::id());
    create_node(&up, &extra);
    wait("the new Node has a namespace", || namespace(&pattern, &extra).exists());
    let [name, _, address] = &pods(&up, "payments")[0];
    let url = format!("http://{address}:9090");
    let answers = |from: &str| curl(&pattern, from, &[&url]).out.starts_with(name.as_str());
    wait("a Pod answers the new Node", || answers(&extra));

    let deleted = up.kubectl(&["delete", "pod", "-n", "shop", name, "--wait=false"]);
    assert_eq!(deleted.code, 0, "{}", deleted.err);
    let is_there = || up.kubectl(&["get", "pod", "-n", "shop", name]).code == 0;
    assert!(answers("node-a1") || !is_there(), "it stopped before it was gone");
    wait("a Pod that is gone does not answer", || !answers("node-a1"));
    assert!(!is_there());

    assert_eq!(up.kubectl(&["delete", "node", &extra]).code, 0);
    wait("a deleted Node has no namespace", || !namespace(&pattern, &extra).exists());
    assert_eq!(up.stop("-INT").0, Some(0));
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next_start() {
    let (up, pattern) = start(&["--ephemeral", "--sample", "none"]);
    let node = format!("killed-{}", process::id());
    create_node(&up, &node);
    let namespace = namespace(&pattern, &node);
    wait("the Node has a namespace", || namespace.exists());
    drop(up);
    let (next, _) = start(&["--ephemeral", "--sample", "none"]);
    assert!(!namespace.exists(), "{} is left", namespace.display());
    assert_eq!(next.stop("-TERM").0, Some(0));
}

#[test]
fn curl_says_what_is_wrong() {
    let (mut up, _) = start(&["--ephemeral"]);
    up.explained();
    for (args, code, part) in [
        (&["--from", "node-x9", "http://web.shop"][..], 2, "Nodes: node-a1, node-a2,"),
        (
            &["--from", "node-a1", "http://web"],
            2,
            "there is no Service \"web\" in namespace \"default\"",
        ),
        (&["--from", "node-a1", "https://web.shop"], 2, "neither http nor udp"),
        (&["--from", "node-a1", "udp://web.shop"], 2, "has no UDP port"),
        (&["--from", "node-a1", "172.16.0.0"], 1, "address unreachable"),
    ] {
        let ran = up.evenkeel(&[&["curl"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    let [_, node, address] = &pods(&up, "cart")[0];
    let refused = up.evenkeel(&["curl", "--from", node, &format!("{address}:1")]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("connection refused"), "{}", refused.err);
    assert_eq!(up.stop("-TERM").0, Some(0));

    let without = Up::start(&["--ephemeral", "--sample", "none"]);
    let ran = without.evenkeel(&["curl", "--from", "node-a1", "http://web.shop"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("start it with `evenkeel up --proxy`"), "{}", ran.err);
}

#[test]
fn without_root_it_says_what_to_do() {
    // Where every user may run it.
    let program = env::temp_dir().join(format!("evenkeel-{}", process::id()));
    fs::copy(env!("CARGO_BIN_EXE_evenkeel"), &program).unwrap();
    for (args, part) in [
        (&["up", "--proxy", "--ephemeral"][..], "run it with sudo, or without --proxy"),
        (&["curl", "--from", "node-a1", "http://web.shop"], "run it with sudo"),
    ] {
        let mut command = Command::new(&program);
        let ran = ran(command.args(args).uid(65534).gid(65534).env("HOME", "/nonexistent"));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    fs::remove_file(program).unwrap();
    assert_eq!(ran(&mut evenkeel(&["curl", "http://web.shop"])).code, 2, "--from is missing");
}
