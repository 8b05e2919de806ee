//! Priority and fairness for the requests of this server: which may run now, which wait, which are
//! rejected.
//!
//! ```text
//! stored FlowSchemas and levels ─► config ─┐
//! custom resources, of evenkeel's dialect ──┤ configure
//!               files, of the same dialect ─┘     ▼
//! chain ─► Fairness::admit: attributes, cost ─► tower-fairness ─► seat ─► authorize, dispatch ─► released
//! actors ─────────────┘                                           │
//!                                        requests: what dumps show ┘
//! ```
//!
//! The decisions are `evenkeel-fairness`'s; `tower-fairness` has the timers and wakers. A seat is
//! held by the work of its request, not by the connection: a write that continues after its client
//! disconnected keeps it, a list until its last object is encoded, a watch until its initial events
//! are sent. With fairness switched off, two counters limit requests as kube-apiserver did before
//! (`max_in_flight`).

mod conditions;
mod config;
mod cost;
mod defaults;
mod dump;
mod files;
mod held;
mod max_in_flight;
mod requests;
mod resources;
#[cfg(test)]
mod tests;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_fairness::{
    Groups, Request, Settings as Algorithm, dialect::kubernetes, queues::stats::RejectReason,
};
use http::{HeaderMap, Method, Uri};
use tower_fairness::{Admission, Arrival, FairnessLayer, Rejected};

pub use self::files::FileError;
pub(crate) use self::{
    config::{keep_configured, start},
    dump::{DUMPS, dump},
    held::{HeldSeat, SeatGuard},
};
use self::{
    files::Files,
    max_in_flight::MaxInFlight,
    requests::{Detail, InFlight},
};
use crate::{
    api::Api,
    identity::{Attributes, On, User},
    request::Query,
    settings::{FairnessProfile, FairnessSettings, FairnessSource},
};

/// What requests have to pass.
#[derive(Debug)]
pub(crate) struct Fairness {
    layer: FairnessLayer,
    in_flight: Arc<InFlight>,
    settings: FairnessSettings,
    source: Source,
    /// In place of the layer, if fairness is switched off.
    max_in_flight: Option<MaxInFlight>,
}

/// Where the configuration comes from.
#[derive(Debug)]
enum Source {
    Kubernetes,
    Resources,
    Files(Files),
}

/// A request of a client or of one of the server's own actors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) user: &'a Arc<User>,
    pub(crate) attributes: &'a Attributes<'a>,
    /// Of a request over HTTP.
    pub(crate) http: Option<Http<'a>>,
}

/// What only requests over HTTP have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Http<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) query: &'a Query<'a>,
    pub(crate) received: Instant,
    /// How long the request may take; `None`: it has no timeout.
    pub(crate) timeout: Option<Duration>,
}

/// Why a request is not served now.
#[derive(Clone, Debug)]
pub(crate) struct TooManyRequests {
    /// In seconds.
    pub(crate) retry_after: u32,
    /// None: fairness is switched off.
    pub(crate) rejected: Option<Rejected>,
}

/// The timeout of requests that have none of their own, for the share of it that they may wait.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wait, as in Kubernetes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

// === impl Fairness ===

impl Fairness {
    /// With the implied objects only, until the stored ones are read; or with those from files.
    pub(crate) fn new(settings: FairnessSettings) -> Result<Fairness, FileError> {
        let source = match &settings.source {
            FairnessSource::Kubernetes => Source::Kubernetes,
            FairnessSource::Resources => Source::Resources,
            FairnessSource::Files(folder) => Source::Files(Files::open(folder.clone())?),
        };
        let config = match &source {
            Source::Kubernetes => kubernetes::compile([], []).config,
            Source::Resources => resources::without_any(),
            Source::Files(files) => files.config(),
        };
        let layer = FairnessLayer::builder()
            .settings(algorithm(settings.profile))
            .build(config, settings.limit())
            .map_err(|problem| FileError::Unusable(problem.to_string()))?;
        let max_in_flight = (!settings.enabled).then(|| MaxInFlight::new(&settings));
        Ok(Fairness { layer, in_flight: Arc::default(), settings, source, max_in_flight })
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.max_in_flight.is_none()
    }

    /// The metrics of the layer.
    pub(crate) fn metrics(&self) -> tower_fairness::Metrics {
        self.layer.metrics()
    }

    /// Waits until the request may run. Dropping the future leaves the queue.
    pub(crate) async fn admit(
        &self,
        api: &Api,
        asked: Asked<'_>,
    ) -> Result<SeatGuard, TooManyRequests> {
        if let Some(max_in_flight) = &self.max_in_flight {
            return max_in_flight.enter(&asked).map(SeatGuard::counted);
        }
        let detail = Detail::of(&asked);
        let placed = match asked.http {
            Some(http) => self.layer.with_headers(http.headers, |headers| {
                self.place(api, &asked, Request { headers, ..request(&asked) })
            }),
            None => self.place(api, &asked, request(&asked)),
        };
        match placed.map_err(TooManyRequests::from)? {
            Admission::Seated(seat) => {
                let entry = self.in_flight.enter(seat.destination(), seat.ticket(), detail);
                Ok(SeatGuard::seated(seat, entry))
            }
            Admission::Waiting(waiting) => {
                let entry = self.in_flight.enter(waiting.destination(), waiting.ticket(), detail);
                let seat = waiting.await.map_err(TooManyRequests::from)?;
                Ok(SeatGuard::seated(seat, entry))
            }
        }
    }

    fn place(
        &self,
        api: &Api,
        asked: &Asked<'_>,
        request: Request<'_>,
    ) -> Result<Admission, Rejected> {
        let arrival = Arrival {
            attributes: &request,
            waited: asked.http.map_or(Duration::ZERO, |http| http.received.elapsed()),
            wait_limit: self.wait_limit(asked),
            watch: request.is_resource && request.verb == "watch",
        };
        let query = asked.http.map(|http| http.query);
        self.layer.admit(arrival, |to| cost::estimate(api, &request, query, to.max_seats))
    }

    /// A quarter of the time that the request may take, unless the operator has set a limit.
    fn wait_limit(&self, asked: &Asked<'_>) -> Duration {
        let timeout = asked.http.and_then(|http| http.timeout).unwrap_or(TIMEOUT);
        match self.settings.queue_wait_limit {
            Some(limit) => limit.min(timeout),
            None => (timeout / 4).min(LONGEST_WAIT),
        }
    }
}

fn algorithm(profile: FairnessProfile) -> Algorithm {
    match profile {
        FairnessProfile::Evenkeel => Algorithm::default(),
        FairnessProfile::Kubernetes => Algorithm::kubernetes(),
        FairnessProfile::Proposal => Algorithm::proposal(),
    }
}

fn request<'a>(asked: &Asked<'a>) -> Request<'a> {
    let Attributes { verb, on, .. } = asked.attributes;
    let who = Request {
        user: &asked.user.name,
        groups: Groups::Owned(&asked.user.groups),
        verb,
        path: asked.http.map_or("", |http| http.uri.path()),
        method: asked.http.map_or("", |http| http.method.as_str()),
        ..Request::default()
    };
    match *on {
        On::Path(path) => Request { path, ..who },
        On::Resource { group, resource, subresource, namespace, name } => Request {
            is_resource: true,
            api_group: group,
            resource,
            subresource,
            namespace,
            name,
            ..who
        },
    }
}

// === impl TooManyRequests ===

impl From<Rejected> for TooManyRequests {
    fn from(rejected: Rejected) -> TooManyRequests {
        TooManyRequests { retry_after: rejected.retry_after, rejected: Some(rejected) }
    }
}

impl TooManyRequests {
    /// At level `debug`: whoever floods a server must not fill its disk too.
    pub(crate) fn log(&self) {
        let Some(rejected) = &self.rejected else {
            return tracing::debug!(reason = "max-in-flight", "request rejected");
        };
        let level = &rejected.destination.level;
        let (waiting, seats, limit) = level
            .view(|view| (view.set.waiting(), view.set.seats_in_use(), view.set.seats().limit));
        tracing::debug!(
            reason = reason(rejected.reason),
            flow_schema = &*rejected.destination.schema,
            priority_level = &*level.name,
            flow = ?rejected.flow,
            waiting,
            seats_in_use = seats,
            limit,
            "request rejected"
        );
    }
}

fn reason(reason: RejectReason) -> &'static str {
    reason.code()
}
