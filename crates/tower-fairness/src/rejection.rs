//! Turns a rejection into a response; nothing else does.
//!
//! Clients don't learn how a server is divided and how loaded it is: an attacker who sees the effect
//! of a flood can aim better. They learn when to retry, and an id by which an operator finds the rest
//! in the log. Clients that the server authorizes learn everything.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use evenkeel_fairness::queues::stats::RejectReason;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::{head::Head, shared::Destination};

/// A request that is rejected, and why.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejection<'r> {
    pub id: RejectionId,
    pub head: Head<'r>,
    pub reason: RejectReason,
    /// After how many seconds the client is asked to retry.
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

/// Identifies a rejection to its client and in the log: 64 random bits, so that it does not reveal how
/// many there were.
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

    /// One sentence for clients that are authorized to see it.
    pub fn message(&self) -> &'static str {
        match self.reason {
            RejectReason::QueueFull => "too many requests of this flow are waiting already",
            RejectReason::ConcurrencyLimit => "all seats of this priority level are taken",
            RejectReason::TimeOut => "no seat became free while the request waited",
            RejectReason::Cancelled => "the request was cancelled while it waited",
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

/// The default response to a rejected request: 429 with JSON, or for gRPC `RESOURCE_EXHAUSTED`; with
/// when to retry, and the id.
pub fn rejection_response(rejection: &Rejection<'_>) -> Response<Bytes> {
    let message = "too many requests, try again later";
    let body = json!({ "code": 429, "message": message, "id": rejection.id.to_string() });
    respond(rejection, message, &body)
}

/// The same for clients that are authorized to see why: flow schema, priority level and reason as
/// headers, and everything as JSON.
pub fn detailed_rejection_response(rejection: &Rejection<'_>) -> Response<Bytes> {
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

/// Which objects a request was handled by, as in Kubernetes: UIDs, which mean nothing to clients that
/// may not read the objects.
pub(crate) fn set_kubernetes_headers(headers: &mut HeaderMap, destination: &Destination) {
    set(headers, FLOW_SCHEMA_UID, &destination.schema_uid);
    set(headers, LEVEL_UID, &destination.level_uid);
}

/// Values that are not valid in a header are left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
