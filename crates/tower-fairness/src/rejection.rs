//! The one place where a refusal becomes a response.

use bytes::Bytes;
use evenkeel_fairness::queues::stats::Refusal;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::json;

use crate::{head::Head, shared::Place};

/// A request that is not served, and why.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejection<'r> {
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

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
const FLOW_SCHEMA: HeaderName = HeaderName::from_static("x-evenkeel-flow-schema");
const LEVEL: HeaderName = HeaderName::from_static("x-evenkeel-priority-level");
const REASON: HeaderName = HeaderName::from_static("x-evenkeel-reason");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

impl Rejection<'_> {
    /// One sentence for whoever sent the request.
    pub fn message(&self) -> &'static str {
        match self.reason {
            Refusal::QueueFull => "too many requests of this flow are waiting already",
            Refusal::ConcurrencyLimit => "all seats of this priority level are taken",
            Refusal::TimeOut => "no seat became free while the request waited",
            Refusal::Cancelled => "the request was given up while it waited",
        }
    }
}

/// What is answered unless the server has its own words: 429 with JSON, or for gRPC
/// `RESOURCE_EXHAUSTED`.
pub fn answer(rejection: &Rejection<'_>) -> Response<Bytes> {
    let grpc = rejection.head.is_grpc();
    let mut response = match grpc {
        true => Response::new(Bytes::new()),
        false => Response::new(body(rejection)),
    };
    let headers = response.headers_mut();
    set(headers, FLOW_SCHEMA, rejection.flow_schema);
    set(headers, LEVEL, rejection.priority_level);
    headers.insert(REASON, HeaderValue::from_static(rejection.reason.code()));
    if grpc {
        // A response of headers only, as the gRPC protocol has it.
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(GRPC_STATUS, HeaderValue::from_static("8"));
        headers.insert(GRPC_MESSAGE, HeaderValue::from_static(rejection.message()));
        let millis = u64::from(rejection.retry_after) * 1000;
        headers.insert(GRPC_PUSHBACK, HeaderValue::from(millis));
    } else {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::RETRY_AFTER, HeaderValue::from(rejection.retry_after));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
}

fn body(rejection: &Rejection<'_>) -> Bytes {
    let body = json!({
        "code": 429,
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
    Bytes::from(body.to_string())
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
