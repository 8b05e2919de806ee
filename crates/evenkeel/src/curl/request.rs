//! One request, on a new connection from inside a namespace.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use evenkeel_proxy::NetworkNamespace;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1,
    header::{ACCEPT, CONNECTION, HOST},
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{
    net::{TcpSocket, TcpStream, UdpSocket},
    time::timeout,
};

use super::{report::Failure, target::Protocol};

/// The largest answer that is read.
const MOST: usize = 64 * 1024;

const JSON: &str = "application/json";

/// How requests are sent.
#[derive(Debug)]
pub(crate) struct Requests {
    pub(crate) namespace: NetworkNamespace,
    /// The address they come from.
    pub(crate) source: Option<IpAddr>,
    pub(crate) to: SocketAddr,
    pub(crate) protocol: Protocol,
    pub(crate) host: String,
    pub(crate) path: String,
    /// For the connection, and then for the answer.
    pub(crate) timeout: Duration,
}

/// What a sandbox Pod says of itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Answer {
    pub(crate) pod: String,
    pub(crate) namespace: String,
    pub(crate) node: String,
    pub(crate) zone: String,
}

impl Requests {
    pub(crate) async fn send(&self) -> Result<Answer, Failure> {
        let body = match self.protocol {
            Protocol::Http => {
                let stream = within(self.timeout, self.connect()).await?;
                let answer = timeout(self.timeout, self.ask(stream)).await;
                answer.map_err(|_| Failure::NoResponse)??
            }
            Protocol::Udp => within(self.timeout, self.exchange()).await?,
        };
        let unexpected = |_| Failure::Unexpected(String::from_utf8_lossy(&body).trim().to_owned());
        serde_json::from_slice(&body).map_err(unexpected)
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let new = || match self.to {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        };
        let socket = self.namespace.run(new)??;
        if let Some(source) = self.source {
            socket.bind((source, 0).into())?;
        }
        socket.connect(self.to).await
    }

    async fn ask(&self, stream: TcpStream) -> Result<Vec<u8>, Failure> {
        let broken = |error: hyper::Error| Failure::Broken(error.to_string());
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let connection = tokio::spawn(connection);
        let request = Request::get(&self.path).header(HOST, &self.host);
        let request = request.header(ACCEPT, JSON).header(CONNECTION, "close");
        let request = request.body(Empty::<Bytes>::new());
        let request = request.map_err(|error| Failure::Broken(error.to_string()))?;
        let response = sender.send_request(request).await.map_err(broken)?;
        let body = Limited::new(response.into_body(), MOST).collect().await;
        connection.abort();
        let body = body.map_err(|error| Failure::Broken(error.to_string()))?;
        Ok(body.to_bytes().to_vec())
    }

    async fn exchange(&self) -> io::Result<Vec<u8>> {
        let any: IpAddr = match self.to {
            SocketAddr::V4(_) => [0; 4].into(),
            SocketAddr::V6(_) => [0; 16].into(),
        };
        let from = SocketAddr::new(self.source.unwrap_or(any), 0);
        let socket = self.namespace.run(|| std::net::UdpSocket::bind(from))??;
        socket.set_nonblocking(true)?;
        let socket = UdpSocket::from_std(socket)?;
        socket.connect(self.to).await?;
        socket.send(JSON.as_bytes()).await?;
        let mut buffer = vec![0; MOST];
        let n = socket.recv(&mut buffer).await?;
        buffer.truncate(n);
        Ok(buffer)
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, Failure> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(|error| Failure::from(&error)),
        Err(_) => Err(Failure::TimedOut),
    }
}
