//! The servers of a Pod: they answer with its name, its node and its zone.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use evenkeel_proxy::NetworkNamespace;
use http_body_util::Full;
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    header::{ACCEPT, CONTENT_TYPE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinSet,
};

use super::plan::{Identity, PodPlan, Port};

const JSON: &str = "application/json";

/// How long a client may take to send a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// After a failed `accept`, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The servers of a Pod, one for each port. They end when this is dropped, with all connections.
#[derive(Debug)]
pub(super) struct Servers(#[expect(dead_code, reason = "tasks end with it")] JoinSet<()>);

/// Starts those that can be started, and gives the first error of the others.
pub(super) fn serve(namespace: &NetworkNamespace, pod: &PodPlan) -> (Servers, io::Result<()>) {
    let identity = Arc::new(pod.identity.clone());
    let (mut servers, mut outcome) = (JoinSet::new(), Ok(()));
    for &port in &pod.ports {
        let address = |port: u16| SocketAddr::from((pod.address, port));
        let identity = Arc::clone(&identity);
        let started = match port {
            Port::Http(port) => listener(namespace, address(port))
                .map(|listener| servers.spawn(accept(listener, identity))),
            Port::Udp(port) => socket(namespace, address(port))
                .map(|socket| servers.spawn(answer_datagrams(socket, identity))),
        };
        outcome = outcome.and(started.map(drop));
    }
    (Servers(servers), outcome)
}

fn listener(namespace: &NetworkNamespace, address: SocketAddr) -> io::Result<TcpListener> {
    let listener = namespace.run(|| std::net::TcpListener::bind(address))??;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn socket(namespace: &NetworkNamespace, address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = namespace.run(|| std::net::UdpSocket::bind(address))??;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

async fn accept(listener: TcpListener, identity: Arc<Identity>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                connections.spawn(answer_requests(stream, client, Arc::clone(&identity)));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn answer_requests(stream: TcpStream, client: SocketAddr, identity: Arc<Identity>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = response(&identity, client, request.headers());
        async move { Ok::<_, Infallible>(response) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // A client that disconnects is no error.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

fn response(identity: &Identity, client: SocketAddr, asked: &HeaderMap) -> Response<Full<Bytes>> {
    let accept = asked.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_json = accept.contains(JSON);
    let mut response = Response::new(Full::new(text(identity, client, is_json).into()));
    let kind = if is_json { JSON } else { "text/plain" };
    response.headers_mut().insert(CONTENT_TYPE, kind.parse().expect("a constant without spaces"));
    response
}

/// A datagram that says `application/json` is answered with JSON.
async fn answer_datagrams(socket: UdpSocket, identity: Arc<Identity>) {
    let mut buffer = [0; 512];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((n, client)) => {
                let is_json = buffer[..n].starts_with(JSON.as_bytes());
                let _ = socket.send_to(text(&identity, client, is_json).as_bytes(), client).await;
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn text(identity: &Identity, client: SocketAddr, is_json: bool) -> String {
    let Identity { pod, namespace, node, zone } = identity;
    if is_json {
        let value = json!({
            "pod": pod, "namespace": namespace, "node": node, "zone": zone, "client": client,
        });
        return format!("{value}\n");
    }
    let zone = if zone.is_empty() { String::new() } else { format!(" in {zone}") };
    format!("{pod} on {node}{zone}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_where_it_is() {
        let mut identity = Identity {
            pod: "web-1".to_owned(),
            namespace: "shop".to_owned(),
            node: "node-a1".to_owned(),
            zone: "zone-a".to_owned(),
        };
        let client = ([172, 16, 0, 1], 4242).into();
        assert_eq!(text(&identity, client, false), "web-1 on node-a1 in zone-a\n");
        let value: serde_json::Value =
            serde_json::from_str(&text(&identity, client, true)).unwrap();
        assert_eq!(
            (&value["zone"], &value["client"]),
            (&"zone-a".into(), &"172.16.0.1:4242".into())
        );
        identity.zone.clear();
        assert_eq!(text(&identity, client, false), "web-1 on node-a1\n");
    }
}
