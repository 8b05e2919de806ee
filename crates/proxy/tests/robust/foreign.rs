//! Other programs that change nftables: refused where tables are owned, else repaired within a second.

use std::time::{Duration, Instant};

use evenkeel_proxy::Error;
use evenkeel_testkit::netns::{Host, Protocol};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    objects::{State, endpoints, service, slice},
    proxy::{Proxy, elements, generation},
    world::{Backend, World, until},
};

/// What others may do to the table, as lines of `nft`.
const EDITS: [&str; 9] = [
    "flush ruleset",
    "delete table ip evenkeel",
    "delete element ip evenkeel services { 10.96.1.1 . tcp . 80 }",
    "flush map ip evenkeel endpoints",
    "add element ip evenkeel cluster-ips { 10.96.200.1 }",
    "insert rule ip evenkeel nodeports accept",
    "flush chain ip evenkeel services",
    "add chain ip evenkeel other",
    "delete table ip6 evenkeel",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_cannot_change_owned_tables() {
    let (world, _backends) = web("owned").await;
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::start(&world.client, a1).await;
    let before = listed(a1);
    let load = a1.load(Protocol::Http, "10.96.1.1:80".parse().unwrap(), 300);
    for edit in EDITS {
        let done = nft(a1, edit);
        // It removes what it may.
        let is_refused = done.is_err_and(|problem| problem.contains("Operation not permitted"));
        assert_eq!(is_refused, edit != "flush ruleset", "{edit}");
        load.wait_for(30);
        assert_eq!(listed(a1), before, "{edit}");
    }
    let tally = load.stop();
    assert_eq!(tally.failures, [], "of {}", tally.answers.len());
    assert_eq!(proxy.metric("evenkeel_proxy_rules_restored_total").await, 0.0);
    proxy.stop().await;
}

/// What happens in between may be lost; what comes after is not, nor are connections that exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_shared_tables_are_repaired_within_a_second() {
    let (world, _backends) = web("shared").await;
    let (a1, to) = (world.network.host("node-a1"), "10.96.1.1:80".parse().unwrap());
    let proxy = Proxy::with(&world.client, a1, |settings| settings.own = false).await.unwrap();
    let before = listed(a1);
    let mut open = a1.flow(Protocol::Http, to).unwrap();
    open.ask().unwrap();
    let load = a1.client().timeout(Duration::from_millis(300)).load(Protocol::Http, to, 300);
    let mut slowest = Duration::ZERO;
    for (nth, edit) in EDITS.iter().enumerate() {
        nft(a1, edit).unwrap();
        let repaired = async || {
            (proxy.metric("evenkeel_proxy_rules_restored_total").await >= (nth + 1) as f64)
                && listed(a1) == before
        };
        let took = until(&format!("{edit} is undone"), repaired).await;
        slowest = slowest.max(took);
        assert!(took < Duration::from_secs(1), "{edit}: undone after {took:?}");
        let after = a1.http_many(to, 20);
        assert_eq!(after.failures, [], "after {edit}");
        open.ask().unwrap_or_else(|error| panic!("{edit} broke a connection: {error}"));
    }
    let tally = load.stop();
    println!(
        "undone within {slowest:?}; {} answered, {} lost meanwhile",
        tally.answers.len(),
        tally.failures.len()
    );
    proxy.stop().await;
}

/// A commit of ours right after one of others' must not hide it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_shared_tables_are_seen_among_own_commits() {
    let (world, backends) = web("among").await;
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::with(&world.client, a1, |settings| settings.own = false).await.unwrap();
    for round in 0..3 {
        let begun = Instant::now();
        let before = proxy.metric("evenkeel_proxy_rules_restored_total").await;
        nft(a1, "add element ip evenkeel cluster-ips { 10.96.200.1 }").unwrap();
        // Own commits, faster than the proxy looks at its tables.
        for n in 0..60 {
            let state = if n % 2 == 0 { State::Gone } else { State::Ready };
            let pods = [(&backends[0].pod, State::Ready), (&backends[1].pod, state)];
            world.patch_slice("web-1", &json!({"endpoints": endpoints(pods)})).await;
            sleep(Duration::from_millis(5)).await;
        }
        until("the edit is undone", async || {
            assert!(begun.elapsed() < Duration::from_secs(5), "round {round}: it stays");
            let restored = proxy.metric("evenkeel_proxy_rules_restored_total").await;
            restored > before && !listed(a1).contains("10.96.200.1")
        })
        .await;
    }
    proxy.stop().await;
}

/// Others' tables are none of our business. On the way, owned tables become shared ones and are owned
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_other_tables_cost_nothing() {
    let (world, _backends) = web("others").await;
    let a1 = world.network.host("node-a1");
    for own in [true, false, true] {
        let proxy = Proxy::with(&world.client, a1, |settings| settings.own = own).await.unwrap();
        nft(a1, "add table ip other").unwrap();
        assert_eq!(a1.http_many("10.96.1.1:80".parse().unwrap(), 10).failures, []);
        let before = generation(a1);
        sleep(Duration::from_millis(700)).await;
        assert_eq!(generation(a1), before);
        assert_eq!(proxy.metric("evenkeel_proxy_rules_restored_total").await, 0.0);
        nft(a1, "delete table ip other").unwrap();
        let edit = nft(a1, "add chain ip evenkeel other");
        assert_eq!(edit.is_err(), own, "{edit:?}");
        proxy.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_somebody_else_is_taken_only_on_request() {
    let (world, _backends) = web("taken").await;
    let a1 = world.network.host("node-a1");
    let theirs = "table ip evenkeel { chain theirs { ip daddr 192.0.2.1 drop; }; }";
    nft(a1, theirs).unwrap();
    let before = listed(a1);
    let refused = Proxy::with(&world.client, a1, |_| ()).await.err();
    assert!(matches!(refused, Some(Error::ForeignTable { .. })), "{refused:?}");
    assert_eq!(listed(a1), before, "nothing of it is changed");
    let proxy = Proxy::with(&world.client, a1, |settings| settings.adopt = true).await.unwrap();
    assert_eq!(a1.http_many("10.96.1.1:80".parse().unwrap(), 10).failures, []);
    assert!(!listed(a1).contains("theirs"));
    // Another proxy for the same table is refused, whatever it asks for.
    let second = Proxy::with(&world.client, a1, |settings| settings.adopt = true).await.err();
    assert!(matches!(second, Some(Error::OwnedTable { .. })), "{second:?}");
    let before = elements(a1);
    proxy.stop().await;
    assert_eq!(elements(a1), before, "rules stay");
}

/// A Service `web` at 10.96.1.1:80 with two Pods.
pub(crate) async fn web(test: &str) -> (World, Vec<Backend>) {
    let world = World::start(test).await;
    let backends = world.backends(2);
    world.service(service("web", "10.96.1.1", &json!({}))).await;
    let pods = backends.iter().map(|backend| (&backend.pod, State::Ready));
    world.slice(slice("web", "web-1", pods)).await;
    (world, backends)
}

/// The lines of both tables, without handles and counters. Chains have no order.
pub(crate) fn listed(host: &Host) -> String {
    let of = |family| nft(host, &format!("list table {family} evenkeel")).unwrap_or_default();
    let text = of("ip") + &of("ip6");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn nft(host: &Host, line: &str) -> Result<String, String> {
    let output = host.command("nft").args(["-s", "-n", line]).output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
