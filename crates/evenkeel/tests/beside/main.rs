//! `evenkeel proxy` beside a real kube-proxy, under traffic.
//!
//! It runs only where `EVENKEEL_TEST_KUBE_PROXY` names the binary of kube-proxy; otherwise it says that
//! it did not run. Needs root, and the commands `ip`, `nft` and `kubectl`; kube-proxy's iptables mode is
//! tried where `iptables` is installed.
//!
//! 1. In each mode: kube-proxy serves, ours is started beside it, kube-proxy is stopped and its rules
//!    are removed; then the same the other way round. No connection fails.
//! 2. A Service with the label `service.kubernetes.io/service-proxy-name` is ours, the others are
//!    kube-proxy's, at the same time.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod node;
#[path = "../proxy/process.rs"]
#[expect(dead_code, reason = "the other test binary needs more of it")]
mod process;

use std::{
    env,
    io::Write as _,
    process::{Command, Stdio},
    time::Duration,
};

use evenkeel_testkit::netns::{Client, Load, Protocol, Tally};

use crate::node::{KubeProxy, NODE, Node};

const KUBE_PROXY: &str = "EVENKEEL_TEST_KUBE_PROXY";

/// New connections a second, from the node and from a Pod each.
const RATE: u32 = 300;

fn main() {
    let Ok(binary) = env::var(KUBE_PROXY) else {
        say(&format!("not run: set {KUBE_PROXY} to the binary of kube-proxy"));
        return;
    };
    hand_over(&binary, "nftables");
    let has = |name: &str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    match has("iptables") && has("iptables-save") {
        true => hand_over(&binary, "iptables"),
        false => say("not run: hand-over in iptables mode, for iptables is not installed"),
    }
    side_by_side(&binary);
    say("all phases passed");
}

/// kube-proxy → ours → kube-proxy.
fn hand_over(binary: &str, mode: &str) {
    let node = Node::start(&format!("hand-over-{mode}"));
    node.service("web", "10.96.1.1", "");
    let to = "10.96.1.1:80".parse().unwrap();
    let place = node.network.host(NODE);
    let kube_proxy = KubeProxy::start(&node, binary, mode);
    node.until_served(to);
    let pod = place.pod("client");
    let loads = [place.client(), pod.client()].map(|client| start(&client, to));
    let rest = || std::thread::sleep(Duration::from_millis(700));
    rest();

    let ours = node.proxy(&[]);
    rest();
    kube_proxy.stop();
    rest();
    KubeProxy::clean_up(&node, binary, mode, "10.96.1.1");
    rest();

    let mut kube_proxy = KubeProxy::start(&node, binary, mode);
    kube_proxy.wait(&node, "10.96.1.1");
    rest();
    assert_eq!(ours.stop(), Some(0));
    rest();
    node.evenkeel(&["proxy", "cleanup"]);
    rest();
    let tallies = loads.map(Load::stop);
    kube_proxy.stop();
    let n: usize = tallies.iter().map(|tally| tally.answers.len()).sum();
    let failed: Vec<_> = tallies.iter().flat_map(|tally: &Tally| &tally.failures).collect();
    say(&format!("{mode}: {n} connections during both hand-overs, {} failed", failed.len()));
    assert!(failed.is_empty(), "{failed:?}");
}

fn start(client: &Client, to: std::net::SocketAddr) -> Load {
    client.load(Protocol::Http, to, RATE)
}

fn side_by_side(binary: &str) {
    let node = Node::start("side-by-side");
    node.service("web", "10.96.1.1", "");
    node.service(
        "mine",
        "10.96.1.2",
        "labels: {service.kubernetes.io/service-proxy-name: evenkeel}",
    );
    let kube_proxy = KubeProxy::start(&node, binary, "nftables");
    let (web, mine) = ("10.96.1.1:80".parse().unwrap(), "10.96.1.2:80".parse().unwrap());
    node.until_served(web);
    let place = node.network.host(NODE);
    let unserved = place.client().timeout(Duration::from_millis(200)).http(mine);
    assert!(unserved.is_err(), "kube-proxy leaves it alone: {unserved:?}");
    let ours = node.proxy(&["--service-proxy-name=evenkeel"]);
    let loads = [web, mine].map(|to| start(&place.client(), to));
    std::thread::sleep(Duration::from_secs(1));
    let tallies = loads.map(Load::stop);
    let counts: Vec<_> =
        tallies.iter().map(|tally| (tally.answers.len(), tally.failures.len())).collect();
    say(&format!("side by side: kube-proxy's and ours (answered, failed): {counts:?}"));
    assert!(counts.iter().all(|(answered, failed)| *answered > 50 && *failed == 0));
    let rules = place.command("nft").args(["list", "table", "ip", "evenkeel"]).output().unwrap();
    let rules = String::from_utf8(rules.stdout).unwrap();
    assert!(rules.contains("10.96.1.2") && !rules.contains("10.96.1.1"), "{rules}");
    assert_eq!(ours.stop(), Some(0));
    kube_proxy.stop();
}

fn say(line: &str) {
    let mut out = std::io::stderr();
    writeln!(out, "beside: {line}").unwrap();
}
