//! The lines of a watch.
//!
//! kube's own stream takes every object for a `Status` that it can't decode otherwise: what is
//! wrong with one object would end the watch, without a word of it.

use std::{future::ready, io};

use futures_util::{AsyncBufReadExt as _, Stream, StreamExt as _};
use kube::{
    Client,
    core::{Status, WatchEvent},
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;

#[derive(Debug)]
pub(super) enum Line<T> {
    Event(WatchEvent<T>),
    /// An object that can't be decoded.
    Odd(serde_json::Error),
    /// The connection broke: there is no next line.
    Broken(io::Error),
}

/// Returns once the API server has answered that the watch has begun. Each line comes with the time
/// when it was read, before it was decoded.
pub(super) async fn open<T: DeserializeOwned>(
    client: &Client,
    request: http::Request<Vec<u8>>,
) -> kube::Result<impl Stream<Item = (Instant, Line<T>)> + use<T>> {
    let lines = client.request_stream(request).await?.lines();
    Ok(lines.filter_map(|line| {
        let at = Instant::now();
        let line = match line {
            Ok(line) => decoded(&line),
            Err(error) => Some(Line::Broken(error)),
        };
        ready(line.map(|line| (at, line)))
    }))
}

/// `None`: the watch ended in the middle of a line.
fn decoded<T: DeserializeOwned>(line: &str) -> Option<Line<T>> {
    let error = match serde_json::from_str(line) {
        Ok(event) => return Some(Line::Event(event)),
        Err(error) if error.is_eof() => return None,
        Err(error) => error,
    };
    Some(match serde_json::from_str::<Bare>(line) {
        Ok(Bare { kind, status }) if kind == "Status" => Line::Event(WatchEvent::Error(status)),
        _ => Line::Odd(error),
    })
}

/// A failure that is not wrapped in an event.
#[derive(Deserialize)]
struct Bare {
    kind: String,
    #[serde(flatten)]
    status: Box<Status>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::Node;

    fn said(line: &str) -> String {
        match decoded::<Node>(line) {
            Some(Line::Event(WatchEvent::Error(status))) => format!("status {}", status.code),
            Some(Line::Event(event)) => format!("{event:?}"),
            Some(Line::Odd(error)) => format!("odd: {error}"),
            Some(Line::Broken(error)) => format!("broken: {error}"),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_line_is_an_event_a_failure_or_odd() {
        let cases = [
            (r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#, "Added event"),
            (r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#, "status 410"),
            (r#"{"kind":"Status","code":500,"message":"no"}"#, "status 500"),
            (r#"{"type":"ADDED","object":{"metadata":{"na"#, "nothing"),
            ("", "nothing"),
            (r#"{"type":"ADDED","object":{"metadata":{"name":[]}}}"#, "odd: "),
            (r#"{"type":"NEW","object":{}}"#, "odd: "),
            (r#"{"kind":"List"}"#, "odd: "),
            ("<html>", "odd: "),
        ];
        for (line, expected) in cases {
            let said = said(line);
            let is_same = said == expected || (expected == "odd: " && said.starts_with(expected));
            assert!(is_same, "{line}: {said}");
        }
    }
}
