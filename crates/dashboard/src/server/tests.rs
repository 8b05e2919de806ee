//! A real server, and clients that misbehave.

mod mesh;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use evenkeel_model::{ServiceState, Snapshot};
use evenkeel_testkit::{Cluster as Nodes, World, service};
use evenkeel_topology::{Server, Settings};
use jiff::Timestamp;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Listening, guard::Guard, serve};
use crate::{
    Error, Tls, fairness,
    feed::{Feed, Feeds, MOST_STREAMS, Shown},
    view::{
        Cluster,
        fairness::{Listed, Reading, Texts, page},
    },
};

const PATIENCE: Duration = Duration::from_secs(20);

struct Running {
    address: SocketAddr,
    token: String,
    feeds: Arc<Feeds>,
    stopped: CancellationToken,
    _stop: DropGuard,
}

async fn start() -> Running {
    start_with(Feeds::new()).await
}

async fn start_with(feeds: Feeds) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let guard = Guard::new(address).unwrap();
    let token = guard.url(address).split_once("#token=").unwrap().1.to_owned();
    let (feeds, stop) = (Arc::new(feeds), CancellationToken::new());
    tokio::spawn(serve(listener, guard, Arc::clone(&feeds), stop.clone()));
    let stopped = stop.clone();
    Running { address, token, feeds, stopped, _stop: stop.drop_guard() }
}

fn publish(feed: &Feed<Shown>) {
    let world = World::new(Nodes::equal_zones(3), service("web"), Settings::default());
    let mut world = world.with_pods(&[("a", 2), ("b", 1)]);
    world.sync();
    let state = ServiceState { slices: world.slices, ..ServiceState::new(world.service) };
    let snapshot = Snapshot {
        topology: world.cluster.topology,
        nodes: world.cluster.nodes,
        services: vec![state.into()],
        ..Snapshot::default()
    };
    let cluster = Cluster::new(snapshot, Server::default()).unwrap();
    let page = serde_json::to_string(&cluster.page()).unwrap();
    feed.publish(Shown { cluster: Arc::new(cluster), page: page.into() });
}

fn publish_fairness(feed: &Feed<fairness::Shown>) {
    let nothing = || Ok(String::new());
    let texts = Texts {
        levels: nothing(),
        queues: nothing(),
        requests: nothing(),
        metrics: nothing(),
        objects: Ok(Listed::default()),
    };
    let reading = Reading::parse(texts);
    let page = page(&reading, None, Timestamp::UNIX_EPOCH);
    let json = serde_json::to_string(&page).unwrap().into();
    feed.publish(fairness::Shown { reading: Arc::new(reading), page: Arc::new(page), json });
}

impl Running {
    async fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// The whole answer to a request with these lines.
    async fn ask(&self, line: &str, headers: &str, body: &str) -> String {
        let (host, length) = (self.address, body.len());
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        let mut answer = String::new();
        let mut stream = self.send(&request).await;
        timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    /// The line with a cookie that the token was exchanged for.
    async fn cookie(&self) -> String {
        let origin = format!("Origin: http://{}\r\n", self.address);
        let answer = self.ask("POST /api/login", &origin, &self.token).await;
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
        let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        format!("Cookie: {}\r\n", line.split(';').next().unwrap())
    }

    async fn events(&self, cookie: &str) -> TcpStream {
        let host = self.address;
        self.send(&format!("GET /api/events HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n")).await
    }
}

/// Reads until `text` came.
async fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = String::new();
    let found = async {
        let mut bytes = [0; 4096];
        while !read.contains(text) {
            let n = stream.read(&mut bytes).await.unwrap();
            assert!(n > 0, "ended before {text:?}: {read}");
            read += &String::from_utf8_lossy(&bytes[..n]);
        }
    };
    timeout(PATIENCE, found).await.unwrap();
    read
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

/// Files with a new certificate for these names and its key.
fn certificate(
    folder: &std::path::Path,
    name: &str,
) -> (Tls, rustls::pki_types::CertificateDer<'static>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let made = rcgen::CertificateParams::new(vec!["ek.example".to_owned()]).unwrap();
    let made = made.self_signed(&key).unwrap();
    let (certificate, private) =
        (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    std::fs::write(&certificate, made.pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    (Tls { certificate, key: private, hosts: vec!["ek.example".to_owned()] }, made.der().clone())
}

/// A folder of its own, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(purpose: &str) -> Folder {
        let name = format!("ek-dashboard-{}-{purpose}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn over_tls_the_cookie_is_secure_and_plain_requests_get_nothing() {
    let folder = Folder::new("tls");
    let (tls, known) = certificate(&folder.0, "a");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let guard = Guard::new(address).unwrap().with_tls(address, tls.hosts.clone()).unwrap();
    let (_, token) = guard
        .url(address)
        .split_once("#token=")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let listening = Listening { listener, tls: Some(tls.config().unwrap().into()) };
    let stop = CancellationToken::new();
    tokio::spawn(serve(listening, guard, Arc::new(Feeds::new()), stop.clone()));
    let _stop = stop.drop_guard();

    let mut roots = rustls::RootCertStore::empty();
    roots.add(known).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider);
    let client = client.with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client));
    let name = rustls::pki_types::ServerName::try_from("ek.example").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    let host = format!("ek.example:{}", address.port());
    let request = format!(
        "POST /api/login HTTP/1.1\r\nHost: {host}\r\nOrigin: https://{host}\r\nContent-Length: {}\r\n\r\n{token}",
        token.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = {
        let mut read = Vec::new();
        // A connection that ends without a goodbye is the server's way to end it.
        let _ = timeout(PATIENCE, stream.read_to_end(&mut read)).await.unwrap();
        String::from_utf8(read).unwrap()
    };
    assert_eq!(status(&answer), "204", "{answer}");
    assert!(answer.contains("; Path=/; Secure"), "{answer}");

    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut read = Vec::new();
    let _ = timeout(PATIENCE, plain.read_to_end(&mut read)).await.unwrap();
    assert!(!read.starts_with(b"HTTP"), "an alert at most");
}

#[test]
fn certificates_that_cannot_be_used_are_told_with_the_file() {
    let folder = Folder::new("files");
    let (good, _) = certificate(&folder.0, "good");
    let (other, _) = certificate(&folder.0, "other");
    let nonsense = folder.0.join("nonsense");
    std::fs::write(&nonsense, "secret words").unwrap();
    for (certificate, key) in [
        (&nonsense, &good.key),
        (&good.certificate, &nonsense),
        (&good.certificate, &other.key),
        (&folder.0.join("absent"), &good.key),
    ] {
        let tls = Tls { certificate: certificate.clone(), key: key.clone(), hosts: Vec::new() };
        let Err(error @ Error::Certificate { .. }) = tls.config() else { panic!("{tls:?}") };
        assert!(!error.to_string().contains("secret words"), "{error}");
    }
    assert!(good.config().is_ok());
}

#[tokio::test]
async fn only_who_has_the_token_sees_data() {
    let running = start().await;
    publish(&running.feeds.cluster);
    let origin = format!("Origin: http://{}\r\n", running.address);
    for path in [
        "/api/cluster",
        "/api/service?namespace=default&name=web",
        "/api/events",
        "/api/events?page=fairness",
        "/api/fairness",
        "/api/fairness/match?user=alice&resource=pods",
    ] {
        let answer = running.ask(&format!("GET {path}"), "", "").await;
        assert_eq!(status(&answer), "401", "{path}");
    }
    for token in ["", "0", &"0".repeat(64), &"x".repeat(300)] {
        assert_eq!(status(&running.ask("POST /api/login", &origin, token).await), "401");
    }
    let cookie = running.cookie().await;
    let page = running.ask("GET /api/cluster", &cookie, "").await;
    assert!(status(&page) == "200" && page.contains("\"sentence\""), "{page}");
    for header in ["content-security-policy: default-src 'none'", "cache-control: no-store"] {
        assert!(page.contains(header), "{header}");
    }
}

#[tokio::test]
async fn other_sites_and_other_names_of_the_server_are_refused() {
    let running = start().await;
    publish(&running.feeds.cluster);
    let cookie = running.cookie().await;
    let evil = format!("{cookie}Origin: http://evil.example\r\n");
    assert_eq!(status(&running.ask("GET /api/cluster", &evil, "").await), "403");
    assert_eq!(status(&running.ask("POST /api/login", &evil, &running.token).await), "403");
    assert_eq!(status(&running.ask("POST /api/login", "", &running.token).await), "403");
    let mut answer = String::new();
    let rebound =
        format!("GET / HTTP/1.1\r\nHost: evil.example:{}\r\n\r\n", running.address.port());
    running.send(&rebound).await.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), "421");
}

#[tokio::test]
async fn nothing_can_be_changed_and_nonsense_is_refused() {
    let running = start().await;
    let cookie = running.cookie().await;
    let origin = format!("{cookie}Origin: http://{}\r\n", running.address);
    for line in ["POST /api/cluster", "PUT /api/service", "DELETE /", "PATCH /api/events"] {
        assert_eq!(status(&running.ask(line, &origin, "{}").await), "405", "{line}");
    }
    assert_eq!(status(&running.ask("GET /api/cluster", &cookie, "").await), "503", "not read yet");
    publish(&running.feeds.cluster);
    for (query, expected) in [
        ("namespace=default&name=web", "200"),
        ("namespace=default&name=web&policy=PreferSameZone&replicas=12&lose=a", "200"),
        ("namespace=default&name=web&lose=nowhere", "200"),
        ("namespace=default&name=other", "404"),
        ("namespace=default&name=web&policy=<script>", "400"),
        ("namespace=default&name=web&replicas=1e9", "400"),
        ("", "400"),
    ] {
        let answer = running.ask(&format!("GET /api/service?{query}"), &cookie, "").await;
        assert_eq!(status(&answer), expected, "{query}");
    }
    for path in ["/api/", "/../Cargo.toml", "/style.css/", "/api/service/x"] {
        assert_eq!(
            status(&running.ask(&format!("GET {path}"), &cookie, "").await),
            "404",
            "{path}"
        );
    }
    assert_eq!(status(&running.ask("GET /app.js", "", "").await), "200");
}

#[tokio::test]
async fn a_request_typed_in_is_bounded_and_answered() {
    let running = start().await;
    let cookie = running.cookie().await;
    let ask = async |path: &str| running.ask(&format!("GET {path}"), &cookie, "").await;
    assert_eq!(status(&ask("/api/fairness").await), "503", "not read yet");
    publish_fairness(&running.feeds.fairness);
    let long = format!("user={}&resource=pods", "x".repeat(513));
    let groups = format!("groups={}&resource=pods", "g,".repeat(33));
    for (query, expected) in [
        ("user=alice&groups=a,b&verb=list&resource=pods/log&namespace=shop", "200"),
        ("user=%3Cscript%3E&path=/healthz", "200"),
        ("user=alice&resource=pods&path=/healthz", "200"),
        ("", "200"),
        ("user=%ff", "400"),
        ("header=x", "400"),
        (long.as_str(), "400"),
        (groups.as_str(), "400"),
    ] {
        let answer = ask(&format!("/api/fairness/match?{query}")).await;
        assert_eq!(status(&answer), expected, "{query}");
    }
    let answer = ask("/api/fairness/match?user=alice&path=/x").await;
    assert!(answer.contains("catch-all takes the request"), "no objects: {answer}");
    assert!(ask("/api/fairness").await.contains("\"request\":null"));
}

#[tokio::test]
async fn a_change_reaches_an_event_stream_at_once() {
    let running = start().await;
    let cookie = running.cookie().await;
    let mut stream = running.events(&cookie).await;
    let first = until(&mut stream, "\"generation\":0").await;
    assert!(first.contains("text/event-stream"), "{first}");
    let started = Instant::now();
    publish(&running.feeds.cluster);
    until(&mut stream, "\"generation\":1").await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    running.feeds.cluster.failed("no\nroute\n\nto host".to_owned());
    let event = until(&mut stream, "\"generation\":2").await;
    assert!(event.contains(r"no\nroute\n\nto host"), "{event}");
}

#[tokio::test]
async fn five_hundred_event_streams_are_bounded_and_others_are_served() {
    let running = start().await;
    publish(&running.feeds.cluster);
    let cookie = running.cookie().await;
    let (mut held, mut refused) = (Vec::new(), 0);
    for _ in 0..500 {
        let mut stream = running.events(&cookie).await;
        let head = until(&mut stream, "\r\n\r\n").await;
        match status(&head) {
            "200" => held.push(stream),
            "503" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((held.len(), refused), (MOST_STREAMS, 500 - MOST_STREAMS));
    assert_eq!(status(&running.ask("GET /api/cluster", &cookie, "").await), "200");
    // Who leaves makes place.
    held.clear();
    let again = async {
        loop {
            let mut stream = running.events(&cookie).await;
            if status(&until(&mut stream, "\r\n\r\n").await) == "200" {
                return;
            }
        }
    };
    timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn silent_connections_hold_no_place_for_long() {
    let running = start().await;
    publish(&running.feeds.cluster);
    let mut silent = Vec::new();
    for _ in 0..2 * super::MOST_CONNECTIONS {
        silent.push(running.send("GET / HT").await);
    }
    let started = Instant::now();
    assert_eq!(status(&running.ask("GET /", "", "").await), "200");
    assert!(started.elapsed() < 3 * super::HEADERS, "{:?}", started.elapsed());
}
