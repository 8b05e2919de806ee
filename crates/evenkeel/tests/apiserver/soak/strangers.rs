//! Malicious or misbehaving clients, several at a time.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    Life,
    client::{Client, JSON},
};
use crate::{
    hostile::{h2::Http2, raw},
    kill::model::Chance,
};

const AT_ONCE: usize = 3;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const HOLD: Duration = Duration::from_millis(1500);

pub(super) async fn attack(life: &Life, until: Instant, mut chance: Chance) {
    let attackers = (0..AT_ONCE).map(|_| {
        let mut chance = Chance(chance.next());
        async move {
            while Instant::now() < until {
                life.totals.attacks.fetch_add(1, Ordering::Relaxed);
                one(life, &mut chance).await;
            }
        }
    });
    join_all(attackers).await;
}

async fn one(life: &Life, chance: &mut Chance) {
    match chance.below(9) {
        0 => unread_watches(life, chance).await,
        1 => half_a_body(life).await,
        2 => deep(life, chance).await,
        3 => wide(life, chance).await,
        4 => idle_connections(life).await,
        5 => pages(life).await,
        6 => lists_left_half_read(life, chance).await,
        7 => nonsense(life, chance).await,
        _ => no_tls(life).await,
    }
}

async fn connected(life: &Life) -> Option<Http2> {
    let stream = raw::try_connect(&life.cluster.server, &["h2"]).await.ok()?;
    Http2::over(stream).await.ok()
}

async fn unread_watches(life: &Life, chance: &mut Chance) {
    let Some(mut http) = connected(life).await else { return };
    let path = match chance.one_in(2) {
        true => format!("{CONFIG_MAPS}?watch=1&resourceVersion=0"),
        false => "/api/v1/pods?watch=1".to_owned(),
    };
    let watches = join_all((0..50).map(|_| http.get(&path)));
    let held = timeout(HOLD * 4, watches).await;
    sleep(HOLD).await;
    drop(held);
}

async fn half_a_body(life: &Life) {
    let Ok(mut stream) = raw::try_connect(&life.cluster.server, &["http/1.1"]).await else {
        return;
    };
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\n\
         Content-Length: 1000\r\n\r\n{{\"metadata\":"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    sleep(HOLD).await;
}

/// Deeper than any parser allows; must be rejected by the first one.
async fn deep(life: &Life, chance: &mut Chance) {
    let depth = 100 + chance.below(100_000) as usize;
    let (open, close) = (r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let fields = format!(
        r#"{{"metadata":{{"name":"deep"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},
        "template":{{"metadata":{{"labels":{{"a":"b"}},"managedFields":[{{"manager":"m",
        "operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{open}1{close}}}]}},
        "spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}"#
    );
    let line = "POST /apis/apps/v1/namespaces/default/deployments?dryRun=All";
    refused_or_done(life, line, fields).await;
}

/// Lists whose entries are compared with each other.
async fn wide(life: &Life, chance: &mut Chance) {
    let n = 10 + chance.below(1500);
    let containers: Vec<_> = (0..n)
        .map(|n| json!({"name": format!("c{n}"), "image": "i", "ports": [{"containerPort": 80}]}))
        .collect();
    let body = json!({"metadata": {"name": "wide"}, "spec": {"containers": containers}});
    let line = "POST /api/v1/namespaces/default/pods?dryRun=All";
    refused_or_done(life, line, body.to_string()).await;
}

/// Whatever the response, it must not be a server error.
async fn refused_or_done(life: &Life, line: &str, body: String) {
    match Client::new(life).send(line, JSON, body).await {
        Some((code, status)) if code >= 500 && code != 507 => {
            life.problem(format!("{line}: {code} {status}"));
        }
        // The server may close the connection of a client that sends too much.
        _ => {}
    }
}

async fn idle_connections(life: &Life) {
    let server = &life.cluster.server;
    let strangers = join_all((0..40).map(|_| TcpStream::connect(server.address))).await;
    let known = join_all((0..10).map(|_| raw::try_connect(server, &["h2"]))).await;
    sleep(HOLD).await;
    drop((strangers, known));
}

async fn pages(life: &Life) {
    let mut client = Client::new(life);
    let mut token = String::new();
    for _ in 0..60 {
        let path = format!("{CONFIG_MAPS}?limit=1&continue={token}");
        match client.get(&path).await {
            Some((200, page)) => match page["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => token = next.to_owned(),
                _ => return,
            },
            // The revision may be gone from the history.
            Some((410, _)) | None => return,
            Some((code, status)) => return life.problem(format!("{path}: {code} {status}")),
        }
    }
}

async fn lists_left_half_read(life: &Life, chance: &mut Chance) {
    let Some(mut http) = connected(life).await else { return };
    for _ in 0..20 {
        let path = match chance.below(3) {
            0 => format!("{CONFIG_MAPS}?pretty=1"),
            1 => "/api/v1/pods?pretty=1".to_owned(),
            _ => CONFIG_MAPS.to_owned(),
        };
        let Ok(Ok(response)) = timeout(HOLD * 4, http.get(&path)).await else { return };
        if chance.one_in(2) {
            let _ = timeout(HOLD * 4, response.into_body().frame()).await;
        }
    }
}

async fn nonsense(life: &Life, chance: &mut Chance) {
    let paths = [
        "/api/v1/pods?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTk5LCJzdGFydCI6IngifQ",
        "/api/v1/pods?limit=x",
        "/api/v1/pods?watch=1&sendInitialEvents=true",
        "/api/v1/pods?labelSelector=((((",
        "/api/v1/pods?timeout=x",
        "/API/v1/pods",
        "/apis/no.such/v1/things",
        "/api/v1/namespaces/default/pods/%ff",
    ];
    let path = paths[chance.below(paths.len() as u64) as usize];
    match Client::new(life).get(path).await {
        Some((400..=499 | 504, _)) | None => {}
        Some((code, status)) => life.problem(format!("{path}: {code} {status}")),
    }
}

async fn no_tls(life: &Life) {
    let Ok(mut stream) = TcpStream::connect(life.cluster.server.address).await else { return };
    let _ = stream.write_all(&[22, 3, 1, 0, 64, 1, 2, 3]).await;
    sleep(HOLD / 3).await;
}
