//! One request to the API server, and what it answers.
//!
//! Only what is needed of an answer is read: callers name a type that skips the rest.

use std::{fmt, time::Duration};

use evenkeel_k8s::live::in_short;
use kube::{
    Client,
    client::Body,
    core::{Status, request},
};
use serde::de::DeserializeOwned;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server says when it wants to be asked again, but not in how many hours.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How much of an answer that is not Kubernetes' own is quoted.
const QUOTED: usize = 200;

/// A request that is ready to be sent, or why it can't be built.
pub(crate) type Built = Result<http::Request<Vec<u8>>, request::Error>;

/// Why there is no answer to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The API server said no.
    Refused {
        code: u16,
        /// Kubernetes' word for it, such as `AlreadyExists`.
        reason: String,
        message: String,
        /// When it wants to be asked again.
        after: Option<Duration>,
        causes: Vec<Cause>,
    },
    /// Nothing is known of what became of the request: no connection, a connection that broke, no
    /// answer in time, an answer that can't be read.
    Lost(String),
    /// No request can be built of this.
    Unsendable(String),
}

/// One of the reasons that the API server gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Kubernetes' word for it, such as `NamespaceTerminating`.
    pub(crate) reason: String,
    /// The field it is about; empty where it is about none.
    pub(crate) field: String,
}

/// Sends the request and reads the answer.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &Client,
    request: Built,
) -> Result<T, Failure> {
    let request = request.map_err(|error| Failure::Unsendable(error.to_string()))?;
    let asked = tokio::time::timeout(PATIENCE, exchange(client, request)).await;
    asked.unwrap_or_else(|_| Err(Failure::Lost(format!("timed out after {PATIENCE:?}"))))
}

async fn exchange<T: DeserializeOwned>(
    client: &Client,
    request: http::Request<Vec<u8>>,
) -> Result<T, Failure> {
    let lost = |error: kube::Error| Failure::Lost(in_short(&error));
    let response = client.send(request.map(Body::from)).await.map_err(lost)?;
    let status = response.status();
    let after = response.headers().get(http::header::RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.parse().ok()).map(wait);
    let body = response.into_body().collect_bytes().await.map_err(lost)?;
    if !status.is_success() {
        return Err(refused(status.as_u16(), after, &body));
    }
    serde_json::from_slice(&body)
        .map_err(|error| Failure::Lost(format!("invalid response: {error}")))
}

fn wait(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// A proxy on the way, or Kubernetes' own guard against overload, answers without a `Status`.
fn refused(code: u16, header: Option<Duration>, body: &[u8]) -> Failure {
    let Ok(status) = serde_json::from_slice::<Status>(body) else {
        let text = String::from_utf8_lossy(body);
        let message = text.trim().chars().take(QUOTED).collect();
        let reason = String::new();
        return Failure::Refused { code, reason, message, after: header, causes: vec![] };
    };
    let Status { reason, message, details, .. } = status;
    let seconds = details.as_ref().map(|details| details.retry_after_seconds);
    let after = seconds.filter(|seconds| *seconds > 0).map(|seconds| wait(seconds.into()));
    let causes = details.into_iter().flat_map(|details| details.causes);
    let causes = causes.map(|cause| Cause { reason: cause.reason, field: cause.field }).collect();
    Failure::Refused { code, reason, message, after: after.or(header), causes }
}

// === impl Failure ===

impl Failure {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Failure::Refused { code, .. } => Some(*code),
            Failure::Lost(_) | Failure::Unsendable(_) => None,
        }
    }

    /// Whether the same request may do better later: nothing is known of it, or the API server is
    /// busy.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Failure::Refused { code, .. } => matches!(code, 408 | 429 | 500..),
            Failure::Lost(_) => true,
            Failure::Unsendable(_) => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused { code, message, .. } => write!(f, "{message} ({code})"),
            Failure::Lost(message) | Failure::Unsendable(message) => f.write_str(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16, header: Option<u64>, body: &str, expected: (&str, &str, Option<u64>)) {
        let given = refused(code, header.map(Duration::from_secs), body.as_bytes());
        let (reason, message, after) = expected;
        let after = after.map(Duration::from_secs);
        let (reason, message) = (reason.to_owned(), message.to_owned());
        let causes = vec![];
        assert_eq!(given, Failure::Refused { code, reason, message, after, causes }, "{body}");
    }

    #[test]
    fn refusals_are_read_from_a_status_or_from_whatever_came() {
        let status = r#"{"kind":"Status","reason":"Conflict","message":"changed","code":409}"#;
        check(409, None, status, ("Conflict", "changed", None));
        let busy = r#"{"kind":"Status","reason":"TooManyRequests","message":"busy",
            "details":{"retryAfterSeconds":7},"code":429}"#;
        check(429, None, busy, ("TooManyRequests", "busy", Some(7)));
        check(429, Some(3), busy, ("TooManyRequests", "busy", Some(7)));
        // One that wants to be left alone for a century is asked again all the same.
        let never = r#"{"kind":"Status","reason":"TooManyRequests","message":"busy",
            "details":{"retryAfterSeconds":4294967295},"code":429}"#;
        check(429, None, never, ("TooManyRequests", "busy", Some(300)));
        assert_eq!(wait(u64::MAX), LONGEST_WAIT);
        // Kubernetes' priority and fairness answers so.
        let text = "Too many requests, please try again later.\n";
        check(429, Some(1), text, ("", text.trim(), Some(1)));
        check(502, None, "<html>", ("", "<html>", None));
        let long = "ä".repeat(1000);
        check(502, None, &long, ("", &"ä".repeat(QUOTED), None));
        check(503, None, "", ("", "", None));
        check(500, None, "{}", ("", "", None));
        let invalid = r#"{"kind":"Status","reason":"Invalid","message":"no",
            "details":{"causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}]}}"#;
        let Failure::Refused { causes, .. } = refused(422, None, invalid.as_bytes()) else {
            panic!("it is a refusal")
        };
        let (reason, field) = ("FieldValueInvalid".to_owned(), "metadata.uid".to_owned());
        assert_eq!(causes, [Cause { reason, field }]);
    }
}
