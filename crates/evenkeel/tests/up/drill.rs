//! `drill`: a zone of `up --proxy` is lost, and comes back however the drill ends. Needs root.
//!
//! Counts are compared with those of the kernel: each Node is a network namespace, whose TCP counters
//! know how many connections were opened from there (`ActiveOpens`) and accepted there
//! (`PassiveOpens`).

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::process::{Ran, Up, evenkeel, folder};

const PATIENCE: Duration = Duration::from_secs(60);
const OUTAGE: &str = "sandbox.evenkeel.dev/outage-until";
const NODES: [&str; 6] = ["node-a1", "node-a2", "node-b1", "node-b2", "node-c1", "node-c2"];

/// Started, with the pattern of its namespaces' names. A Node is lost so long after its last heartbeat,
/// of which there is one every 10 s.
fn start(grace: &str) -> (Up, String) {
    let mut up = Up::start(&["--proxy", "--ephemeral", "--sandbox-node-grace", grace]);
    let line = up.said.lines().find(|line| line.starts_with("proxy ")).unwrap();
    let pattern = line.split_whitespace().nth(1).unwrap().to_owned();
    up.explained();
    for node in NODES {
        let is_answered =
            || up.evenkeel(&["curl", "--from", node, "http://payments.shop"]).code == 0;
        wait("the proxy has its rules", is_answered);
    }
    (up, pattern)
}

fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// By Node, connections opened and accepted.
fn opens(pattern: &str) -> BTreeMap<&'static str, [u64; 2]> {
    let of_node = |node: &'static str| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &pattern.replace("NODE", node), "cat", "/proc/net/snmp"]);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let tcp: Vec<&str> = text.lines().filter(|line| line.starts_with("Tcp:")).collect();
        let column = |name: &str| {
            let position = tcp[0].split_whitespace().position(|column| column == name).unwrap();
            tcp[1].split_whitespace().nth(position).unwrap().parse().unwrap()
        };
        (node, [column("ActiveOpens"), column("PassiveOpens")])
    };
    NODES.into_iter().map(of_node).collect()
}

/// Nodes of zone-a: whether all have an outage, and whether all are ready without one.
fn zone_a(up: &Up) -> (bool, bool) {
    let nodes = up.get(&["nodes", "-l", "topology.kubernetes.io/zone=zone-a"]);
    let nodes = nodes["items"].as_array().unwrap();
    let is_out = |node: &Value| node["metadata"]["annotations"][OUTAGE].is_string();
    let is_ready = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array().unwrap();
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    assert_eq!(nodes.len(), 2);
    (nodes.iter().all(is_out), nodes.iter().all(|node| is_ready(node) && !is_out(node)))
}

/// All Pods in zone-a of a Service answer a Node of another zone.
fn zone_a_answers(up: &Up) -> bool {
    let pods = up.get(&["pods", "-n", "shop", "-l", "app=web"]);
    let in_zone = |pod: &&Value| pod["spec"]["nodeName"].as_str().unwrap().starts_with("node-a");
    let pods: Vec<&Value> = pods["items"].as_array().unwrap().iter().filter(in_zone).collect();
    assert!(!pods.is_empty());
    pods.iter().all(|pod| {
        let url = format!("http://{}:8080", pod["status"]["podIP"].as_str().unwrap());
        up.evenkeel(&["curl", "--from", "node-c1", &url, "--timeout", "1s"]).code == 0
    })
}

/// A drill in the background, killed if it is dropped.
struct Running(Child);

impl Running {
    fn start(up: &Up, args: &[&str]) -> Running {
        let mut command = evenkeel(&[&["drill", "--lose", "zone-a", "-o", "json"], args].concat());
        command.env("KUBECONFIG", &up.kubeconfig).stdin(Stdio::null());
        let running =
            Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        wait("the zone is lost", || zone_a(up).0);
        running
    }

    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    fn ended(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = self.0.wait().unwrap().code().unwrap_or(-1);
        Ran { code, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// What `plan` says of a Service with zone-a lost.
fn planned(up: &Up, service: &str) -> Value {
    let plan = json(&up.evenkeel(&["plan", service, "-n", "shop", "-o", "json"]));
    let forecasts = &plan["services"][0];
    let mut policies = forecasts["policies"].as_array().unwrap().iter();
    let current = policies.find(|one| one["policy"] == forecasts["current"]).unwrap();
    let mut lost = current["zoneLost"].as_array().unwrap().iter();
    lost.find(|one| one["zone"] == "zone-a").unwrap().clone()
}

#[test]
fn its_figures_are_those_of_the_kernel_and_of_plan_and_the_zone_is_restored() {
    let (up, pattern) = start("12s");
    let planned = ["payments", "web"].map(|service| planned(&up, service));
    let file = folder("drill.html");
    let before = opens(&pattern);
    let ran = up.evenkeel(&[
        "drill",
        "--lose",
        "zone-a",
        "--for",
        "16s",
        "--rate",
        "60",
        "--service",
        "shop/web",
        "--service",
        "shop/payments",
        "-o",
        "json",
        "--fail-under",
        "100",
        "--report",
        file.to_str().unwrap(),
    ]);
    let after = opens(&pattern);
    let report = json(&ran);
    assert_eq!(ran.code, 1, "some requests failed, which --fail-under 100 reports: {}", ran.err);
    let opened = |node: &str, side: usize| after[node][side] - before[node][side];

    assert_eq!(report["clients"].as_array().unwrap().len(), 4);
    // The first Node also asks whether the zone is back.
    for client in &report["clients"].as_array().unwrap()[1..] {
        let node = client["node"].as_str().unwrap();
        assert!(count(&client["requests"]) > 20, "{node}: {report:#}");
        assert_eq!(count(&client["requests"]), opened(node, 0), "sent by {node}: {report:#}");
    }
    // What connected and was not answered in time was accepted, too.
    let broken: u64 = report["failures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["problem"] != "timed out" && one["problem"] != "address unreachable")
        .map(|one| count(&one["requests"]))
        .sum();
    let broken = broken + count(&report["before"]["failed"]) + count(&report["after"]["failed"]);
    let mut answered: BTreeMap<&str, u64> = BTreeMap::new();
    for service in report["services"].as_array().unwrap() {
        for one in service["load"]["endpoints"].as_array().unwrap() {
            *answered.entry(one["node"].as_str().unwrap()).or_default() += count(&one["total"]);
        }
    }
    for node in &NODES[2..] {
        let (answered, accepted) = (answered.get(node).copied().unwrap_or(0), opened(node, 1));
        assert!(
            (answered..=answered + broken).contains(&accepted),
            "{node} accepted {accepted}: {report:#}"
        );
    }

    let [payments, web] = [&report["services"][0], &report["services"][1]];
    for (service, planned) in [payments, web].into_iter().zip(planned) {
        for figure in ["maxLoad", "inZoneShare", "unservedShare"] {
            assert_eq!(service["forecast"][figure], planned[figure], "{figure} of {service:#}");
        }
        assert!(service["convergedSeconds"].as_f64().unwrap() < 16.0, "{service:#}");
        for one in service["load"]["endpoints"].as_array().unwrap() {
            assert!(one["zone"] != "zone-a" || one["answered"] == 0, "{one}");
        }
    }
    // Without a policy it has one endpoint in each zone, and a third of its requests went to zone-a.
    assert!(count(&payments["outage"]["failed"]) > 0, "{payments:#}");
    let load = payments["load"]["maxLoad"].as_f64().unwrap();
    assert!((load - payments["forecast"]["maxLoad"].as_f64().unwrap()).abs() < 0.6, "{payments:#}");

    assert!(report["backSeconds"].as_f64().unwrap() < 30.0, "{report:#}");
    assert!(zone_a(&up).1 && zone_a_answers(&up));
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("<svg") && page.contains("zone-a lost for 16 s"), "{page}");
    fs::remove_file(file).unwrap();
    let (code, errors) = up.stop("-TERM");
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn the_zone_is_restored_after_signals() {
    let (up, _) = start("2s");
    for signal in ["-INT", "-TERM"] {
        let drill = Running::start(&up, &["--for", "60s"]);
        wait("Nodes are not ready, and do not answer", || !zone_a_answers(&up));
        let second = up.evenkeel(&["drill", "--lose", "zone-b", "--for", "1s"]);
        assert_eq!((second.code, second.out.as_str()), (1, ""), "{}", second.err);
        assert!(second.err.contains("another drill is running"), "{}", second.err);
        drill.signal(signal);
        let ran = drill.ended();
        assert_eq!(ran.code, 0, "{}", ran.err);
        let report = json(&ran);
        assert_eq!(report["interrupted"], true);
        assert!(report["backSeconds"].is_number(), "{report:#}");
        assert!(zone_a(&up).1 && zone_a_answers(&up));
    }
    assert_eq!(up.stop("-TERM").0, Some(0));
}

#[test]
fn the_zone_comes_back_after_a_killed_drill_by_itself_and_at_the_next_one() {
    let (up, _) = start("2s");
    let drill = Running::start(&up, &["--for", "60s"]);
    drill.signal("-KILL");
    assert_eq!(drill.ended().code, -1);
    assert!(!zone_a(&up).1, "it was killed in the outage");
    wait("the outage ends by itself", || zone_a(&up).1);
    wait("the network is back", || zone_a_answers(&up));

    let drill = Running::start(&up, &["--for", "60s"]);
    drill.signal("-KILL");
    drill.ended();
    let next = up.evenkeel(&["drill", "--lose", "zone-a", "--for", "1s", "-o", "json"]);
    assert_eq!(next.code, 0, "{}", next.err);
    assert!(next.err.contains("a drill was killed: restoring its zone first"), "{}", next.err);
    assert!(json(&next)["backSeconds"].is_number() && zone_a_answers(&up));
    assert_eq!(up.stop("-TERM").0, Some(0));
}

#[test]
fn an_outage_left_in_the_data_is_over_at_the_next_start() {
    let data = folder("drill-data");
    let up = Up::in_folder(&data, &[]);
    let annotation = format!("{OUTAGE}=2020-01-01T00:00:00Z");
    let ran =
        up.kubectl(&["annotate", "node", "-l", "topology.kubernetes.io/zone=zone-a", &annotation]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    drop(up);
    let up = Up::in_folder(&data, &[]);
    wait("the outage is over", || zone_a(&up).1);
    assert_eq!(up.stop("-TERM").0, Some(0));
    fs::remove_dir_all(data).unwrap();
}

#[test]
fn without_proxies_it_forecasts_and_changes_nothing() {
    let mut up = Up::start(&["--ephemeral"]);
    up.explained();
    for args in [&[][..], &["--dry-run"]] {
        let ran = up.evenkeel(&[&["drill", "--lose", "zone-a", "-o", "json"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let forecast = json(&ran);
        assert_eq!(forecast["measured"], false);
        assert_eq!(forecast["nodes"], serde_json::json!(["node-a1", "node-a2"]));
        let services = forecast["services"].as_array().unwrap();
        let payments = services.iter().find(|one| one["service"] == "payments").unwrap();
        assert_eq!(payments["forecast"]["maxLoad"], planned(&up, "payments")["maxLoad"]);
    }
    assert!(zone_a(&up).1);
    for (zone, part) in [("zone-x", "there are: zone-a, zone-b, zone-c"), ("", "zone")] {
        let ran = up.evenkeel(&["drill", "--lose", zone]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    assert_eq!(up.stop("-TERM").0, Some(0));
}
