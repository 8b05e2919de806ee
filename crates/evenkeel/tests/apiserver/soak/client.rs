//! Requests of well-behaved clients over HTTP/2.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes};
use serde_json::Value;
use tokio::time::timeout;

use crate::hostile::{h2::Http2, raw};

/// Far longer than any request takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";

/// Reconnects after an error.
pub(super) struct Client<'a> {
    life: &'a super::Life,
    connection: Option<Http2>,
}

/// Code and body.
pub(super) type Answer = (u16, Value);

impl Client<'_> {
    pub(super) fn new(life: &super::Life) -> Client<'_> {
        Client { life, connection: None }
    }

    /// `None`: the result is unknown.
    pub(super) async fn send(
        &mut self,
        line: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Option<Answer> {
        let answer = timeout(PATIENCE, self.attempt(line, content_type, body.into())).await;
        let answer = answer.unwrap_or_else(|_| {
            self.life.problem(format!("{line}: no answer within {PATIENCE:?}"));
            None
        });
        if answer.is_none() {
            self.connection = None;
        }
        answer
    }

    pub(super) async fn get(&mut self, path: &str) -> Option<Answer> {
        self.send(&format!("GET {path}"), JSON, Bytes::new()).await
    }

    async fn attempt(&mut self, line: &str, content_type: &str, body: Bytes) -> Option<Answer> {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("content-type", content_type)
            .body(Full::new(body))
            .unwrap();
        let connection = self.connected().await?;
        let response = connection.send.send_request(request).await.ok()?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((code, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    async fn connected(&mut self) -> Option<&mut Http2> {
        if self.connection.is_none() {
            let stream = raw::try_connect(&self.life.cluster.server, &["h2"]).await.ok()?;
            self.connection = Some(Http2::over(stream).await.ok()?);
        }
        self.connection.as_mut()
    }
}
