//! Without the API server the last rules serve; without the proxy too, until they are removed.

use evenkeel_nft::Config;
use evenkeel_proxy::{Error, NetworkNamespace, clean_up};
use evenkeel_testkit::netns::{Failure, Protocol};
use serde_json::json;

use crate::{
    foreign::web,
    objects::{State, endpoints},
    proxy::{Proxy, elements, generation},
    world::until,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_rules_serve_while_the_api_server_is_away() {
    let (mut world, backends) = web("away").await;
    let to = "10.96.1.1:80".parse().unwrap();
    let netns = world.network.host("node-a1").netns().to_owned();
    let proxy = Proxy::start(&world.client, world.network.host("node-a1")).await;
    let load = world.network.host("node-a1").load(Protocol::Http, to, 300);
    world.stop_api().await;
    let readyz = async || proxy.get("/readyz").await;
    until("it says that the API server is away", async || readyz().await.contains(" 500 ")).await;
    let (healthz, livez) = (proxy.get("/healthz").await, proxy.get("/livez").await);
    assert!(healthz.contains(" 200 ") && livez.contains(" 200 "), "{healthz} {livez}");
    load.wait_for(200);
    world.start_api().await;
    let pods = [(&backends[0].pod, State::Ready), (&backends[1].pod, State::Gone)];
    world.patch_slice("web-1", &json!({"endpoints": endpoints(pods)})).await;
    let a1 = world.network.host("node-a1");
    let took = until("changes follow", async || a1.http_many(to, 20).by_pod().len() == 1).await;
    println!("changes followed {took:?} after the API server was back");
    until("it is ready again", async || readyz().await.contains(" 200 ")).await;
    let tally = load.stop();
    assert_eq!(tally.failures, [], "of {}", tally.answers.len());
    assert_eq!(a1.netns(), netns);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_stay_after_a_stop_until_they_are_removed() {
    let (world, _backends) = web("stop").await;
    let (a1, to) = (world.network.host("node-a1"), "10.96.1.1:80".parse().unwrap());
    let namespace = NetworkNamespace::named(a1.netns()).unwrap();
    let remove = || clean_up(Some(&namespace), &Config::default(), false);
    let proxy = Proxy::start(&world.client, a1).await;
    let refused = remove();
    assert!(matches!(refused, Err(Error::OwnedTable { .. })), "{refused:?}");
    let load = a1.load(Protocol::Http, to, 300);
    proxy.stop().await;
    load.wait_for(50);

    // Started again without changes: ownership is taken, in each family, and nothing else.
    let before = (elements(a1), generation(a1));
    let proxy = Proxy::start(&world.client, a1).await;
    load.wait_for(50);
    assert_eq!(proxy.metric("evenkeel_proxy_commits_total").await, 0.0);
    assert_eq!(elements(a1), before.0);
    assert_eq!(generation(a1), before.1 + 2);
    proxy.stop().await;
    let tally = load.stop();
    assert_eq!(tally.failures, [], "of {}", tally.answers.len());

    assert_eq!(remove().unwrap().len(), 2);
    assert_eq!(remove().unwrap().len(), 0);
    let lost = a1.client().timeout(std::time::Duration::from_millis(200)).http(to);
    assert_eq!(lost, Err(Failure::TimedOut));
}
