//! What servers configure.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use evenkeel_fairness::{Request as Attributes, Width};
use http::Response;

use crate::{
    head::{Head, RequestTimeout},
    rejection::{Rejection, detailed_rejection_response, rejection_response},
};

/// How long a request holds its seats.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BodyPolicy {
    /// Until its response body ends, fails or is dropped, but no longer than
    /// [`Settings::response_hold`](evenkeel_fairness::Settings) after the head.
    #[default]
    HoldUntilEnd,
    /// Until the head of its response is sent.
    ReleaseAtHead,
}

/// How a long-running request is handled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LongRunning {
    /// It is not classified, takes no seats and is not counted.
    Bypass,
    /// It holds seats until the head of its response is sent.
    ReleaseAtHead,
}

/// The estimated cost of a request.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Estimate {
    pub width: Width,
    /// How many watches are notified of its change, if known. It is counted in
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
type ClassifyLongRunning = dyn Fn(Head<'_>, &Attributes<'_>) -> Option<LongRunning> + Send + Sync;
type WaitLimit = dyn Fn(Head<'_>) -> Duration + Send + Sync;
type RejectionResponse = dyn Fn(&Rejection<'_>) -> Response<Bytes> + Send + Sync;
type Authorized = dyn Fn(Head<'_>) -> bool + Send + Sync;

#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) body: BodyPolicy,
    pub(crate) kubernetes_headers: bool,
    pub(crate) request_timeout: Duration,
    pub(crate) identify: Option<Arc<Identify>>,
    pub(crate) estimate: Option<Arc<Estimator>>,
    pub(crate) long_running: Option<Arc<ClassifyLongRunning>>,
    pub(crate) wait_limit: Option<Arc<WaitLimit>>,
    pub(crate) rejection_response: Option<Arc<RejectionResponse>>,
    pub(crate) details_for: Option<Arc<Authorized>>,
}

/// The longest wait, as in Kubernetes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Policy {
    /// The maximum time that a request may wait: a quarter of its timeout.
    pub(crate) fn wait_limit(&self, head: Head<'_>) -> Duration {
        if let Some(wait_limit) = &self.wait_limit {
            return wait_limit(head);
        }
        let timeout = head.extensions.get::<RequestTimeout>();
        let timeout = timeout.map_or(self.request_timeout, |RequestTimeout(timeout)| *timeout);
        (timeout / 4).min(LONGEST_WAIT)
    }

    pub(crate) fn respond(&self, rejection: &Rejection<'_>) -> Response<Bytes> {
        if let Some(respond) = &self.rejection_response {
            return respond(rejection);
        }
        let details = self.details_for.as_ref().is_some_and(|may| may(rejection.head));
        if details { detailed_rejection_response(rejection) } else { rejection_response(rejection) }
    }

    pub(crate) fn long_running(
        &self,
        head: Head<'_>,
        attributes: &Attributes<'_>,
    ) -> Option<LongRunning> {
        match &self.long_running {
            Some(long_running) => long_running(head, attributes),
            None => long_running(head, attributes, LongRunning::ReleaseAtHead),
        }
    }
}

/// How a watch is handled, and other long-running requests: what asks to take over the connection
/// holds seats until the head of its response. Any client can send an `Upgrade` header, so such a
/// request never bypasses the limits.
pub(crate) fn long_running(
    head: Head<'_>,
    attributes: &Attributes<'_>,
    watches: LongRunning,
) -> Option<LongRunning> {
    if is_watch(attributes) {
        return Some(watches);
    }
    head.upgrades().then_some(LongRunning::ReleaseAtHead)
}

/// Only what the server itself identified as one: nothing in a client's query or method makes a plain
/// request a watch.
pub(crate) fn is_watch(attributes: &Attributes<'_>) -> bool {
    attributes.is_resource && attributes.verb == "watch"
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
            rejection_response: None,
            details_for: None,
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
