//! A server under test, and a client with a given certificate.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, body::Body, extract::Request, routing::get};
use http::Response;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    certificates::{Folder, ServedCertificates, certificates, names, testing::Made, tls},
    identity::CertificateVerifier,
    serve::{ConnectionMetrics, Limits, Peer, serve},
    shutdown::Stop,
};

/// A running server; `stop` stops it.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) stop: Stop,
    pub(super) done: JoinHandle<usize>,
    pub(super) metrics: ConnectionMetrics,
    roots: Arc<RootCertStore>,
}

pub(super) type Answer = (u16, String);

/// Starts `router` with the certificates of `folder`, or with new ones.
pub(super) async fn start(router: Router, limits: Limits, folder: Option<&Folder>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let own = Folder::temporary().unwrap();
    let folder = folder.unwrap_or(&own);
    let made = certificates(folder.path(), &names(address, &[]), Timestamp::now()).unwrap();
    serving(listener, tls(&made).unwrap(), &made.authority, router, limits)
}

/// Starts with certificates created at that time, and returns their folder.
pub(super) async fn start_since(
    router: Router,
    folder: &Folder,
    made: Timestamp,
) -> (Running, ServedCertificates) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let names = names(address, &[]);
    let present = certificates(folder.path(), &names, made).unwrap();
    let tls = tls(&present).unwrap();
    let (folder, serving) = (folder.path().to_owned(), tls.serving.clone());
    let kubeconfig = folder.join("kubeconfig");
    let running = self::serving(listener, tls, &present.authority, router, Limits::default());
    let authority = tokio::sync::watch::Sender::new(present.authority.clone());
    let shown =
        ServedCertificates { folder, names, address, kubeconfig, serving, present, authority };
    (running, shown)
}

/// Starts with a separate verifier, which trusts a test's CA.
pub(super) async fn start_with_verifier(router: Router, verifier: CertificateVerifier) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let folder = Folder::temporary().unwrap();
    let made = certificates(folder.path(), &names(address, &[]), Timestamp::now()).unwrap();
    let mut tls = tls(&made).unwrap();
    tls.verifier = verifier;
    serving(listener, tls, &made.authority, router, Limits::default())
}

fn serving(
    listener: TcpListener,
    tls: crate::serve::Tls,
    authority: &str,
    router: Router,
    limits: Limits,
) -> Running {
    use rustls::pki_types::{CertificateDer, pem::PemObject};

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let (stop, address) = (Stop::default(), listener.local_addr().unwrap());
    let metrics = ConnectionMetrics::default();
    let served = serve(listener, tls, router, stop.clone(), limits, metrics.clone());
    let done = tokio::spawn(served);
    Running { address, stop, done, metrics, roots: Arc::new(roots) }
}

/// Returns the user of the connection's certificate.
pub(super) fn whoami() -> Router {
    async fn name(request: Request) -> String {
        format!("{:?}", request.extensions().get::<Peer>().unwrap().certificate)
    }
    Router::new().route("/", get(name))
}

impl Running {
    pub(super) fn config(&self, shown: Option<&Made>, alpn: &[u8]) -> ClientConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(Arc::clone(&self.roots));
        let mut config = match shown {
            None => builder.with_no_client_auth(),
            Some(made) => {
                let chain = vec![made.certificate.clone()];
                builder.with_client_auth_cert(chain, made.key.clone_key()).unwrap()
            }
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }

    pub(super) async fn connect(&self, config: Arc<ClientConfig>) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(config).connect(name, stream).await.unwrap()
    }

    /// One request on a new connection, with HTTP/1.1.
    pub(super) async fn get(&self, path: &str, shown: Option<&Made>) -> Answer {
        let config = Arc::new(self.config(shown, b"http/1.1"));
        get_on(self.connect(config).await, path).await
    }

    /// One request on a new connection, with HTTP/2.
    pub(super) async fn get_http2(&self, path: &str) -> Answer {
        let stream = self.connect(Arc::new(self.config(None, b"h2"))).await;
        get_on_http2(stream, path).await
    }

    pub(super) async fn stop(self) -> usize {
        self.stop.begin();
        self.done.await.unwrap()
    }
}

pub(super) async fn get_on_http2(stream: TlsStream<TcpStream>, path: &str) -> Answer {
    let io = TokioIo::new(stream);
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io);
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    read(sender.send_request(request(path)).await.unwrap()).await
}

pub(super) async fn get_on(stream: TlsStream<TcpStream>, path: &str) -> Answer {
    read(begin_on(stream, path).await).await
}

/// The response without its body, which may be endless.
pub(super) async fn begin_on(stream: TlsStream<TcpStream>, path: &str) -> Response<Incoming> {
    let io = TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request(path)).await.unwrap()
}

fn request(path: &str) -> http::Request<Empty<bytes::Bytes>> {
    let uri = format!("https://localhost{path}");
    http::Request::get(uri).header("host", "localhost").body(Empty::new()).unwrap()
}

async fn read(response: Response<Incoming>) -> Answer {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// A body that ends when `stop` ends the watches.
pub(super) fn watch_body(stop: &Stop) -> Body {
    let stop = stop.clone();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        stop.watches_end().cancelled().await;
        let _ = sender.send(());
    });
    Body::new(Until(receiver))
}

/// An empty body that ends with its channel.
pub(super) struct Until(pub(super) tokio::sync::oneshot::Receiver<()>);

impl http_body::Body for Until {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, Self::Error>>> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|_| None)
    }
}
