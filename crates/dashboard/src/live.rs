//! The cluster as it is now.
//!
//! Watches bring what changed, and only the Services that it touches are explained anew, so that a page
//! shows exactly what `evenkeel explain` would, at the cost of the change. What no watch brings, as Events and
//! reports of proxies, is read every [`REFRESH`]. Nothing is computed while nobody looks.
//!
//! ```text
//!   watches ─► Followed (k8s) ─► snapshot ─► Cluster::next ─► Feed ─► pages, event streams
//!   lists ────────┘               │ shares all that is as it was
//!   counters of proxies ──────────┘
//! ```

mod proxies;
mod reader;

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::{
    Objects, live,
    watch::{self, Conditions, Hooks, Selector, Selectors, WatchSettings},
};
use evenkeel_topology::Server;
use kube::Client;
use tokio::{
    sync::{mpsc, watch as latest},
    task::JoinSet,
    time::{Instant, sleep},
};

use self::reader::Reader;
use crate::feed::{Feed, Feeds, Shown};

/// What no watch tells is read this often.
const REFRESH: Duration = Duration::from_secs(15);

/// What no watch brings.
struct Beside {
    objects: Result<Objects, String>,
    server: Option<Server>,
}

/// Follows the cluster. It returns if one of its tasks ended, which none should.
pub(crate) async fn follow(
    client: Client,
    feeds: Arc<Feeds>,
    proxies: latest::Receiver<Vec<String>>,
) {
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
    let hooks =
        Hooks { conditions: Arc::clone(&conditions), counters: Arc::new(()), address: None };
    let (batches, tasks) = watch::prepare(&client, &selectors, &settings, &hooks);
    let mut running = JoinSet::new();
    for task in tasks {
        running.spawn(async move { task.run().await });
    }
    let (send, beside) = mpsc::channel(1);
    let of = Arc::clone(&feeds);
    running.spawn(async move { read_beside(client, &of.cluster, send).await });
    let (send, measured) = mpsc::channel(1);
    let of = Arc::clone(&feeds);
    running.spawn(async move { proxies::measure(proxies, &of.cluster, send).await });
    let reader = Reader::new(conditions);
    tokio::select! {
        () = reader.run(&feeds.cluster, batches, beside, measured) => {}
        _ = running.join_next() => {}
    }
}

async fn read_beside(client: Client, feed: &Feed<Shown>, send: mpsc::Sender<Beside>) {
    let mut server = None;
    loop {
        feed.somebody_looks().await;
        if server.is_none() {
            server = client.apiserver_version().await.ok();
        }
        let version = server.as_ref().and_then(|info| info.git_version.parse().ok());
        let objects = live::beside(client.clone()).await.map_err(|error| error.to_string());
        if send.send(Beside { objects, server: version.map(Server::reported) }).await.is_err() {
            return;
        }
        sleep(REFRESH).await;
    }
}
