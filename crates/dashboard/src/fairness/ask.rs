//! One document of an API server, bounded in time and size.

use std::time::Duration;

use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use kube::{Client, client::Body};

use crate::view::fairness::{Absent, Part};

/// Until the whole answer is there.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

pub(super) struct Answer {
    pub text: String,
    /// By the clock of the server.
    pub date: Option<Timestamp>,
}

/// The document at a path, which has at most so many bytes.
pub(super) async fn text(client: &Client, path: &'static str, most: usize) -> Part<Answer> {
    let answer = tokio::time::timeout(PATIENCE, get(client, path, most)).await;
    answer.unwrap_or(Err(Absent::TimedOut { seconds: PATIENCE.as_secs() }))
}

async fn get(client: &Client, path: &'static str, most: usize) -> Part<Answer> {
    let request = Request::get(path).body(Body::empty()).map_err(|error| failed(&error))?;
    let response = client.send(request).await.map_err(|error| failed(&error))?;
    if response.status() != StatusCode::OK {
        return Err(Absent::Refused { code: response.status().as_u16() });
    }
    let date = date(response.headers());
    let body = Limited::new(response.into_body(), most).collect().await;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => Absent::TooLarge { megabytes: most >> 20 },
        false => failed(&*error),
    })?;
    let text = String::from_utf8(body.to_bytes().into()).map_err(|_| Absent::Malformed)?;
    Ok(Answer { text, date })
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Absent {
    Absent::Failed { reason: evenkeel_k8s::live::innermost(error) }
}

fn date(headers: &HeaderMap) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    PARSER.parse_timestamp(headers.get(header::DATE)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests;
