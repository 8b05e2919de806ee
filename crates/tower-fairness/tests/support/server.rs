//! A real server on loopback, and a client that can go away.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, extract::Path, routing::any};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, mpsc},
};
use tower_fairness::FairnessLayer;

/// What the handlers of a server wait for.
#[derive(Clone, Debug)]
pub struct Gates {
    /// `/held` answers once there is a permit.
    pub held: Arc<Semaphore>,
    /// `/stream` sends what comes here.
    pub stream: Arc<tokio::sync::Mutex<Option<mpsc::Receiver<Bytes>>>>,
    pub served: Arc<AtomicU32>,
    pub began: Arc<Notify>,
}

#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub layer: FairnessLayer,
    pub gates: Gates,
    pub chunks: mpsc::Sender<Bytes>,
}

/// A connection; dropping it closes it.
#[derive(Debug)]
pub struct Client {
    sender: http1::SendRequest<Empty<Bytes>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub async fn start(layer: FairnessLayer) -> Self {
        let (chunks, receiver) = mpsc::channel(1);
        let gates = Gates {
            held: Arc::new(Semaphore::new(0)),
            stream: Arc::new(tokio::sync::Mutex::new(Some(receiver))),
            served: Arc::default(),
            began: Arc::default(),
        };
        let handler = {
            let gates = gates.clone();
            move |Path(path): Path<String>| handle(gates.clone(), path)
        };
        let app = Router::new().route("/{*path}", any(handler)).layer(layer.clone());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Server { address, layer, gates, chunks }
    }

    pub async fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let task = tokio::spawn(async move {
            let _ = connection.with_upgrades().await;
        });
        Client { sender, task }
    }

    pub async fn get(&self, path: &str) -> Response<Incoming> {
        self.client().await.get(path).await
    }

    /// Waiting, executing and seats in use, of the level `main`.
    pub fn numbers(&self) -> (u32, u32, u64) {
        numbers(&self.layer)
    }

    /// Resolves when the level `main` has these numbers.
    pub async fn until(&self, numbers: (u32, u32, u64)) {
        until(&self.layer, numbers).await;
    }

    pub fn served(&self) -> u32 {
        self.gates.served.load(Ordering::Relaxed)
    }
}

impl Client {
    pub async fn get(&mut self, path: &str) -> Response<Incoming> {
        self.send(Request::get(path).body(Empty::new()).unwrap()).await
    }

    pub async fn send(&mut self, mut request: Request<Empty<Bytes>>) -> Response<Incoming> {
        request.headers_mut().insert("host", "localhost".parse().unwrap());
        self.sender.send_request(request).await.unwrap()
    }

    /// Sends a request, and goes on without its response.
    pub fn start(mut self, path: &str) -> tokio::task::JoinHandle<Response<Incoming>> {
        let path = path.to_owned();
        tokio::spawn(async move { self.get(&path).await })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn numbers(layer: &FairnessLayer) -> (u32, u32, u64) {
    let levels = layer.dispatcher().levels();
    let main = levels.iter().find(|level| &*level.name == "main").unwrap();
    main.view(|view| (view.set.waiting(), view.set.executing(), view.set.seats_in_use()))
}

/// Resolves when the level `main` has these numbers: waiting, executing, seats in use.
pub async fn until(layer: &FairnessLayer, expected: (u32, u32, u64)) {
    let reached = async {
        while numbers(layer) != expected {
            tokio::task::yield_now().await;
        }
    };
    let late = tokio::time::timeout(Duration::from_secs(20), reached).await;
    assert!(late.is_ok(), "{:?}, not {expected:?}", numbers(layer));
}

pub async fn text(response: Response<Incoming>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The last part of the path says what to do.
async fn handle(gates: Gates, path: String) -> Response<Body> {
    gates.served.fetch_add(1, Ordering::Relaxed);
    gates.began.notify_one();
    match path.rsplit('/').next().unwrap_or_default() {
        "held" => gates.held.acquire().await.unwrap().forget(),
        "stream" => {
            let receiver = gates.stream.lock().await.take().unwrap();
            return Response::new(Body::new(Chunks(receiver)));
        }
        "upgrade" => {
            let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
            return response.header("upgrade", "test").body(Body::empty()).unwrap();
        }
        _ => {}
    }
    Response::new(Body::from("served"))
}

/// Chunks until the sender is gone.
struct Chunks(mpsc::Receiver<Bytes>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
