//! HTTP/2 clients: many streams on one connection, and resets.

use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_rustls::client::TlsStream;

use super::raw::connect;
use crate::process::Server;

/// One connection of the administrator, closed on drop.
pub(crate) struct Http2 {
    pub(crate) send: http2::SendRequest<Full<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Http2 {
    pub(crate) async fn connect(server: &Server) -> Http2 {
        Http2::over(connect(server, &["h2"]).await).await.unwrap()
    }

    pub(crate) async fn over(stream: TlsStream<TcpStream>) -> hyper::Result<Http2> {
        let stream = TokioIo::new(stream);
        let (send, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        Ok(Http2 { send, connection: tokio::spawn(connection) })
    }

    /// Sends a request. Dropping the future, or the response before its end, resets the stream.
    pub(crate) fn request<B: Into<Bytes>>(
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

    /// The status of a response that is read to its end: `h2` closes a connection whose client
    /// drops too many before that.
    pub(crate) fn code<B: Into<Bytes>>(
        &mut self,
        method: &str,
        path: &str,
        body: B,
    ) -> impl Future<Output = u16> + use<B> {
        let answer = self.request(method, path, body);
        async move {
            let answer = answer.await.unwrap();
            let code = answer.status().as_u16();
            answer.into_body().collect().await.unwrap();
            code
        }
    }

    pub(crate) fn get(
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
