//! Paths that point elsewhere.

use super::raw::ask;
use crate::process::{Server, folder};

#[tokio::test]
async fn no_path_leads_out_of_the_api() {
    let data = folder("paths");
    let server = Server::start(&data);
    let cases = [
        ("/api/v1/namespaces/../../etc", 404),
        ("/api/v1/namespaces/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/api/v1/namespaces/..%2f..%2fetc/configmaps", 404),
        ("/api/v1/namespaces/default%2fconfigmaps", 200),
        ("/../../../../etc/passwd", 404),
        ("/..%2f..%2fpki/ca.key", 404),
        ("/pki/ca.key", 404),
        ("/journal/journal-0000000001", 404),
        ("//etc/passwd", 404),
        ("/api/v1/namespaces/default/configmaps/..", 404),
        ("/api/v1/namespaces/default/configmaps/%2e%2e", 404),
        ("/api/v1/namespaces/default/configmaps/a%00b", 404),
        ("/api/v1/namespaces/default/configmaps/%ff%fe", 404),
        ("/api/v1/namespaces/default/configmaps/%zz", 400),
    ];
    for (path, code) in cases {
        let answer = ask(&server, &format!("GET {path} HTTP/1.1"), b"").await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.code, code, "{path}: {text}");
        assert!(!text.contains("root:") && !text.contains("PRIVATE KEY"), "{path}: {text}");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// An invalid name never becomes an object, however it is encoded.
#[tokio::test]
async fn no_object_gets_a_name_that_is_a_path() {
    let data = folder("path-names");
    let server = Server::start(&data);
    for name in ["..", ".", "../x", "a/b", "a%2fb", "A", "a\\u0000b", ""] {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        let line = "POST /api/v1/namespaces/default/configmaps";
        let answer = super::raw::send(&server, line, "application/json", &body).await;
        assert_eq!(answer.reason(), (422, "Invalid".to_owned()), "{name}: {answer:?}");
    }
    for namespace in ["..", "%2e%2e", "a%2fb"] {
        let line = format!("POST /api/v1/namespaces/{namespace}/configmaps");
        let body = r#"{"metadata":{"name":"x"}}"#;
        let answer = super::raw::send(&server, &line, "application/json", body).await;
        assert!((400..500).contains(&answer.code), "{namespace}: {answer:?}");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
