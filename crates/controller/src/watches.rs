//! The four watches. Each runs in a task of its own, where objects are decoded, and sends what it
//! sees in batches; whoever takes them slowly makes the watches wait.

mod condition;

use std::{fmt::Debug, sync::Arc};

use evenkeel_admin::supervisor::Supervisor;
use evenkeel_k8s::watched;
use evenkeel_model::{Gone, Watched, label};
use futures_util::{Stream, StreamExt};
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

pub(crate) use self::condition::Conditions;
use crate::{ask::in_short, metrics::Metrics};

/// What is sent at once at most.
const BATCH: usize = 512;

/// Batches that wait to be taken.
const WAITING: usize = 8;

/// How many objects are asked for at once, as Kubernetes' own clients do.
const PAGE: u32 = 500;

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
    gone: fn(&T) -> Gone,
    batch: fn(Vec<Watched<T>>) -> Batch,
    send: mpsc::Sender<Batch>,
    conditions: Arc<Conditions>,
    metrics: Arc<Metrics>,
}

/// Starts all four; they end with `stop`. One that fails otherwise lists everything anew.
pub(crate) fn start(
    client: &Client,
    conditions: &Arc<Conditions>,
    metrics: &Arc<Metrics>,
    supervisor: &Supervisor,
    stop: &CancellationToken,
) -> (mpsc::Receiver<Batch>, Vec<JoinHandle<()>>) {
    let (send, receive) = mpsc::channel(WAITING);
    let mut tasks = Vec::new();
    let any = watcher::Config::default().page_size(PAGE);
    // Slices that belong to no Service are nobody's here, and there may be many.
    let of_services = any.clone().labels(label::SERVICE_NAME);
    macro_rules! watch {
        ($kind:ident, $resource:ident, $batch:ident, $config:expr, $task:literal) => {
            let watch = Watch {
                resource: Resource::$resource,
                gone: watched::$kind::gone,
                batch: Batch::$batch,
                send: send.clone(),
                conditions: conditions.clone(),
                metrics: metrics.clone(),
            };
            let (api, config) = (Api::<watched::$kind>::all(client.clone()), $config);
            let stop = stop.clone();
            tasks.push(supervisor.spawn($task, move || {
                let follow = watch.clone().follow(api.clone(), config.clone());
                let stop = stop.clone();
                async move {
                    let _ = stop.run_until_cancelled(follow).await;
                }
            }));
        };
    }
    watch!(Node, Nodes, Nodes, any.clone(), "watcher-nodes");
    watch!(Pod, Pods, Pods, any.clone(), "watcher-pods");
    watch!(Service, Services, Services, any, "watcher-services");
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

impl<T> Watch<T>
where
    T: kube::Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    async fn follow(self, api: Api<T>, config: watcher::Config) {
        self.pass_on(watcher(api, config).default_backoff()).await;
    }

    /// Until the stream ends or nobody takes batches any more.
    async fn pass_on(self, stream: impl Stream<Item = watcher::Result<Event<T>>>) {
        let mut chunks = std::pin::pin!(stream.ready_chunks(BATCH));
        while let Some(chunk) = chunks.next().await {
            let batch: Vec<_> = chunk.into_iter().filter_map(|event| self.told(event)).collect();
            if !batch.is_empty() && self.send.send((self.batch)(batch)).await.is_err() {
                return;
            }
        }
    }

    fn told(&self, event: watcher::Result<Event<T>>) -> Option<Watched<T>> {
        let event = event.map_err(|error| self.failed(&error)).ok()?;
        // A list that begins says nothing yet: it is announced before it is asked for.
        if !matches!(event, Event::Init) {
            self.conditions.answered(self.resource);
        }
        Some(match event {
            Event::Init => Watched::Restarted,
            Event::InitApply(object) => Watched::Listed(object),
            Event::InitDone => Watched::Complete,
            Event::Apply(object) => Watched::Applied(object),
            Event::Delete(object) => Watched::Deleted((self.gone)(&object)),
        })
    }

    fn failed(&self, error: &watcher::Error) {
        let problem = problem(error);
        let resource = self.resource.name();
        self.metrics.watch_restarted(self.resource);
        if self.conditions.failed(self.resource, Instant::now(), problem.clone()) {
            tracing::warn!(resource, problem, "a watch failed, and is started again");
        }
    }
}

/// In one line.
fn problem(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error) => format!("can't list: {}", in_short(error)),
        watcher::Error::WatchStartFailed(error) => format!("can't watch: {}", in_short(error)),
        watcher::Error::WatchError(status) => format!("{} ({})", status.message, status.code),
        watcher::Error::WatchFailed(error) => format!("broken off: {}", in_short(error)),
        watcher::Error::NoResourceVersion => "an object without a resourceVersion".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn node(name: &str) -> watched::Node {
        let node = json!({"metadata": {"name": name, "uid": format!("{name}-uid")}});
        serde_json::from_value(node).unwrap()
    }

    fn watch(send: mpsc::Sender<Batch>) -> Watch<watched::Node> {
        Watch {
            resource: Resource::Nodes,
            gone: watched::Node::gone,
            batch: Batch::Nodes,
            send,
            conditions: Arc::default(),
            metrics: Arc::new(Metrics::new()),
        }
    }

    fn said(watched: &Watched<watched::Node>) -> String {
        match watched {
            Watched::Restarted => "restarted".to_owned(),
            Watched::Listed(node) => format!("listed {}", node.gone().name),
            Watched::Complete => "complete".to_owned(),
            Watched::Applied(node) => format!("applied {}", node.gone().name),
            Watched::Deleted(gone) => format!("deleted {} {}", gone.name, gone.uid),
        }
    }

    #[tokio::test]
    async fn events_come_in_their_order_and_errors_in_between_are_counted() {
        let (send, mut receive) = mpsc::channel(1);
        let watch = watch(send);
        let metrics = Arc::clone(&watch.metrics);
        let too_old = Status::failure("too old", "Expired").with_code(410).boxed();
        let events = [
            Ok(Event::Init),
            Ok(Event::InitApply(node("a"))),
            Ok(Event::InitDone),
            Ok(Event::Apply(node("b"))),
            Ok(Event::Delete(node("a"))),
            Err(watcher::Error::WatchError(too_old)),
            Ok(Event::Init),
            Ok(Event::InitDone),
        ];
        watch.pass_on(stream::iter(events)).await;
        let Some(Batch::Nodes(batch)) = receive.recv().await else { panic!("a batch of nodes") };
        let expected = [
            "restarted",
            "listed a",
            "complete",
            "applied b",
            "deleted a a-uid",
            "restarted",
            "complete",
        ];
        assert_eq!(batch.iter().map(said).collect::<Vec<_>>(), expected);
        assert!(receive.recv().await.is_none(), "all came in one batch");
        let line = r#"evenkeel_controller_watch_restarts_total{resource="nodes"} 1"#;
        assert!(metrics.text().contains(line), "{}", metrics.text());
    }

    /// A list that is begun again and again and never answered is no sign of health.
    #[tokio::test]
    async fn a_watch_that_cannot_list_is_in_trouble() {
        let (send, _receive) = mpsc::channel(8);
        let watch = watch(send);
        let conditions = Arc::clone(&watch.conditions);
        let forbidden = || {
            let status = Status::failure("nodes is forbidden", "Forbidden").with_code(403);
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status.boxed())))
        };
        watch.pass_on(stream::iter([Ok(Event::Init), forbidden(), Ok(Event::Init)])).await;
        let problem = conditions.problem(Resource::Nodes, Instant::now());
        assert_eq!(problem.unwrap(), "watch nodes: can't list: nodes is forbidden (403)");
        assert_eq!(conditions.problem(Resource::Pods, Instant::now()), None);
    }
}
