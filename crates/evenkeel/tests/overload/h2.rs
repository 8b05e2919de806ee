//! A connection over HTTP/2 whose streams can be reset.

use http_body_util::{BodyExt as _, combinators::BoxBody};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http2,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinHandle;

use crate::rig::{server::Target, users::User};

pub(crate) type Body = BoxBody<Bytes, std::convert::Infallible>;

/// The least that a connection can have.
const WINDOW: u32 = 65_535;

/// Closed on drop.
pub(crate) struct Http2 {
    send: http2::SendRequest<Body>,
    token: String,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Http2 {
    pub(crate) async fn connect(target: &Target, user: &User) -> Http2 {
        Http2::over(target, user, &http2::Builder::new(TokioExecutor::new())).await
    }

    /// With windows so small that what is not read soon stays with the server.
    pub(crate) async fn connect_narrow(target: &Target, user: &User) -> Http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        Http2::over(target, user, &builder).await
    }

    async fn over(target: &Target, user: &User, with: &http2::Builder<TokioExecutor>) -> Http2 {
        let stream = TokioIo::new(target.stream(&["h2"]).await);
        let (send, connection) = with.handshake(stream).await.unwrap();
        let token = format!("Bearer {}", user.name);
        Http2 { send, token, connection: tokio::spawn(connection) }
    }

    /// False once the server has closed it.
    pub(crate) fn is_open(&self) -> bool {
        !self.connection.is_finished() && !self.send.is_closed()
    }

    /// Dropping the future, or the response before its end, resets the stream.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        body: Body,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        let request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("authorization", &self.token)
            .header("content-type", "application/json")
            .body(body)
            .unwrap();
        self.send.send_request(request)
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

pub(crate) fn whole(body: String) -> Body {
    http_body_util::Full::new(body.into()).boxed()
}
