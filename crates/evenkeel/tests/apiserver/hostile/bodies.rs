//! Bodies that are too large, too deep, malformed, stale or slow.

use tokio::io::AsyncWriteExt;

use super::raw::{Answer, answer, ask, connect, send};
use crate::process::{Server, folder};

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

async fn post(server: &Server, body: impl AsRef<[u8]>) -> Answer {
    send(server, &format!("POST {COLLECTION}"), JSON, body).await
}

#[tokio::test]
async fn invalid_bodies_are_rejected_with_kubernetes_messages() {
    let data = folder("bodies");
    let server = Server::start(&data);
    let too_large = (413, "RequestEntityTooLarge".to_owned());
    let large =
        format!(r#"{{"metadata":{{"name":"x"}},"data":{{"k":"{}"}}}}"#, "x".repeat(4 << 20));
    assert_eq!(post(&server, &large).await.reason(), too_large);
    assert_eq!(chunked(&server, large.as_bytes()).await.reason(), too_large);
    let bad = (400, "BadRequest".to_owned());
    let lists = "[".repeat(1 << 20);
    let objects = r#"{"a":"#.repeat(200_000);
    let deep = format!(
        r#"{{"metadata":{{"name":"x"}},"data":{}1{}}}"#,
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    for body in [&lists, &objects, &deep, "", "{", "nil", "\u{0}", r#"{"kind":7}"#] {
        let answer = post(&server, body).await;
        let start: String = body.chars().take(30).collect();
        assert_eq!(answer.reason(), bad, "{start}: {}", String::from_utf8_lossy(&answer.body));
    }
    let yaml = format!("a: {}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &(b'b'..=b'i')
            .map(|c| {
                let (new, old) = (char::from(c), char::from(c - 1));
                let each = [format!("*{old}").as_str()].repeat(9).join(",");
                format!("{new}: &{new} [{each}]\n")
            })
            .collect::<String>();
    for body in [&yaml, &bomb, "\t{", "a: *b", "- - -"] {
        let answer = send(&server, &format!("POST {COLLECTION}"), "application/yaml", body).await;
        let start: String = body.chars().take(30).collect();
        assert_eq!(answer.reason(), bad, "{start}: {}", String::from_utf8_lossy(&answer.body));
    }
    let protobuf = "application/vnd.kubernetes.protobuf";
    for body in [
        &b"k8s\0"[..],
        b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"no",
        b"k8s\0\x12\xff\xff\xff\x7f",
    ] {
        let answer = send(&server, &format!("POST {COLLECTION}"), protobuf, body).await;
        assert_eq!(answer.reason(), bad, "{body:?}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn wrong_forms_and_stale_versions_are_refused_in_kubernetes_words() {
    let data = folder("forms");
    let server = Server::start(&data);
    let unsupported = (415, "UnsupportedMediaType".to_owned());
    let body = r#"{"metadata":{"name":"x"},"data":{"a":"1"}}"#;
    for form in ["text/plain", "application/xml", "application/x-www-form-urlencoded", "nothing"] {
        let answer = send(&server, &format!("POST {COLLECTION}"), form, body).await;
        assert_eq!(answer.reason(), unsupported, "{form}: {answer:?}");
    }
    let made = post(&server, body).await;
    assert_eq!(made.code, 201);
    let patch = format!("PATCH {COLLECTION}/x");
    assert_eq!(send(&server, &patch, JSON, body).await.reason(), unsupported);
    let mut object = made.json();
    object["data"]["a"] = "2".into();
    let put = format!("PUT {COLLECTION}/x");
    assert_eq!(send(&server, &put, JSON, object.to_string()).await.code, 200);
    let conflict = (409, "Conflict".to_owned());
    object["data"]["a"] = "3".into();
    assert_eq!(send(&server, &put, JSON, object.to_string()).await.reason(), conflict);
    let stale = object["metadata"]["resourceVersion"].as_str().unwrap();
    let delete = format!(r#"{{"preconditions":{{"resourceVersion":"{stale}"}}}}"#);
    let line = format!("DELETE {COLLECTION}/x");
    assert_eq!(send(&server, &line, JSON, delete).await.reason(), conflict);
    assert_eq!(post(&server, body).await.reason(), (409, "AlreadyExists".to_owned()));
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_body_sent_byte_by_byte_is_accepted() {
    let data = folder("trickle");
    let server = Server::start(&data);
    let body = r#"{"metadata":{"name":"slow"},"data":{"a":"1"}}"#;
    let mut stream = connect(&server, &["http/1.1"]).await;
    let length = body.len();
    let head = format!(
        "POST {COLLECTION} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: {JSON}\r\nContent-Length: {length}\r\n\r\n"
    );
    for byte in head.bytes().chain(body.bytes()) {
        stream.write_all(&[byte]).await.unwrap();
        stream.flush().await.unwrap();
    }
    assert_eq!(answer(stream).await.code, 201);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Without a length: only counting shows that it is too large.
async fn chunked(server: &Server, body: &[u8]) -> Answer {
    let mut stream = connect(server, &["http/1.1"]).await;
    let head = format!(
        "POST {COLLECTION} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for chunk in body.chunks(64 << 10) {
        let sent = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        if stream.write_all(&sent).await.is_err() {
            break;
        }
    }
    let _ = stream.write_all(b"0\r\n\r\n").await;
    answer(stream).await
}
