//! Clients that read lists in the most expensive ways, and forged tokens.

use std::{collections::BTreeSet, time::Instant};

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    h2::Http2,
    raw::{ask, connect_with},
};
use crate::process::{Server, folder};

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// Creates ConfigMaps concurrently, with this much text in each.
async fn fill(server: &Server, names: impl Iterator<Item = String>, size: usize) {
    let text = "x".repeat(size);
    let mut client = Http2::connect(server).await;
    let names: Vec<String> = names.collect();
    for some in names.chunks(50) {
        let requests = some.iter().map(|name| {
            let body = json!({"metadata": {"name": name}, "data": {"text": text}});
            client.code("POST", PATH, body.to_string())
        });
        for code in join_all(requests).await {
            assert_eq!(code, 201);
        }
    }
}

async fn get(client: &mut Http2, path: &str) -> (u16, Value) {
    let response = client.get(path).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

/// Reads a list of `n` to its end, one object at a time.
async fn page_through(server: &Server, n: usize) {
    let mut client = Http2::connect(server).await;
    let (mut names, mut revision, mut path) = (BTreeSet::new(), None, format!("{PATH}?limit=1"));
    loop {
        let (code, page) = get(&mut client, &path).await;
        assert_eq!(code, 200, "{page}");
        let metadata = &page["metadata"];
        let shown = revision.get_or_insert_with(|| metadata["resourceVersion"].clone());
        assert_eq!(*shown, metadata["resourceVersion"], "all pages are of one revision");
        let items = page["items"].as_array().unwrap();
        assert_eq!(items.len(), 1);
        names.insert(items[0]["metadata"]["name"].as_str().unwrap().to_owned());
        let Some(token) = metadata["continue"].as_str() else { break };
        let remaining = metadata["remainingItemCount"].as_u64().unwrap();
        assert!(names.len() + usize::try_from(remaining).unwrap() >= n);
        path = format!("{PATH}?limit=1&continue={token}");
    }
    assert!((0..n).all(|n| names.contains(&name(n))), "nothing of the first page's state is lost");
}

fn name(n: usize) -> String {
    format!("object-{n:05}")
}

/// For URLs, without padding.
fn base64(text: &str) -> String {
    let alphabet: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("-_".chars()).collect();
    let encoded = text.as_bytes().chunks(3).flat_map(|three| {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        [18, 12, 6, 0].map(|shift| alphabet[bits >> shift & 63]).into_iter().take(three.len() + 1)
    });
    encoded.collect()
}

#[tokio::test]
async fn pages_agree_with_each_other_while_everything_they_show_is_replaced() {
    const OBJECTS: usize = 250;
    let data = folder("pages");
    let server = Server::start(&data);
    fill(&server, (0..OBJECTS).map(name), 10).await;
    let readers = async {
        let readers = (0..4).map(|_| page_through(&server, OBJECTS));
        join_all(readers).await;
    };
    let writer = async {
        let mut client = Http2::connect(&server).await;
        for n in 0.. {
            let path = format!("{PATH}/{}", name(n % OBJECTS));
            let body =
                json!({"metadata": {"name": name(n % OBJECTS)}, "data": {"n": n.to_string()}});
            assert_eq!(client.code("PUT", &path, body.to_string()).await, 200);
            let new = json!({"metadata": {"name": format!("later-{n}")}}).to_string();
            assert_eq!(client.code("POST", PATH, new).await, 201);
        }
    };
    tokio::select! {
        () = readers => {}
        () = writer => {}
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_forged_token_is_refused_and_shows_nothing_of_another_namespace() {
    let data = folder("tokens");
    let server = Server::start(&data);
    fill(&server, (0..3).map(name), 10).await;
    let mut client = Http2::connect(&server).await;
    let forged = |revision: Value, start: &str| {
        let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
        format!("{PATH}?continue={}", base64(&token.to_string()))
    };
    for (path, words) in [
        (format!("{PATH}?continue=!"), "illegal base64 data at input byte 0"),
        (forged(json!(1), "../kube-system/a"), "../kube-system/a"),
        (forged(json!(0), "a"), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (forged(json!(1), ""), "encoded start key empty (version meta.k8s.io/v1)"),
    ] {
        let (code, status) = get(&mut client, &path).await;
        let told = format!("invalid continue token: continue key is not valid: {words}");
        assert_eq!((code, status["message"].as_str()), (400, Some(&*told)), "{path}");
    }
    // A future revision is waited for, as in the query, and never shown.
    let (code, status) = get(&mut client, &forged(json!(999_999_999), "a")).await;
    let cause = &status["details"]["causes"][0]["reason"];
    assert_eq!((code, cause.as_str()), (504, Some("ResourceVersionTooLarge")), "{status}");
    // Whatever its key, a token stays in its namespace, and with an invalid revision in the
    // present.
    for start in ["a", "default/a", "kube-system/a", "\u{0}", "zzz"] {
        let (code, list) = get(&mut client, &forged(json!(-9), start)).await;
        assert_eq!(code, 200, "{list}");
        for item in list["items"].as_array().unwrap() {
            assert_eq!(item["metadata"]["namespace"], "default");
        }
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_pretty_printed_list_is_streamed() {
    const OBJECTS: usize = 1000;
    const SIZE: usize = 40 << 10;
    let data = folder("pretty");
    let server = Server::start(&data);
    fill(&server, (0..OBJECTS).map(name), SIZE).await;
    for (query, headers) in [
        ("", "User-Agent: curl/8.0"),
        ("", "Accept: application/yaml"),
        (
            "?includeObject=Object",
            "User-Agent: Mozilla/5.0\r\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io",
        ),
    ] {
        let before = server.memory();
        let mut stream = connect_with(&server, &["http/1.1"], Some(16 << 10)).await;
        let request = format!(
            "GET {PATH}{query} HTTP/1.1\r\nHost: a\r\n{headers}\r\nConnection: close\r\n\r\n"
        );
        let began = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.read_exact(&mut [0; 12]).await.unwrap();
        let first = began.elapsed();
        // 40 MB of objects; parsing and printing all of them before the first byte would need twice
        // that.
        let grown = server.memory().saturating_sub(before);
        assert!(grown < 24 << 10, "{grown} kB for the first byte of {headers}");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.len() > OBJECTS * SIZE, "{} bytes", rest.len());
        let whole = began.elapsed();
        let grown = server.memory().saturating_sub(before);
        assert!(grown < 24 << 10, "{grown} kB for all of {headers}");
        assert!(first < whole / 4, "{first:?} to the first byte, {whole:?} in all");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_list_for_people_is_complete_and_in_the_order_of_the_plain_one() {
    let data = folder("pretty-order");
    let server = Server::start(&data);
    server.settled().await;
    fill(&server, (0..200).map(name), 1000).await;
    let head = format!("GET {PATH} HTTP/1.1");
    let plain = ask(&server, &head, b"").await;
    let pretty = ask(&server, &format!("{head}\r\nUser-Agent: Wget/1"), b"").await;
    assert_eq!(plain.json(), pretty.json());
    // With the CA certificate.
    assert_eq!(pretty.json()["items"].as_array().unwrap().len(), 201);
    assert!(
        pretty.body.starts_with(b"{\n  \"kind\": \"ConfigMapList\",\n  \"apiVersion\": \"v1\",")
    );
    assert!(pretty.body.ends_with(b"\n    }\n  ]\n}\n"));
    // A client that leaves in the middle has no effect on others.
    let mut stream = connect_with(&server, &["http/1.1"], Some(16 << 10)).await;
    let request = format!("{head}\r\nHost: a\r\nUser-Agent: curl\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_exact(&mut [0; 100]).await.unwrap();
    drop(stream);
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
