//! The one place where a refusal becomes a response.
//!
//! How a server is divided and how loaded it is are no business of strangers: who could watch the
//! effect of a flood would aim better. They are told when to come back, and an id by which an
//! operator finds the rest in the log. Whom the server authorizes is told all.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use evenkeel_fairness::queues::stats::Refusal;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::{head::Head, shared::Place};

/// A request that is not served, and why.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejection<'r> {
    pub id: RejectionId,
    pub head: Head<'r>,
    pub reason: Refusal,
    /// For how many seconds the client is asked to stay away.
    pub retry_after: u32,
    pub flow_schema: &'r str,
    pub flow_schema_uid: &'r str,
    pub priority_level: &'r str,
    pub priority_level_uid: &'r str,
    /// The flow distinguisher; empty where the level does not tell flows apart.
    pub flow: &'r str,
    /// How many requests wait in the level.
    pub waiting: u32,
    pub seats_in_use: u64,
    /// How many seats the level may use now.
    pub limit: u32,
}

/// Names a rejection to its client and in the log: 64 bits, drawn, so that it tells nobody how many
/// there were.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RejectionId(u64);

#[derive(Debug, Default)]
pub(crate) struct RejectionIds {
    key: RandomState,
    next: AtomicU64,
}

const ID: HeaderName = HeaderName::from_static("x-evenkeel-rejection-id");
const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
const FLOW_SCHEMA: HeaderName = HeaderName::from_static("x-evenkeel-flow-schema");
const LEVEL: HeaderName = HeaderName::from_static("x-evenkeel-priority-level");
const REASON: HeaderName = HeaderName::from_static("x-evenkeel-reason");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

impl Rejection<'_> {
    /// At level `debug`: whoever floods a server must not fill its disk too.
    pub(crate) fn log(&self) {
        tracing::debug!(
            id = %self.id,
            method = %self.head.method,
            path = ?self.head.uri.path(),
            reason = self.reason.code(),
            flow_schema = self.flow_schema,
            priority_level = self.priority_level,
            flow = ?self.flow,
            waiting = self.waiting,
            seats_in_use = self.seats_in_use,
            limit = self.limit,
            "request rejected"
        );
    }

    /// One sentence for who may know.
    pub fn message(&self) -> &'static str {
        match self.reason {
            Refusal::QueueFull => "too many requests of this flow are waiting already",
            Refusal::ConcurrencyLimit => "all seats of this priority level are taken",
            Refusal::TimeOut => "no seat became free while the request waited",
            Refusal::Cancelled => "the request was given up while it waited",
        }
    }
}

impl fmt::Display for RejectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl RejectionIds {
    pub(crate) fn next(&self) -> RejectionId {
        RejectionId(self.key.hash_one(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// What is answered unless the server has its own words: 429 with JSON, or for gRPC
/// `RESOURCE_EXHAUSTED`; when to come back, and the id.
pub fn answer(rejection: &Rejection<'_>) -> Response<Bytes> {
    let message = "too many requests, try again later";
    let body = json!({ "code": 429, "message": message, "id": rejection.id.to_string() });
    respond(rejection, message, &body)
}

/// The same for those who may know why: flow schema, priority level and reason as headers, and all
/// there is as JSON.
pub fn answer_in_detail(rejection: &Rejection<'_>) -> Response<Bytes> {
    let body = json!({
        "code": 429,
        "id": rejection.id.to_string(),
        "reason": rejection.reason.code(),
        "message": rejection.message(),
        "flowSchema": rejection.flow_schema,
        "priorityLevel": rejection.priority_level,
        "flow": rejection.flow,
        "retryAfterSeconds": rejection.retry_after,
        "waiting": rejection.waiting,
        "seatsInUse": rejection.seats_in_use,
        "limit": rejection.limit,
    });
    let mut response = respond(rejection, rejection.message(), &body);
    let headers = response.headers_mut();
    set(headers, FLOW_SCHEMA, rejection.flow_schema);
    set(headers, LEVEL, rejection.priority_level);
    headers.insert(REASON, HeaderValue::from_static(rejection.reason.code()));
    response
}

fn respond(rejection: &Rejection<'_>, message: &'static str, body: &Value) -> Response<Bytes> {
    let grpc = rejection.head.is_grpc();
    let mut response = match grpc {
        true => Response::new(Bytes::new()),
        false => Response::new(Bytes::from(body.to_string())),
    };
    let headers = response.headers_mut();
    set(headers, ID, &rejection.id.to_string());
    if grpc {
        // A response of headers only, as the gRPC protocol has it.
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(GRPC_STATUS, HeaderValue::from_static("8"));
        headers.insert(GRPC_MESSAGE, HeaderValue::from_static(message));
        let millis = u64::from(rejection.retry_after) * 1000;
        headers.insert(GRPC_PUSHBACK, HeaderValue::from(millis));
    } else {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::RETRY_AFTER, HeaderValue::from(rejection.retry_after));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
}

/// Which objects a request was handled by, as Kubernetes tells: UIDs, which say nothing to those
/// who may not read the objects.
pub(crate) fn set_kubernetes_headers(headers: &mut HeaderMap, place: &Place) {
    set(headers, FLOW_SCHEMA_UID, &place.schema_uid);
    set(headers, LEVEL_UID, &place.level_uid);
}

/// A value that can't be one of a header is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
