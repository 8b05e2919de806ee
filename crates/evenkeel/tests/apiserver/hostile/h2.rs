//! HTTP/2 clients: many streams on one connection, and resets.

use http_body_util::Full;
use hyper::{Request, body::Bytes, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinHandle;

use super::raw::connect;
use crate::process::Server;

/// One connection of the administrator. Ends with the value.
pub(super) struct Http2 {
    pub(super) send: http2::SendRequest<Full<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Http2 {
    pub(super) async fn connect(server: &Server) -> Http2 {
        let stream = TokioIo::new(connect(server, &["h2"]).await);
        let (send, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        Http2 { send, connection: tokio::spawn(connection) }
    }

    /// Sends a request. Dropping the future, or the response before its end, resets the stream.
    pub(super) fn request<B: Into<Bytes>>(
        &mut self,
        method: &str,
        path: &str,
        body: B,
    ) -> impl Future<Output = hyper::Result<hyper::Response<hyper::body::Incoming>>> + use<B> {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .unwrap();
        self.send.send_request(request)
    }

    pub(super) fn get(
        &mut self,
        path: &str,
    ) -> impl Future<Output = hyper::Result<hyper::Response<hyper::body::Incoming>>> + use<> {
        self.request("GET", path, Bytes::new())
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.connection.abort();
    }
}
