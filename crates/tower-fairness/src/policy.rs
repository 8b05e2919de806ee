//! What a layer does where servers differ.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use evenkeel_fairness::{Request as Attributes, Width};
use http::Response;

use crate::{
    head::{Head, RequestTimeout},
    rejection::{Rejection, answer, answer_in_detail},
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
type Authorized = dyn Fn(Head<'_>) -> bool + Send + Sync;

#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) body: BodyPolicy,
    pub(crate) kubernetes_headers: bool,
    pub(crate) request_timeout: Duration,
    pub(crate) identify: Option<Arc<Identify>>,
    pub(crate) estimate: Option<Arc<Estimator>>,
    pub(crate) long_running: Option<Arc<Longevity>>,
    pub(crate) wait_limit: Option<Arc<Patience>>,
    pub(crate) answer: Option<Arc<Answer>>,
    pub(crate) details_for: Option<Arc<Authorized>>,
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

    pub(crate) fn answer(&self, rejection: &Rejection<'_>) -> Response<Bytes> {
        if let Some(answer) = &self.answer {
            return answer(rejection);
        }
        let details = self.details_for.as_ref().is_some_and(|may| may(rejection.head));
        if details { answer_in_detail(rejection) } else { answer(rejection) }
    }

    pub(crate) fn long_running(
        &self,
        head: Head<'_>,
        attributes: &Attributes<'_>,
    ) -> Option<LongRunning> {
        match &self.long_running {
            Some(long_running) => long_running(head, attributes),
            None => treat(head, attributes, LongRunning::SeatsAtStart),
        }
    }
}

/// A watch is treated so; what asks to take over the connection costs seats while it is set up. That
/// it asks is all that is known of it: any client can send an `Upgrade` header, so it never passes
/// outside.
pub(crate) fn treat(
    head: Head<'_>,
    attributes: &Attributes<'_>,
    watches: LongRunning,
) -> Option<LongRunning> {
    if is_watch(attributes) {
        return Some(watches);
    }
    head.upgrades().then_some(LongRunning::SeatsAtStart)
}

/// Only what the server itself has resolved to be one: nothing that a client writes into a query or
/// a method makes a plain request a watch.
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
            answer: None,
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
