//! The four watches. Each runs in a task of its own, where objects are decoded, and sends what it
//! sees in batches; whoever takes them slowly makes the watches wait.
//!
//! `reflector` decides what is asked for next, `follow` asks, `condition` knows how each watch is.

mod back_off;
mod condition;
mod failure;
mod follow;
mod reflector;
mod settings;
mod stream;

use std::{fmt::Debug, sync::Arc, time::Duration};

use evenkeel_admin::supervisor::Supervisor;
use evenkeel_k8s::watched;
use evenkeel_model::{Gone, Watched, label};
use kube::{Api, Client};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

pub(crate) use self::condition::Conditions;
use self::failure::Failure;
pub use self::settings::WatchSettings;
use crate::metrics::Metrics;

/// Batches that wait to be taken.
const WAITING: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Nodes,
    Pods,
    Services,
    EndpointSlices,
}

/// What a watch has seen, in its order.
#[derive(Debug)]
pub(crate) enum Batch {
    Nodes(Vec<Watched<watched::Node>>),
    Pods(Vec<Watched<watched::Pod>>),
    Services(Vec<Watched<watched::Service>>),
    Slices(Vec<Watched<watched::EndpointSlice>>),
}

/// One watch: what it follows and where it tells.
#[derive(Clone)]
struct Watch<T> {
    resource: Resource,
    /// Only objects with these labels are followed.
    labels: Option<&'static str>,
    settings: WatchSettings,
    gone: fn(&T) -> Gone,
    batch: fn(Vec<Watched<T>>) -> Batch,
    send: mpsc::Sender<Batch>,
    conditions: Arc<Conditions>,
    metrics: Arc<Metrics>,
}

/// Starts all four; they end with `stop`. One that panics lists everything anew.
pub(crate) fn start(
    client: &Client,
    settings: &WatchSettings,
    conditions: &Arc<Conditions>,
    metrics: &Arc<Metrics>,
    supervisor: &Supervisor,
    stop: &CancellationToken,
) -> (mpsc::Receiver<Batch>, Vec<JoinHandle<()>>) {
    let (send, receive) = mpsc::channel(WAITING);
    let mut tasks = Vec::new();
    macro_rules! watch {
        ($kind:ident, $resource:ident, $batch:ident, $labels:expr, $task:literal) => {
            let watch = Watch {
                resource: Resource::$resource,
                labels: $labels,
                settings: *settings,
                gone: watched::$kind::gone,
                batch: Batch::$batch,
                send: send.clone(),
                conditions: conditions.clone(),
                metrics: metrics.clone(),
            };
            let (api, stop) = (Api::<watched::$kind>::all(client.clone()), stop.clone());
            tasks.push(supervisor.spawn($task, move || {
                let follow = watch.clone().follow(api.clone());
                let stop = stop.clone();
                async move {
                    let _ = stop.run_until_cancelled(follow).await;
                }
            }));
        };
    }
    watch!(Node, Nodes, Nodes, None, "watcher-nodes");
    watch!(Pod, Pods, Pods, None, "watcher-pods");
    watch!(Service, Services, Services, None, "watcher-services");
    // Slices that belong to no Service are nobody's here, and there may be many.
    let of_services = Some(label::SERVICE_NAME);
    watch!(EndpointSlice, EndpointSlices, Slices, of_services, "watcher-endpointslices");
    (receive, tasks)
}

// === impl Resource ===

impl Resource {
    /// As in the paths of the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Resource::Nodes => "nodes",
            Resource::Pods => "pods",
            Resource::Services => "services",
            Resource::EndpointSlices => "endpointslices",
        }
    }
}

// === impl Watch ===

impl<T> Watch<T> {
    fn established(&self) {
        let failed_for = self.conditions.established(self.resource, Instant::now());
        if let Some(failed_for) = failed_for {
            tracing::info!(resource = self.resource.name(), ?failed_for, "watch re-established");
        }
    }

    fn failed(&self, failure: &Failure, pause: Duration) {
        let (resource, error) = (self.resource.name(), failure.to_string());
        self.metrics.watch_restarted(self.resource);
        if self.conditions.failed(self.resource, Instant::now(), error.clone()) {
            tracing::warn!(resource, error, "watch failed, retrying in {pause:.1?}");
        }
    }

    fn undecodable(&self, error: &serde_json::Error) {
        self.metrics.refused(self.resource);
        let resource = self.resource.name();
        tracing::warn!(resource, %error, "ignoring an object that can't be decoded");
    }
}

#[cfg(test)]
mod tests;
