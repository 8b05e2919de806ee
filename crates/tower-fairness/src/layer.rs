//! The layer and its builder.

use std::{
    collections::hash_map::RandomState, hash::BuildHasher, sync::Arc, task::Waker, time::Duration,
};

use bytes::Bytes;
use evenkeel_fairness::{
    Request as Attributes, Settings, Time,
    config::Config,
    dispatcher::Dispatcher,
    flow::{FlowHash, FlowKey},
};
use http::{HeaderMap, Response};
use tower_layer::Layer;

use crate::{
    admit::{self, Admission, Arrival, Rejected},
    error::ConfigureError,
    head::Head,
    kubernetes,
    metrics::Metrics,
    policy::{self, BodyPolicy, Estimate, LongRunning, Policy},
    rejection::Rejection,
    service::Fairness,
    shared::{Destination, Shared},
    striped::Striped,
    top_flows::{LevelFlows, top_flows},
};

/// Wraps services so that their requests are admitted by priority and fairness. All wrapped services
/// share one set of seats; clones are handles of the same layer.
///
/// Creating one needs no runtime. The first request spawns the task that keeps its time, on its own
/// runtime; if that ends or stalls, a later request does. The task ends when the last handle, service
/// and response is dropped.
#[derive(Clone, Debug)]
pub struct FairnessLayer {
    shared: Striped,
}

/// Configures a [`FairnessLayer`].
#[derive(Clone, Debug, Default)]
pub struct Builder {
    settings: Settings,
    policy: Policy,
}

// === impl FairnessLayer ===

impl FairnessLayer {
    /// A layer for a server that has `server_limit` seats, with default settings.
    pub fn new(config: Config, server_limit: u32) -> Result<Self, ConfigureError> {
        FairnessLayer::builder().build(config, server_limit)
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Applies another configuration while requests wait and run; none of them is lost. On an error
    /// the old one stays in force.
    pub fn configure(&self, config: Config, server_limit: u32) -> Result<(), ConfigureError> {
        self.shared.configure(config, server_limit)
    }

    /// Admits a request of a server that does not use [`Fairness`], because it has a handler chain of
    /// its own. `estimate` gives its cost when its destination is known. The policies of the builder
    /// are not asked.
    pub fn admit(
        &self,
        arrival: Arrival<'_>,
        estimate: impl Fn(&Destination) -> Estimate,
    ) -> Result<Admission, Rejected> {
        admit::admit(&self.shared, arrival, estimate)
    }

    /// Calls `then` with those headers of a request that the configuration in force looks at, for
    /// the attributes of an [`Arrival`].
    pub fn with_headers<T>(
        &self,
        headers: &HeaderMap,
        then: impl FnOnce(&[(&str, &str)]) -> T,
    ) -> T {
        self.shared.with_headers(headers, then)
    }

    /// The layer's clock, in which dumps give times.
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// The metrics, to be registered with
    /// [`Registry::register_collector`](prometheus_client::registry::Registry::register_collector).
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.shared)
    }

    /// The flows that requested the most seats, by level, as far as bounded memory allows. Flow names
    /// come from requests, so they are not labels of metrics.
    pub fn top_flows(&self) -> Vec<LevelFlows> {
        top_flows(&self.shared.dispatcher)
    }

    /// The dispatcher, for inspection: limits, queues, the configuration in force.
    pub fn dispatcher(&self) -> &Dispatcher<Waker> {
        &self.shared.dispatcher
    }
}

impl<S> Layer<S> for FairnessLayer {
    type Service = Fairness<S>;

    fn layer(&self, inner: S) -> Fairness<S> {
        Fairness::new(inner, self.shared.clone())
    }
}

// === impl Builder ===

impl Builder {
    /// How the algorithm works. A [`FlowHash::Keyed`] without a key gets one, generated for this layer.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// How long a request holds its seats; by default until its body ends.
    pub fn body(mut self, policy: BodyPolicy) -> Self {
        self.policy.body = policy;
        self
    }

    /// Whether every response carries the UIDs of its flow schema and priority
    /// level, as in Kubernetes; by default it does not.
    pub fn kubernetes_headers(mut self, on: bool) -> Self {
        self.policy.kubernetes_headers = on;
        self
    }

    /// The timeout of requests without a [`RequestTimeout`](crate::RequestTimeout). A request may wait
    /// for a quarter of its timeout, and for a minute at most. By default 60 seconds.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.policy.request_timeout = timeout;
        self
    }

    /// The maximum time that a request may wait, whatever its timeout.
    pub fn wait_limit(
        mut self,
        limit: impl Fn(Head<'_>) -> Duration + Send + Sync + 'static,
    ) -> Self {
        self.policy.wait_limit = Some(Arc::new(limit));
        self
    }

    /// Sets the attributes of a request beyond those of plain HTTP. It gets the attributes that were
    /// found and returns those to use: an API server fills in the resource, another takes the user from
    /// elsewhere.
    pub fn identify(
        mut self,
        identify: impl for<'r> Fn(Head<'r>, Attributes<'r>) -> Attributes<'r> + Send + Sync + 'static,
    ) -> Self {
        self.policy.identify = Some(Arc::new(identify));
        self
    }

    /// Estimates the cost of a request, given the maximum number of seats that its level allows (0: no
    /// maximum); by default one seat.
    pub fn estimate<E: Into<Estimate>>(
        mut self,
        estimate: impl Fn(Head<'_>, &Attributes<'_>, u32) -> E + Send + Sync + 'static,
    ) -> Self {
        let estimate = move |head: Head<'_>, attributes: &Attributes<'_>, max_seats| {
            estimate(head, attributes, max_seats).into()
        };
        self.policy.estimate = Some(Arc::new(estimate));
        self
    }

    /// How watches are handled: requests for a resource with the verb `watch`, according to
    /// [`Self::identify`]; plain HTTP has none. By default they hold seats until the head of the
    /// response, as do requests that take over the connection (`Upgrade`, `CONNECT`) in any case.
    pub fn long_running(self, treatment: LongRunning) -> Self {
        self.classify_long_running(move |head, attributes| {
            policy::long_running(head, attributes, treatment)
        })
    }

    /// Which requests are long-running, and how each is handled. Decide by what the server knows: what
    /// only the client claims, such as a query or an `Upgrade` header, would let any request avoid its
    /// seats.
    pub fn classify_long_running(
        mut self,
        by: impl Fn(Head<'_>, &Attributes<'_>) -> Option<LongRunning> + Send + Sync + 'static,
    ) -> Self {
        self.policy.long_running = Some(Arc::new(by));
        self
    }

    /// Sets the attributes of requests to a Kubernetes API: verb, API group, resource and so on, from
    /// method, path and query, as Kubernetes does. It replaces [`Self::identify`].
    pub fn kubernetes_api(self) -> Self {
        self.identify(kubernetes::identify)
    }

    /// Which clients see why a request was rejected: flow schema, priority level, flow, seats and
    /// limit. By default none; the log has it, at level `debug`, under the id that every client gets.
    pub fn details_for(
        mut self,
        authorized: impl Fn(Head<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.policy.details_for = Some(Arc::new(authorized));
        self
    }

    /// The response to a rejected request, instead of
    /// [`rejection_response`](crate::rejection_response) and, for clients that
    /// [`Self::details_for`] selects,
    /// [`detailed_rejection_response`](crate::detailed_rejection_response).
    pub fn rejection_response(
        mut self,
        respond: impl Fn(&Rejection<'_>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.policy.rejection_response = Some(Arc::new(respond));
        self
    }

    /// A layer for a server that has `server_limit` seats.
    pub fn build(self, config: Config, server_limit: u32) -> Result<FairnessLayer, ConfigureError> {
        let Builder { mut settings, policy } = self;
        if settings.flow_hash == FlowHash::Keyed(None) {
            settings.flow_hash = FlowHash::Keyed(Some(draw_key()));
        }
        let shared = Shared::new(config, server_limit, settings, policy)?;
        Ok(FairnessLayer { shared: Striped::new(shared) })
    }
}

/// From the 128-bit keys that std gets from the operating system.
fn draw_key() -> FlowKey {
    let drawn = RandomState::new();
    let mut bytes = [0; 32];
    for (word, chunk) in (0_u64..).zip(bytes.chunks_exact_mut(8)) {
        chunk.copy_from_slice(&drawn.hash_one(word).to_le_bytes());
    }
    FlowKey::new(bytes)
}
