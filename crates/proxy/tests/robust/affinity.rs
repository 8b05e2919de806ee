//! Session affinity when there is no room for another client.

use std::fmt::Write as _;

use evenkeel_nft::MOST_AFFINITIES;
use serde_json::json;

use crate::{
    objects::{State, service, slice},
    proxy::Proxy,
    world::World,
};

/// Clients that are known stay where they are; others are served without affinity.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_room_for_affinity_are_served_nevertheless() {
    let world = World::start("affinity").await;
    let backends = world.backends(3);
    let spec = json!({"sessionAffinity": "ClientIP"});
    world.service(service("web", "10.96.1.1", &spec)).await;
    let pods = backends.iter().map(|backend| (&backend.pod, State::Ready));
    world.slice(slice("web", "web-1", pods)).await;
    let (a1, to) = (world.network.host("node-a1"), "10.96.1.1:80".parse().unwrap());
    // Only shared tables can be filled from here.
    let proxy = Proxy::with(&world.client, a1, |settings| settings.own = false).await.unwrap();
    let (known, new) = (a1.pod("known"), a1.pod("new"));
    assert_eq!(known.http_many(to, 30).by_pod().len(), 1);
    let first = known.http(to).unwrap().pod;
    a1.nft(&full());
    let tally = known.http_many(to, 30);
    assert_eq!((tally.by_pod().get(&*first), tally.failures.len()), (Some(&30), 0));
    let tally = new.http_many(to, 60);
    assert_eq!(tally.failures, []);
    assert_eq!(tally.by_pod().len(), 3, "without affinity: {:?}", tally.by_pod());
    proxy.stop().await;
}

/// One client is known already.
fn full() -> String {
    let mut text = "add element ip evenkeel affinity {\n".to_owned();
    for n in 1..MOST_AFFINITIES {
        let [_, a, b, c] = n.to_be_bytes();
        let _ = writeln!(text, "11.{a}.{b}.{c} . 10.96.1.1 . tcp . 80 timeout 1h : 1,");
    }
    text + "}\n"
}
