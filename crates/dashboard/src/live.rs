//! The cluster as it is now.
//!
//! Watches say that something changed; then everything is read and computed anew, so that pages show
//! exactly what `evenkeel explain` would. Changes that come together are read together. A large
//! cluster is not read without pause ([`pause`]), and none while nobody looks.
//!
//! ```text
//!   watches ──► changed? ──► somebody looks? ──► read, compute ──► Feed ──► pages, event streams
//!      ▲                                              │ pause: three times as long as it took
//!      └──────────────────────────────────────────────┘
//! ```

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::{
    live::{self, Scope},
    snapshot,
    watch::{self, Conditions, Hooks, Received, Selector, Selectors, WatchSettings},
};
use evenkeel_topology::Server;
use kube::Client;
use tokio::{
    sync::{mpsc, watch as latest},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    feed::{Feed, Feeds, Shown},
    view::Cluster,
};

/// Changes that come within this time are read together.
const TOGETHER: Duration = Duration::from_millis(15);

/// Of the time, at most a quarter is spent with reading.
const PAUSE_FACTOR: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What no watch tells, as reports of proxies and Events, is read this often.
const REFRESH: Duration = Duration::from_secs(15);

/// Follows the cluster until it is dropped.
pub(crate) async fn follow(client: Client, feeds: Arc<Feeds>) {
    let all = Some(Selector::all());
    let selectors = Selectors {
        nodes: all.clone(),
        pods: all.clone(),
        services: all.clone(),
        endpoint_slices: all,
        ..Selectors::default()
    };
    let settings = WatchSettings::default();
    let conditions = Arc::new(Conditions::new(&selectors, &settings, Instant::now()));
    let hooks = Hooks { conditions, counters: Arc::new(()), address: None };
    let (batches, tasks) = watch::prepare(&client, &selectors, &settings, &hooks);
    let (changed, changes) = latest::channel(0);
    let mut running = JoinSet::new();
    for task in tasks {
        running.spawn(async move { task.run().await });
    }
    running.spawn(count(batches, changed));
    read_changes(&client, &feeds.cluster, changes).await;
}

/// Counts changes. Taking a batch never waits for a read, so that watches go on.
async fn count(mut batches: mpsc::Receiver<Received>, changed: latest::Sender<u64>) {
    while batches.recv().await.is_some() {
        changed.send_modify(|n| *n += 1);
    }
}

async fn read_changes(client: &Client, feed: &Feed<Shown>, mut changes: latest::Receiver<u64>) {
    let mut server = None;
    loop {
        feed.somebody_looks().await;
        changes.mark_unchanged();
        let started = Instant::now();
        if server.is_none() {
            server = client.apiserver_version().await.ok();
        }
        let version = server.as_ref().and_then(|info| info.git_version.parse().ok());
        match read(client.clone(), version.map(Server::reported).unwrap_or_default()).await {
            Ok(shown) => feed.publish(shown),
            Err(problem) => {
                tracing::warn!(%problem, "reading the cluster failed");
                feed.failed(problem);
            }
        }
        let took = started.elapsed();
        sleep_until(started + took + pause(took)).await;
        // The sender lives as long as its task; without it, the refresh is what is left.
        match timeout(REFRESH, changes.changed()).await {
            Ok(Ok(())) => sleep(TOGETHER).await,
            Ok(Err(_)) => sleep(REFRESH).await,
            Err(_) => {}
        }
    }
}

fn pause(took: Duration) -> Duration {
    (took * PAUSE_FACTOR).min(LONGEST_PAUSE)
}

async fn read(client: Client, server: Server) -> Result<Shown, String> {
    let objects = live::objects(client, Scope::AllNamespaces, |_, _| ()).await;
    let objects = objects.map_err(|error| error.to_string())?;
    let compute = move || {
        let snapshot = snapshot::build(objects).map_err(|error| error.to_string())?;
        let cluster = Cluster::new(snapshot, server).map_err(|error| error.to_string())?;
        let page = serde_json::to_string(&cluster.page()).map_err(|error| error.to_string())?;
        Ok(Shown { cluster: Arc::new(cluster), page: page.into() })
    };
    // It may take long, and other tasks are not to wait for it.
    tokio::task::spawn_blocking(compute).await.unwrap_or_else(|error| Err(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_cluster_is_read_at_once_again_and_a_large_one_later() {
        assert!(TOGETHER + pause(Duration::from_millis(30)) < Duration::from_millis(150));
        assert_eq!(pause(Duration::from_secs(2)), Duration::from_secs(6));
        assert_eq!(pause(Duration::from_secs(60)), LONGEST_PAUSE);
    }
}
