//! The four watches. Each runs in a task of its own, where objects are decoded, and sends batches;
//! a slow receiver makes the watches wait.
//!
//! `reflector` decides on the next request, `follow` sends it, `condition` has the health of each
//! watch.

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
use tracing::Instrument as _;

pub(crate) use self::condition::Conditions;
use self::failure::Failure;
pub use self::settings::WatchSettings;
use crate::metrics::Metrics;

/// Batches in the channel.
const WAITING: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Nodes,
    Pods,
    Services,
    EndpointSlices,
}

/// Changes that a watch received, in order.
#[derive(Debug)]
pub(crate) enum Batch {
    Nodes(Vec<Watched<watched::Node>>),
    Pods(Vec<Watched<watched::Pod>>),
    Services(Vec<Watched<watched::Service>>),
    Slices(Vec<Watched<watched::EndpointSlice>>),
}

/// One watch.
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

/// Starts all four; they end with `stop`. One that panics is restarted with a new list.
pub(crate) fn start(
    client: &Client,
    address: Option<&str>,
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
            // Also where only warnings are logged, which are to name what they are about.
            let resource = Resource::$resource.name();
            let span = tracing::error_span!("watch", resource, address);
            tasks.push(supervisor.spawn($task, move || {
                let follow = watch.clone().follow(api.clone()).instrument(span.clone());
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
    // Slices without a Service are not used here, and there may be many.
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
            tracing::info!(?failed_for, "watch re-established");
        }
    }

    fn failed(&self, failure: &Failure, pause: Duration) {
        let error = failure.to_string();
        self.metrics.watch_restarted(self.resource);
        if self.conditions.failed(self.resource, Instant::now(), error.clone()) {
            tracing::warn!(error, "watch failed, retrying in {pause:.1?}");
        }
    }

    fn undecodable(&self, error: &serde_json::Error) {
        self.metrics.refused(self.resource);
        tracing::warn!(%error, "ignoring invalid object");
    }
}

#[cfg(test)]
mod tests;
