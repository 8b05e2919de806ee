//! An API server that is away for a while.

use std::time::Duration;

use evenkeel_controller::WatchSettings;
use evenkeel_k8s::live::{Timeouts, long_lived};

use crate::cluster::{Cluster, Controller};

/// Issue 12: it was red for a minute and a half, until nothing had failed for so long.
#[tokio::test(flavor = "multi_thread")]
async fn readyz_recovers_within_5s_of_the_end_of_an_outage() {
    let mut cluster = Cluster::start("outage").await;
    let client = long_lived(cluster.config().await, &Timeouts::default()).unwrap();
    let controller = Controller::start(client, None, WatchSettings::default()).await;
    cluster.endpoints(1).await;
    controller.readyz(200).await;

    cluster.stop().await;
    let (took, said) = controller.readyz(500).await;
    assert!(took < Duration::from_secs(3), "red after {took:?}: {said}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    cluster.serve().await;
    let (took, said) = controller.readyz(200).await;
    assert!(took < Duration::from_secs(5), "green after {took:?}: {said}");
    cluster.pod(2).await;
    cluster.endpoints(2).await;
    controller.stop().await;
    cluster.stop().await;
}
