//! Connections that a middlebox has forgotten: nobody closes them and nothing comes through.

use std::time::Duration;

use evenkeel_admin::lease;
use evenkeel_controller::WatchSettings;
use evenkeel_k8s::live::{Timeouts, long_lived};

use crate::{
    cluster::{Cluster, Controller},
    proxy::{Proxy, Stall},
};

/// What is asked for with the limits below, with time to spare for a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// A dead watch is noticed after two seconds; that of the default limits is in their own tests.
const WATCHES: WatchSettings = WatchSettings {
    timeout_seconds: 1,
    grace: Duration::from_secs(1),
    open: Duration::from_secs(1),
    list: Duration::from_secs(2),
};

fn timeouts() -> Timeouts {
    Timeouts { read: Duration::from_secs(3), ..Timeouts::default() }
}

/// Issue 12: slices stood still for 295 s, and `/readyz` was green all the while.
async fn check(test: &str, stall: Stall, election: Option<lease::Settings>) {
    let mut cluster = Cluster::start(test).await;
    let proxy = Proxy::start(cluster.address).await;
    let mut config = cluster.config().await;
    config.cluster_url = format!("https://{}", proxy.address).parse().unwrap();
    let client = long_lived(config, &timeouts()).unwrap();
    let controller = Controller::start(client, election, WATCHES).await;
    cluster.endpoints(1).await;
    controller.readyz(200).await;

    proxy.forget(stall);
    cluster.pod(2).await;
    let (took, said) = controller.readyz(500).await;
    assert!(took < SOON, "red after {took:?}: {said}");
    let (_, why) = controller.answers("/readyz/watch-pods", 500).await;
    assert!(why.contains("watch of pods has been down for "), "{why}");
    proxy.open();
    let took = cluster.endpoints(2).await;
    assert!(took < SOON, "2 endpoints after {took:?}");
    let (took, said) = controller.readyz(200).await;
    assert!(took < SOON, "green after {took:?}: {said}");
    controller.stop().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_whose_bytes_go_nowhere_are_given_up() {
    check("swallow", Stall::Swallow, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_reads_are_given_up() {
    check("deaf", Stall::Deaf, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_gets_over_forgotten_connections_too() {
    let election = lease::Settings {
        duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry: Duration::from_millis(500),
        ..lease::Settings::new("default", "leader", "me")
    };
    check("leader", Stall::Swallow, Some(election)).await;
}
