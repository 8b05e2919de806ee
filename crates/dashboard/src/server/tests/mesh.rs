//! The pages about the mesh, with control planes that answer, and with some that don't.

use std::sync::Mutex;

use evenkeel_admin::endpoint::{self, Answer, typed};
use serde_json::{Value, json};

use super::*;
use crate::mesh::{MeshFeed, follow};

/// What a control plane says, which a test may change.
type Said = Arc<Mutex<Vec<(&'static str, Value)>>>;

fn said(dataplane: &str) -> Vec<(&'static str, Value)> {
    let destinations = json!([{"cluster": "backend", "place": {"zone": "a"}, "errors": 0.25,
        "groups": [{"priority": 0, "zone": "a", "share": 0.75}]}]);
    vec![
        (
            "/mesh/proxies",
            json!({"proxies": [], "notConnected": [{"mesh": "m", "name": dataplane}]}),
        ),
        ("/mesh/propagation", json!({"changes": []})),
        ("/mesh/policies", json!({"policies": [], "findings": [], "invalid": []})),
        ("/mesh/inspect?dataplane=m/web-1", json!({"destinations": destinations})),
    ]
}

/// The URL of a control plane that says this.
async fn control_plane(said: &Said) -> (String, DropGuard) {
    let (listener, said) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), Arc::clone(said));
    let (url, stop) =
        (format!("http://{}/", listener.local_addr().unwrap()), CancellationToken::new());
    let answer: Answer = Arc::new(move |_, uri| {
        let said = said.lock().unwrap();
        let found =
            said.iter().find(|(path, _)| uri.path_and_query().is_some_and(|asked| asked == path));
        match found {
            Some((_, value)) => typed("application/json", value.to_string()),
            None => {
                let mut reply = typed("application/json", "{}");
                *reply.status_mut() = http::StatusCode::NOT_FOUND;
                reply
            }
        }
    });
    tokio::spawn(endpoint::serve_answers(listener, answer, stop.clone()));
    (url, stop.drop_guard())
}

/// A dashboard that reads the control plane at this URL, and its cookie.
async fn dashboard(url: Option<&str>) -> (Running, String) {
    let running = start_with(Feeds { mesh: MeshFeed::new(url), ..Feeds::new() }).await;
    let feeds = Arc::clone(&running.feeds);
    let stop = running.stopped.clone();
    tokio::spawn(async move { stop.run_until_cancelled(follow(&feeds.mesh)).await });
    let cookie = running.cookie().await;
    (running, cookie)
}

impl Running {
    async fn get(&self, path: &str, cookie: &str) -> String {
        self.ask(&format!("GET {path}"), cookie, "").await
    }

    /// Asks again and again until the page has this text.
    async fn shows(&self, path: &str, cookie: &str, text: &str) -> String {
        let found = async {
            loop {
                let answer = self.get(path, cookie).await;
                if answer.contains(text) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{path} never had {text}"))
    }
}

#[tokio::test]
async fn without_a_control_plane_the_page_says_how_to_get_one() {
    let (running, cookie) = dashboard(None).await;
    let page = running.get("/api/mesh", &cookie).await;
    assert!(status(&page) == "200" && page.contains("evenkeel up --mesh"), "{page}");
    assert_eq!(status(&running.get("/api/mesh", "").await), "401");
    assert_eq!(status(&running.get("/api/mesh/proxy?mesh=m&dataplane=d", "").await), "401");
    let proxy = running.get("/api/mesh/proxy?mesh=m&dataplane=d", &cookie).await;
    assert_eq!(status(&proxy), "404");
    assert_eq!(status(&running.get("/mesh", "").await), "200");
}

#[tokio::test]
async fn the_mesh_and_a_proxy_are_shown_and_follow_the_control_plane() {
    let said = Arc::new(Mutex::new(said("web-1")));
    let (url, _control_plane) = control_plane(&said).await;
    let (running, cookie) = dashboard(Some(&url)).await;
    running.shows("/api/mesh", &cookie, "m/web-1").await;
    let path = "/api/mesh/proxy?mesh=m&dataplane=web-1";
    let page = running.get(path, &cookie).await;
    assert!(page.contains("25 % of the requests to backend get 503"), "{page}");
    for (query, expected) in [
        ("mesh=m&dataplane=other", "404"),
        ("mesh=m&dataplane=../proxies", "404"),
        ("mesh=m%0d%0a&dataplane=web-1", "404"),
        ("mesh=m&dataplane=web-1&cluster=%3Cscript%3E", "200"),
        ("mesh=m", "400"),
    ] {
        let answer = running.get(&format!("/api/mesh/proxy?{query}"), &cookie).await;
        assert_eq!(status(&answer), expected, "{query}");
    }
    let host = running.address;
    let mut stream = running
        .send(&format!("GET /api/events?page=mesh HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n"))
        .await;
    until(&mut stream, "\"generation\"").await;
    // Of a proxy that is looked at, too.
    said.lock().unwrap()[3].1["destinations"][0]["errors"] = json!(0.5);
    until(&mut stream, "\"generation\"").await;
    running.shows(path, &cookie, "50 % of the requests to backend get 503").await;
    said.lock().unwrap()[0].1["notConnected"][0]["name"] = json!("web-2");
    running.shows("/api/mesh", &cookie, "m/web-2").await;
}

#[tokio::test]
async fn a_control_plane_that_fails_later_is_told_and_the_last_page_stays() {
    let said = Arc::new(Mutex::new(said("web-1")));
    let (url, _control_plane) = control_plane(&said).await;
    let (running, cookie) = dashboard(Some(&url)).await;
    running.shows("/api/mesh", &cookie, "m/web-1").await;
    let host = running.address;
    let mut stream = running
        .send(&format!("GET /api/events?page=mesh HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n"))
        .await;
    said.lock().unwrap()[0].1 = json!({"proxies": "<script>"});
    until(&mut stream, "the answer is not that of a control plane").await;
    assert!(running.get("/api/mesh", &cookie).await.contains("m/web-1"));
    said.lock().unwrap().remove(2);
    until(&mut stream, "it is not a control plane").await;
    *said.lock().unwrap() = self::said("web-1");
    until(&mut stream, "\"problem\":null").await;
}

/// What a peer does with each connection.
#[derive(Clone, Copy)]
enum Manner {
    Stalls,
    Resets,
    Floods,
    Mumbles,
}

async fn peer(manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = match manner {
                    Manner::Stalls => std::future::pending().await,
                    Manner::Resets => stream.set_zero_linger(),
                    Manner::Floods => flood(&mut stream).await,
                    Manner::Mumbles => stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n\"<html>\"").await,
                };
            });
        }
    });
    format!("http://{address}")
}

/// 100 MB that begin like an answer.
async fn flood(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"proxies\": [\"").await?;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        stream.write_all(&piece).await?;
    }
    Ok(())
}

#[tokio::test]
async fn peers_that_lie_stall_reset_or_flood_are_told_and_others_are_served() {
    let manners = [
        (Manner::Stalls, "timed out"),
        (Manner::Resets, "does not answer"),
        (Manner::Floods, "length limit exceeded"),
        (Manner::Mumbles, "not that of a control plane"),
    ];
    let mut running = tokio::task::JoinSet::new();
    for (manner, problem) in manners {
        running.spawn(async move {
            let (running, cookie) = dashboard(Some(&peer(manner).await)).await;
            publish(&running.feeds.cluster);
            assert_eq!(status(&running.get("/api/cluster", &cookie).await), "200");
            running.shows("/api/mesh", &cookie, problem).await;
            let proxy = running.get("/api/mesh/proxy?mesh=m&dataplane=d", &cookie).await;
            assert!(status(&proxy) == "502" && proxy.len() < 2000, "{proxy}");
        });
    }
    running.join_all().await;
}
