//! What the controller follows, and the tasks that do.

use evenkeel_admin::supervisor::Supervisor;
pub use evenkeel_k8s::watch::WatchSettings;
use evenkeel_k8s::watch::{self, Counters, Hooks, Received, Resource, Selector, Selectors};
use evenkeel_model::label;
use kube::Client;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// All Nodes, Pods and Services. Slices without a Service are not used here, and there may be many.
/// `reports`: the namespace of the Leases of proxies; `None` if nothing is made of them.
pub(crate) fn selectors(reports: Option<&str>) -> Selectors {
    Selectors {
        nodes: Some(Selector::all()),
        pods: Some(Selector::all()),
        services: Some(Selector::all()),
        endpoint_slices: Some(Selector::labels(label::SERVICE_NAME)),
        leases: reports.map(Selector::reports),
        ..Selectors::default()
    }
}

/// Starts all watches; they end with `stop`. One that panics is restarted with a new list.
pub(crate) fn start(
    client: &Client,
    selectors: &Selectors,
    settings: &WatchSettings,
    hooks: &Hooks,
    supervisor: &Supervisor,
    stop: &CancellationToken,
) -> (mpsc::Receiver<Received>, Vec<JoinHandle<()>>) {
    let (batches, tasks) = watch::prepare(client, selectors, settings, hooks);
    let tasks = tasks.into_iter().map(|task| {
        let stop = stop.clone();
        supervisor.spawn(task.name(), move || {
            let (stop, follow) = (stop.clone(), task.run());
            async move {
                let _ = stop.run_until_cancelled(follow).await;
            }
        })
    });
    (batches, tasks.collect())
}

impl Counters for Metrics {
    fn restarted(&self, resource: Resource) {
        self.watch_restarted(resource);
    }

    fn ignored(&self, resource: Resource) {
        self.refused(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_the_watches_count_is_in_the_metrics() {
        let metrics = Arc::new(Metrics::new());
        let counters: Arc<dyn Counters> = Arc::<Metrics>::clone(&metrics);
        counters.restarted(Resource::Nodes);
        counters.ignored(Resource::Pods);
        let text = metrics.text();
        for line in [
            r#"evenkeel_controller_watch_restarts_total{resource="nodes"} 1"#,
            r#"evenkeel_controller_refused_objects_total{resource="pods"} 1"#,
        ] {
            assert!(text.lines().any(|given| given == line), "{text}");
        }
    }
}
