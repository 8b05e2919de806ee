//! What a layer does where servers differ.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use evenkeel_fairness::{Request as Attributes, Width};
use http::Response;

use crate::{
    head::{Head, RequestTimeout},
    rejection::{Rejection, answer},
};

/// Until when a request keeps its seats.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BodyPolicy {
    /// Until its response body ends, fails or is dropped, but no longer than
    /// [`Settings::response_hold`](evenkeel_fairness::Settings) after the head.
    #[default]
    HoldUntilEnd,
    /// Until the head of its response is there.
    ReleaseAtHead,
}

/// What happens to a request whose response has no foreseeable end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LongRunning {
    /// It passes: it is not classified, takes no seats and is not counted.
    Outside,
    /// It takes seats until the head of its response is there.
    SeatsAtStart,
}

/// What a request is expected to cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Estimate {
    pub width: Width,
    /// How many watches are told of what it changes, where that was looked at. It is counted in
    /// `apiserver_flowcontrol_watch_count_samples`.
    pub watches: Option<u32>,
}

impl From<Width> for Estimate {
    fn from(width: Width) -> Self {
        Estimate { width, watches: None }
    }
}

type Identify = dyn for<'r> Fn(Head<'r>, Attributes<'r>) -> Attributes<'r> + Send + Sync;
type Estimator = dyn Fn(Head<'_>, &Attributes<'_>, u32) -> Estimate + Send + Sync;
type Longevity = dyn Fn(Head<'_>, &Attributes<'_>) -> Option<LongRunning> + Send + Sync;
type Patience = dyn Fn(Head<'_>) -> Duration + Send + Sync;
type Answer = dyn Fn(&Rejection<'_>) -> Response<Bytes> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) body: BodyPolicy,
    pub(crate) kubernetes_headers: bool,
    pub(crate) request_timeout: Duration,
    pub(crate) identify: Option<Arc<Identify>>,
    pub(crate) estimate: Option<Arc<Estimator>>,
    pub(crate) long_running: Option<Arc<Longevity>>,
    pub(crate) wait_limit: Option<Arc<Patience>>,
    pub(crate) answer: Arc<Answer>,
}

/// No request waits for longer, as in Kubernetes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Policy {
    /// For how long a request may wait: a quarter of what it may take in all.
    pub(crate) fn wait_limit(&self, head: Head<'_>) -> Duration {
        if let Some(wait_limit) = &self.wait_limit {
            return wait_limit(head);
        }
        let timeout = head.extensions.get::<RequestTimeout>();
        let timeout = timeout.map_or(self.request_timeout, |RequestTimeout(timeout)| *timeout);
        (timeout / 4).min(LONGEST_WAIT)
    }

    pub(crate) fn long_running(
        &self,
        head: Head<'_>,
        attributes: &Attributes<'_>,
    ) -> Option<LongRunning> {
        match &self.long_running {
            Some(long_running) => long_running(head, attributes),
            None => by_default(head, attributes),
        }
    }
}

/// A watch, or what takes over the connection, costs seats while it is set up. Neither passes
/// outside unless the server says so: any client can send an `Upgrade` header.
fn by_default(head: Head<'_>, attributes: &Attributes<'_>) -> Option<LongRunning> {
    (head.upgrades() || is_watch(head, attributes)).then_some(LongRunning::SeatsAtStart)
}

pub(crate) fn is_watch(head: Head<'_>, attributes: &Attributes<'_>) -> bool {
    attributes.verb == "watch" || head.watches()
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            body: BodyPolicy::default(),
            kubernetes_headers: false,
            request_timeout: Duration::from_secs(60),
            identify: None,
            estimate: None,
            long_running: None,
            wait_limit: None,
            answer: Arc::new(answer),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Policy { body, kubernetes_headers, request_timeout, .. } = self;
        f.debug_struct("Policy")
            .field("body", body)
            .field("kubernetes_headers", kubernetes_headers)
            .field("request_timeout", request_timeout)
            .finish_non_exhaustive()
    }
}
