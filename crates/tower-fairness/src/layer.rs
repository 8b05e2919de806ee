//! Where a server puts fairness together.

use std::{
    collections::hash_map::RandomState, hash::BuildHasher, sync::Arc, task::Waker, time::Duration,
};

use bytes::Bytes;
use evenkeel_fairness::{
    Request as Attributes, Settings,
    config::Config,
    dispatcher::Dispatcher,
    flow::{FlowHash, FlowKey},
};
use http::Response;
use tower_layer::Layer;

use crate::{
    error::ConfigureError,
    head::Head,
    kubernetes,
    metrics::Metrics,
    policy::{BodyPolicy, Estimate, LongRunning, Policy, treat},
    rejection::Rejection,
    service::Fairness,
    shared::Shared,
    top_flows::{LevelFlows, top_flows},
};

/// Wraps services so that their requests are admitted by priority and fairness. All that it wraps
/// share one set of seats; clones are handles of the same layer.
///
/// Making one needs no runtime. The task that keeps its time is spawned by the first request, onto
/// the runtime that it comes from; if that ends or stands still, by another, onto its own. It ends
/// when the last handle, service and response is gone.
#[derive(Clone, Debug)]
pub struct FairnessLayer {
    shared: Arc<Shared>,
}

/// What a layer does, until it is built.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    settings: Settings,
    policy: Policy,
}

// === impl FairnessLayer ===

impl FairnessLayer {
    /// A layer for a server that has `server_limit` seats, with all else as by default.
    pub fn new(config: Config, server_limit: u32) -> Result<Self, ConfigureError> {
        FairnessLayer::builder().build(config, server_limit)
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Puts another configuration into force, while requests wait and run; none of them is lost. If
    /// it can't be, the old one stays.
    pub fn configure(&self, config: Config, server_limit: u32) -> Result<(), ConfigureError> {
        self.shared.configure(config, server_limit)
    }

    /// What is counted, to be registered with
    /// [`Registry::register_collector`](prometheus_client::registry::Registry::register_collector).
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.shared)
    }

    /// The flows that asked for most seats, by level, as far as each level can tell in bounded
    /// memory. Flows come from requests, so they are no labels of metrics.
    pub fn top_flows(&self) -> Vec<LevelFlows> {
        top_flows(&self.shared.dispatcher)
    }

    /// What decides, to look at: limits, queues, the configuration in force.
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
    /// How the algorithm works. A [`FlowHash::Keyed`] without a key gets one, drawn for this layer.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Until when a request keeps its seats; by default until its body ends.
    pub fn body(mut self, policy: BodyPolicy) -> Self {
        self.policy.body = policy;
        self
    }

    /// Whether every response that was handled carries the UIDs of its flow schema and priority
    /// level, as in Kubernetes; by default it does not.
    pub fn kubernetes_headers(mut self, on: bool) -> Self {
        self.policy.kubernetes_headers = on;
        self
    }

    /// How long a request may take that does not say so by a
    /// [`RequestTimeout`](crate::RequestTimeout). It may wait for a quarter of that, and for a
    /// minute at most. By default 60 seconds.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.policy.request_timeout = timeout;
        self
    }

    /// For how long a request may wait, whatever it may take in all.
    pub fn wait_limit(
        mut self,
        limit: impl Fn(Head<'_>) -> Duration + Send + Sync + 'static,
    ) -> Self {
        self.policy.wait_limit = Some(Arc::new(limit));
        self
    }

    /// Says more of a request than a plain HTTP API knows. It gets the attributes that were found
    /// and returns those that count: an API server fills in the resource, another takes the user
    /// from elsewhere.
    pub fn identify(
        mut self,
        identify: impl for<'r> Fn(Head<'r>, Attributes<'r>) -> Attributes<'r> + Send + Sync + 'static,
    ) -> Self {
        self.policy.identify = Some(Arc::new(identify));
        self
    }

    /// What a request costs, given how many seats its level allows one (0: any number); by default
    /// one seat.
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

    /// What happens to watches: requests that [`Self::identify`] has found to be for a resource, with
    /// the verb `watch`. To plain HTTP there are none. By default they take seats at their start, as
    /// does what takes over its connection (`Upgrade`, `CONNECT`) whatever is said here.
    pub fn long_running(self, treatment: LongRunning) -> Self {
        self.long_running_by(move |head, attributes| treat(head, attributes, treatment))
    }

    /// Which requests have no foreseeable end, and what happens to each. It should go by what the
    /// server knows: what only the client says, such as a query or an `Upgrade` header, lets any
    /// request pass by its seats.
    pub fn long_running_by(
        mut self,
        by: impl Fn(Head<'_>, &Attributes<'_>) -> Option<LongRunning> + Send + Sync + 'static,
    ) -> Self {
        self.policy.long_running = Some(Arc::new(by));
        self
    }

    /// Finds out what requests to a Kubernetes API are about: verb, API group, resource and so on, by
    /// method, path and query, as Kubernetes does. It stands in for [`Self::identify`].
    pub fn kubernetes_api(self) -> Self {
        self.identify(kubernetes::identify)
    }

    /// Who is told why a request is not served: flow schema, priority level, flow, seats and limit.
    /// By default nobody; the log has it, at level `debug`, under the id that everyone is told.
    pub fn details_for(
        mut self,
        authorized: impl Fn(Head<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.policy.details_for = Some(Arc::new(authorized));
        self
    }

    /// How to answer a request that is not served, instead of by [`answer`](crate::answer) or, for
    /// those that [`Self::details_for`] names, by [`answer_in_detail`](crate::answer_in_detail).
    pub fn answer(
        mut self,
        answer: impl Fn(&Rejection<'_>) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.policy.answer = Some(Arc::new(answer));
        self
    }

    /// A layer for a server that has `server_limit` seats.
    pub fn build(self, config: Config, server_limit: u32) -> Result<FairnessLayer, ConfigureError> {
        let Builder { mut settings, policy } = self;
        if settings.flow_hash == FlowHash::Keyed(None) {
            settings.flow_hash = FlowHash::Keyed(Some(draw_key()));
        }
        let shared = Shared::new(config, server_limit, settings, policy)?;
        Ok(FairnessLayer { shared: Arc::new(shared) })
    }
}

/// By way of the keys of 128 bits that std draws from the operating system.
fn draw_key() -> FlowKey {
    let drawn = RandomState::new();
    let mut bytes = [0; 32];
    for (word, chunk) in (0_u64..).zip(bytes.chunks_exact_mut(8)) {
        chunk.copy_from_slice(&drawn.hash_one(word).to_le_bytes());
    }
    FlowKey::new(bytes)
}
