//! Request logging, and the ids that connect the log lines of one request.
//!
//! One line per request at debug, at info if it was slow. A request has an audit id, its own or a
//! new one, and may have a `traceparent` (W3C Trace Context): both are logged and returned with the
//! response.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use tracing::{Instrument, Span, field::Empty};

use crate::{
    identity::{Attributes, On, User},
    random,
};

/// Slower requests are logged at level info.
const SLOW: Duration = Duration::from_millis(500);
const LONGEST_AUDIT_ID: usize = 64;
const LONGEST_PATH: usize = 256;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The audit id of a request; an extension of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditId(pub(crate) HeaderValue);

/// Records what becomes known of a request after its start; an extension of the request.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpan {
    span: Span,
    user: Arc<OnceLock<Arc<User>>>,
}

/// One request, from its arrival to its response.
#[derive(Debug)]
pub(crate) struct Trace {
    method: Method,
    uri: Uri,
    audit_id: HeaderValue,
    traceparent: Option<HeaderValue>,
    begun: Instant,
    span: Span,
    user: Arc<OnceLock<Arc<User>>>,
}

impl RequestSpan {
    /// Verb and resource: `get`, `pods/status`. Paths have no resource.
    pub(crate) fn attributes(&self, attributes: &Attributes<'_>) {
        if self.span.is_disabled() {
            return;
        }
        self.span.record("verb", attributes.verb);
        match attributes.on {
            On::Resource { resource, subresource: "", .. } => {
                self.span.record("resource", resource);
            }
            On::Resource { resource, subresource, .. } => {
                // As a text, which is escaped: both come from a path.
                self.span.record("resource", format!("{resource}/{subresource}"));
            }
            On::Path(_) => {}
        }
    }

    /// The request is classified: the names of its flow schema and its priority level.
    pub(crate) fn destination(&self, schema: &str, level: &str) {
        if !self.span.is_disabled() {
            self.span.record("apf_fs", schema);
            self.span.record("apf_pl", level);
        }
    }

    /// The request is authenticated.
    pub(crate) fn user(&self, user: &Arc<User>) {
        self.span.record("user", &*user.name);
        let _ = self.user.set(Arc::clone(user));
    }
}

impl Trace {
    /// Begins, and adds the [`AuditId`] and the [`RequestSpan`] to the request.
    pub(crate) fn begin(request: &mut Request<Body>) -> Trace {
        let headers = request.headers();
        let audit_id = audit_id(headers).unwrap_or_else(fresh_audit_id);
        let traceparent = traceparent(headers);
        let (method, uri) = (request.method().clone(), request.uri().clone());
        // Values needed only in log lines are computed only if a line is written.
        let span = tracing::debug_span!(
            "request",
            %method,
            path = shown(&uri),
            audit_id = text(&audit_id),
            traceparent = traceparent.as_ref().map(text),
            // Known later: see [`RequestSpan`].
            verb = Empty,
            resource = Empty,
            user = Empty,
            apf_fs = Empty,
            apf_pl = Empty,
        );
        let user: Arc<OnceLock<Arc<User>>> = Arc::default();
        request.extensions_mut().insert(AuditId(audit_id.clone()));
        request
            .extensions_mut()
            .insert(RequestSpan { span: span.clone(), user: Arc::clone(&user) });
        Trace { method, uri, audit_id, traceparent, begun: Instant::now(), span, user }
    }

    /// Runs within this request's span.
    pub(crate) fn within<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        future.instrument(self.span.clone())
    }

    /// Logs an error of this request that is handled here.
    pub(crate) fn error(&self, what: &str) {
        let Trace { method, uri, audit_id, span, .. } = self;
        let (path, audit_id, user) = (shown(uri), text(audit_id), self.user());
        span.in_scope(|| tracing::error!(%method, path, user, audit_id, "{what}"));
    }

    /// Ends: logs the request, and returns the ids with the response.
    pub(crate) fn end(&self, response: &mut Response<Body>) {
        let Trace { method, uri, audit_id, traceparent, begun, span, .. } = self;
        let (code, duration) = (response.status().as_u16(), begun.elapsed());
        let duration_ms = millis(duration);
        span.in_scope(|| match duration > SLOW {
            true => tracing::info!(
                %method,
                path = shown(uri),
                user = self.user(),
                code,
                duration_ms,
                audit_id = text(audit_id),
                "slow request"
            ),
            false => tracing::debug!(code, duration_ms, "request completed"),
        });
        response.headers_mut().insert(AUDIT_ID, audit_id.clone());
        if let Some(traceparent) = traceparent {
            response.headers_mut().insert(TRACEPARENT, traceparent.clone());
        }
    }

    fn user(&self) -> Option<&str> {
        self.user.get().map(|user| user.name.as_str())
    }
}

/// The client's id, if it is short and plain.
fn audit_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(&AUDIT_ID)?;
    let is_plain = given.as_bytes().iter().all(u8::is_ascii_graphic);
    let fits = (1..=LONGEST_AUDIT_ID).contains(&given.len());
    (is_plain && fits).then(|| given.clone())
}

/// A random UUID (version 4).
fn fresh_audit_id() -> HeaderValue {
    HeaderValue::try_from(random::uuid()).expect("digits and dashes")
}

/// The client's trace, if it has the form `00-TRACE-PARENT-FLAGS`.
fn traceparent(headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(&TRACEPARENT)?;
    let parts: Vec<&str> = given.to_str().ok()?.split('-').collect();
    let is_hex = |part: &str, len| {
        part.len() == len && part.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    };
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace, parent, flags] = parts[..] else { return None };
    let is_right =
        is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    (is_right && version != "ff" && !is_zero(trace) && !is_zero(parent)).then(|| given.clone())
}

fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

/// A duration as a field of a log line.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A path in a form that fits into a log line.
fn shown(uri: &Uri) -> String {
    uri.path().chars().take(LONGEST_PATH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(headers: &[(&str, &str)]) -> (AuditId, Response<Body>) {
        let mut request = Request::get("/api");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        let trace = Trace::begin(&mut request);
        let mut response = Response::new(Body::empty());
        trace.end(&mut response);
        (request.extensions().get::<AuditId>().unwrap().clone(), response)
    }

    #[test]
    fn an_audit_id_is_kept_or_made() {
        let (id, response) = traced(&[("Audit-ID", "abc-1")]);
        assert_eq!(id.0, "abc-1");
        assert_eq!(response.headers()["audit-id"], "abc-1");
        for given in ["", "two words", &"x".repeat(65)] {
            let (id, response) = traced(&[("Audit-ID", given)]);
            let made = id.0.to_str().unwrap();
            assert_eq!(response.headers()["audit-id"], made);
            assert_eq!(made.len(), 36, "{made}");
            assert_eq!(&made[14..15], "4", "{made}");
            assert!(matches!(&made[19..20], "8" | "9" | "a" | "b"), "{made}");
        }
        assert_ne!(traced(&[]).0, traced(&[]).0);
    }

    #[test]
    fn a_traceparent_is_passed_on_if_it_is_one() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(traced(&[("traceparent", good)]).1.headers()["traceparent"], good);
        for bad in [
            "",
            "x",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert!(
                !traced(&[("traceparent", bad)]).1.headers().contains_key("traceparent"),
                "{bad}"
            );
        }
    }
}
