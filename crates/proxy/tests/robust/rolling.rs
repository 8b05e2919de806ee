//! New connections all the time, to a Service whose endpoints change all the time: none fails.

use std::time::{Duration, Instant};

use evenkeel_testkit::netns::{Load, Port, Protocol};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    objects::{State, endpoints, service, slice},
    proxy::Proxy,
    world::{Backend, PORT, World, syn_retries},
};

/// Roll-overs are waited for no longer.
const LONGEST: Duration = Duration::from_secs(30);

/// How long an endpoint is served after it was announced as about to go.
const DRAIN: Duration = Duration::from_millis(250);

/// Between two changes.
const TICK: Duration = Duration::from_millis(8);

/// Shares in the zone of the clients.
const SHARES: &str = r#"{"zone-a":{"zone-a":500,"zone-b":250,"zone-c":250}}"#;
const OTHER_SHARES: &str = r#"{"zone-a":{"zone-a":370,"zone-b":420,"zone-c":210}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_endpoints_roll_over() {
    let world = World::start("rolling").await;
    let backends = world.backends(8);
    world.service(service("web", "10.96.1.1", &json!({}))).await;
    world.slice(slice("web", "web-1", all(&backends))).await;
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::start(&world.client, a1).await;
    let load = a1.load(Protocol::Http, "10.96.1.1:80".parse().unwrap(), 1_500);
    let reached = roll(&world, backends, load, Duration::from_secs(8), |_| json!({})).await;
    assert_eq!(reached, 8);
    assert_eq!(proxy.metric("kubeproxy_sync_proxy_rules_nftables_sync_failures_total").await, 0.0);
    proxy.stop().await;
}

/// From a Pod, with shares that change as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_endpoints_and_shares_change() {
    let world = World::start("shares").await;
    let backends = world.backends(8);
    world.service(service("web", "10.96.1.1", &json!({}))).await;
    let shares = |text: &str| json!({"annotations": {"evenkeel.dev/zone-shares": text}});
    let mut first = slice("web", "web-1", all(&backends));
    first["metadata"]["annotations"] = shares(SHARES)["annotations"].clone();
    world.slice(first).await;
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::start(&world.client, a1).await;
    let client = a1.pod("client");
    let load = client.load(Protocol::Http, "10.96.1.1:80".parse().unwrap(), 1_000);
    let metadata = |n: usize| shares(if (n / 4).is_multiple_of(2) { SHARES } else { OTHER_SHARES });
    let reached = roll(&world, backends, load, Duration::from_secs(3), metadata).await;
    assert_eq!(reached, 8);
    proxy.stop().await;
}

/// The client is sent elsewhere each time that its endpoint goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_endpoints_of_a_sticky_service_roll_over() {
    let world = World::start("sticky").await;
    let backends = world.backends(8);
    let config = json!({"clientIP": {"timeoutSeconds": 600}});
    let spec = json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": config});
    world.service(service("web", "10.96.1.1", &spec)).await;
    world.slice(slice("web", "web-1", all(&backends))).await;
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::start(&world.client, a1).await;
    let load = a1.load(Protocol::Http, "10.96.1.1:80".parse().unwrap(), 1_000);
    let reached = roll(&world, backends, load, Duration::from_secs(3), |_| json!({})).await;
    assert!(reached >= 2, "it stays with one");
    proxy.stop().await;
}

fn all(backends: &[Backend]) -> impl Iterator<Item = (&evenkeel_testkit::netns::Pod, State)> {
    backends.iter().map(|backend| (&backend.pod, State::Ready))
}

/// The first half of the endpoints roll over: drained, stopped, gone, and back. The others come and go
/// with each tick; they are served all the time, so that only lost packets can fail. Returns how many
/// Pods were reached.
async fn roll(
    world: &World,
    mut backends: Vec<Backend>,
    load: Load,
    time: Duration,
    metadata: impl Fn(usize) -> Value,
) -> usize {
    let a1 = world.network.host("node-a1");
    let (begun, before) = (Instant::now(), syn_retries(a1));
    let half = backends.len() / 2;
    let mut rolled = (0, Instant::now());
    let mut states = vec![State::Ready; backends.len()];
    let mut changes = 0;
    // On a slow machine roll-overs take longer; there must be some.
    while begun.elapsed() < time || (rolled.0 < 4 && begun.elapsed() < LONGEST) {
        changes += 1;
        let at = half + changes % half;
        states[at] = match states[at] {
            State::Ready if changes % 3 == 0 => State::Draining,
            State::Ready => State::Gone,
            State::Draining | State::Gone => State::Ready,
        };
        let at = rolled.0 % half;
        match states[at] {
            State::Ready => (states[at], rolled.1) = (State::Draining, Instant::now()),
            State::Draining if rolled.1.elapsed() > DRAIN => {
                backends[at].server = None;
                states[at] = State::Gone;
            }
            State::Draining => {}
            State::Gone => {
                backends[at].server = Some(backends[at].pod.serve(&[Port::Http(PORT)]));
                (states[at], rolled.0) = (State::Ready, rolled.0 + 1);
            }
        }
        let pods = backends.iter().map(|backend| &backend.pod).zip(states.iter().copied());
        let change = json!({"metadata": metadata(changes), "endpoints": endpoints(pods)});
        world.patch_slice("web-1", &change).await;
        sleep(TICK).await;
    }
    let took = begun.elapsed();
    let tally = load.stop();
    let (n, per_second) = (tally.answers.len(), tally.answers.len() as f64 / took.as_secs_f64());
    let retries = syn_retries(a1) - before;
    println!(
        "{changes} changes, {} roll-overs, {n} requests, {per_second:.0}/s, {retries} SYNs sent again, {} failed",
        rolled.0,
        tally.failures.len()
    );
    assert_eq!(tally.failures, [], "of {n}");
    assert!(rolled.0 >= 4 && changes > 50, "{} roll-overs, {changes} changes", rolled.0);
    tally.by_pod().len()
}
