//! A proxy that starts while the API server is away waits for it. It must not end: it would be started
//! again after ever longer pauses, on a node that may have no rules at all.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_waits_for_the_api_server() {
    let mut world = World::start("away").await;
    world.service("web", "10.96.1.1", json!({}), None).await;
    world.stop_api();
    let mut proxy = world.proxy(&[]);
    sleep(Duration::from_millis(700)).await;
    assert!(proxy.process.is_running(), "{}", world.log());
    world.start_api();
    proxy.ready();
    assert_eq!(world.a1().http_many("10.96.1.1:80".parse().unwrap(), 20).failures, []);
    assert_eq!(proxy.process.stop(), Some(0), "{}", world.log());
}
