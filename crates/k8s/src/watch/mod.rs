//! Watches: what a component follows of a cluster, from its first list to its end.
//!
//! ```text
//!  reflector: which request is next ─► follow: sends it, decodes ─► batches ─► the component
//!      ▲                                  │                            (a bounded channel)
//!      └──────── pages, events, failures ─┴─► condition: health; counters: metrics
//! ```
//!
//! A component says with [`Selectors`] which kinds it follows, and of each which objects. Each kind
//! has a [`Task`] of its own, where objects are decoded. [`prepare`] starts none of them: the
//! component runs them, and starts one again that panicked; it then begins with a new list. All
//! send [`Batch`]es into one channel; while nobody takes them, the watches wait.
//!
//! A batch tells what a watch received, in order: [`Watched::Restarted`] begins a list,
//! each of its objects is [`Watched::Listed`], and at [`Watched::Complete`] what
//! was not listed is gone; until then everything from before still counts. After that come changes.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use evenkeel_k8s::watch::{self, Conditions, Hooks, Selector, Selectors, WatchSettings};
//! # async fn proxy(client: kube::Client) {
//! let selectors = Selectors {
//!     nodes: Some(Selector::named("node-1")),
//!     services: Some(Selector::labels("!service.kubernetes.io/service-proxy-name")),
//!     endpoint_slices: Some(Selector::labels("!service.kubernetes.io/headless")),
//!     ..Selectors::default()
//! };
//! let settings = WatchSettings::default();
//! let conditions = Arc::new(Conditions::new(&selectors, &settings, tokio::time::Instant::now()));
//! let hooks = Hooks { conditions, counters: Arc::new(()), address: None };
//! let (mut batches, tasks) = watch::prepare(&client, &selectors, &settings, &hooks);
//! for task in tasks {
//!     tokio::spawn(async move { task.run().await });
//! }
//! while let Some(received) = batches.recv().await {
//!     println!("{:?}", received.batch);
//! }
//! # }
//! ```
//!
//! [`Watched::Restarted`]: evenkeel_model::Watched::Restarted
//! [`Watched::Listed`]: evenkeel_model::Watched::Listed
//! [`Watched::Complete`]: evenkeel_model::Watched::Complete

mod absence;
mod back_off;
mod batch;
mod condition;
mod failure;
mod follow;
mod reflector;
mod selector;
mod settings;
mod stream;

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use kube::{Api, Client};
use tokio::{sync::mpsc, time::Instant};
use tracing::Instrument as _;

use self::{batch::Followed, failure::Failure};
pub use self::{
    batch::{Batch, Received, Resource},
    condition::Conditions,
    selector::{Selector, Selectors},
    settings::WatchSettings,
};
use crate::{
    excerpt,
    watched::{EndpointSlice, Lease, MeshObject, Node, Pod, Service},
};

/// Batches in the channel. They are decoded, so that each may have megabytes: no more than keep those
/// who take them busy.
const WAITING: usize = 2;

/// What a component counts of its watches. `()` counts nothing.
pub trait Counters: Send + Sync {
    /// A list or a watch failed, and is tried again.
    fn restarted(&self, resource: Resource);

    /// An object could not be decoded and was ignored.
    fn ignored(&self, resource: Resource);
}

/// Whom the watches of a component tell how they are.
#[derive(Clone)]
pub struct Hooks {
    pub conditions: Arc<Conditions>,
    pub counters: Arc<dyn Counters>,
    /// The address of the API server, for log lines.
    pub address: Option<String>,
}

/// A watch to be run.
pub struct Task {
    resource: Resource,
    run: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// One watch.
#[derive(Clone)]
struct Watch<T: Followed> {
    kind: T::DynamicType,
    api: Api<T>,
    selector: Selector,
    settings: WatchSettings,
    send: mpsc::Sender<Received>,
    hooks: Hooks,
}

/// The watches of a component, one task for each kind that it follows, and what they receive.
///
/// The client should not retry by itself and should detect lost connections: see
/// [`long_lived`](crate::live::long_lived).
pub fn prepare(
    client: &Client,
    selectors: &Selectors,
    settings: &WatchSettings,
    hooks: &Hooks,
) -> (mpsc::Receiver<Received>, Vec<Task>) {
    let (send, receive) = mpsc::channel(WAITING);
    let mut tasks = Vec::new();
    macro_rules! watch {
        ($kind:ident of $dynamic:expr, in $api:expr) => {
            let kind = $dynamic;
            tasks.extend(selectors.of($kind::resource(kind)).map(|selector| {
                let api: Api<$kind> = $api(client.clone(), selector, &kind);
                let (selector, settings) = (selector.clone(), *settings);
                let (send, hooks) = (send.clone(), hooks.clone());
                Task::of(Watch { kind, api, selector, settings, send, hooks })
            }));
        };
        ($($kind:ident in $api:expr;)*) => {$(
            watch!($kind of (), in $api);
        )*};
    }
    watch! {
        Node in everywhere;
        Pod in everywhere;
        Service in everywhere;
        EndpointSlice in everywhere;
        Lease in in_namespace;
    }
    for kind in &selectors.mesh {
        watch!(MeshObject of *kind, in everywhere);
    }
    (receive, tasks)
}

fn everywhere<T: Followed>(client: Client, _: &Selector, kind: &T::DynamicType) -> Api<T> {
    Api::all_with(client, kind)
}

/// Whoever reads the Leases of one namespace needs no more rights than that.
fn in_namespace(client: Client, selector: &Selector, (): &()) -> Api<Lease> {
    match &selector.namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

impl Counters for () {
    fn restarted(&self, _: Resource) {}

    fn ignored(&self, _: Resource) {}
}

// === impl Hooks ===

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("address", &self.address).finish_non_exhaustive()
    }
}

// === impl Task ===

impl Task {
    fn of<T: Followed>(watch: Watch<T>) -> Task {
        let resource = watch.resource();
        // Also where only warnings are logged, which are to name what they are about.
        let address = watch.hooks.address.as_deref();
        let span = tracing::error_span!("watch", resource = resource.name(), address);
        let run = move || watch.clone().follow().instrument(span.clone()).boxed();
        Task { resource, run: Box::new(run) }
    }

    /// As in `watcher-nodes`.
    pub fn name(&self) -> &'static str {
        self.resource.task()
    }

    /// Follows the kind, beginning with a list, until the receiver of batches is closed.
    pub fn run(&self) -> BoxFuture<'static, ()> {
        (self.run)()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("name", &self.name()).finish_non_exhaustive()
    }
}

// === impl Watch ===

impl<T: Followed> Watch<T> {
    fn resource(&self) -> Resource {
        T::resource(self.kind)
    }

    fn alive(&self) {
        self.hooks.conditions.alive(self.resource(), Instant::now());
    }

    fn established(&self) {
        let failed_for = self.hooks.conditions.established(self.resource(), Instant::now());
        if let Some(failed_for) = failed_for {
            tracing::info!(?failed_for, "watch re-established");
        }
    }

    fn failed(&self, failure: &Failure, pause: Duration) {
        let error = failure.to_string();
        self.hooks.counters.restarted(self.resource());
        if self.hooks.conditions.failed(self.resource(), Instant::now(), error.clone()) {
            tracing::warn!(error, "watch failed, retrying in {pause:.1?}");
        }
    }

    fn undecodable(&self, error: &serde_json::Error) {
        self.hooks.counters.ignored(self.resource());
        // It repeats what was found, which may be long.
        let error = excerpt::message(&error.to_string());
        tracing::warn!(%error, "ignoring invalid object");
    }
}

#[cfg(test)]
mod tests;
