//! One user's connection: HTTP/1.1 over TLS, one request at a time.

use std::{convert::Infallible, sync::Arc, time::Duration};

use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request,
    body::{Bytes, Frame},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::Notify;

use super::{server::Target, users::User};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";

/// A connection, closed on drop.
#[derive(Debug)]
pub(crate) struct Client {
    send: http1::SendRequest<Body>,
    token: String,
}

type Body = BoxBody<Bytes, Infallible>;

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) async fn connect(target: &Target, user: &User) -> Client {
        let stream = TokioIo::new(target.stream(&["http/1.1"]).await);
        let (send, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Client { send, token: format!("Bearer {}", user.name) }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, JSON, String::new()).await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Answer {
        let body = Full::new(body.into()).boxed();
        self.ask(self.request(method, path, content_type, body)).await
    }

    /// The body follows so long after the server has asked for it. Until then the request holds its
    /// seat, and nobody a core.
    pub(crate) async fn send_slowly(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
        hold: Duration,
    ) -> Answer {
        let asked_for = Arc::new(Notify::new());
        let (awaited, bytes) = (asked_for.clone(), body.into());
        let body = stream::once(async move {
            awaited.notified().await;
            tokio::time::sleep(hold).await;
            Ok(Frame::data(bytes))
        });
        let mut request =
            self.request(method, path, content_type, BodyExt::boxed(StreamBody::new(body)));
        request.headers_mut().insert("expect", "100-continue".parse().unwrap());
        hyper::ext::on_informational(&mut request, move |_| asked_for.notify_one());
        self.ask(request).await
    }

    fn request(&self, method: &str, path: &str, content_type: &str, body: Body) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", &self.token)
            .header("content-type", content_type)
            .body(body)
            .unwrap()
    }

    async fn ask(&mut self, request: Request<Body>) -> Answer {
        self.send.ready().await.unwrap();
        let response = self.send.send_request(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer { code, body }
    }

    /// For what must succeed.
    pub(crate) async fn create(&mut self, path: &str, object: &Value) -> Value {
        let answer = self.send("POST", path, JSON, object.to_string()).await;
        assert_eq!(answer.code, 201, "{path}: {}", answer.text());
        answer.json()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn is_served(&self) -> bool {
        (200..300).contains(&self.code)
    }
}
