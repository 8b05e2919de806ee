//! The server's request log.

use serde_json::Value;

use crate::{
    hostile::raw::{ask, send},
    process::{Server, folder},
};

fn parsed(log: &str) -> Vec<Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test]
async fn a_request_s_log_line_names_its_user() {
    let data = folder("log-user");
    let server = Server::start_with(&data, &["-v", "--log-format", "json"]);
    let answer = ask(&server, "GET /api/v1/namespaces HTTP/1.1\r\nAudit-ID: who-asks", b"").await;
    assert_eq!(answer.code, 200);
    let log = server.stop_with_log();
    let lines = parsed(&log);
    let line = lines.iter().find(|line| line["span"]["audit_id"] == "who-asks");
    let line = line.unwrap_or_else(|| panic!("no line of the request in {log}"));
    assert_eq!(line["span"]["user"], "kubernetes-admin", "{line}");
    std::fs::remove_dir_all(&data).unwrap();
}

/// A create is one span of its request and one of the commit that made it durable.
#[tokio::test]
async fn requests_and_commits_are_spans() {
    let data = folder("log-spans");
    let server = Server::start_with(&data, &["-v", "--log-format", "json"]);
    server.settled().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let body = br#"{"metadata":{"name":"a"}}"#;
    let answer = send(&server, &format!("POST {path}"), "application/json", body).await;
    assert_eq!(answer.code, 201);
    let revision: u64 =
        answer.json()["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let log = server.stop_with_log();
    let lines = parsed(&log);
    let find = |message: &str, field: &str, value: Value| {
        let is_it =
            |line: &&Value| line["fields"]["message"] == message && line["span"][field] == value;
        lines.iter().find(is_it).unwrap_or_else(|| panic!("no {message:?} of {value} in {log}"))
    };
    let request = find("request completed", "path", path.into());
    assert_eq!(request["span"]["name"], "request");
    assert_eq!(
        (&request["span"]["verb"], &request["span"]["resource"]),
        (&"create".into(), &"configmaps".into())
    );
    assert_eq!(request["fields"]["code"], 201);
    assert!(request["fields"]["duration_ms"].is_u64(), "{request}");
    let commit = find("batch committed", "revision", revision.into());
    assert_eq!(commit["span"]["name"], "commit");
    assert_eq!((&commit["span"]["writes"], &commit["span"]["changes"]), (&1.into(), &1.into()));
    assert!(commit["fields"]["duration_ms"].is_u64(), "{commit}");
    assert!(!log.contains("Some("), "{log}");
    std::fs::remove_dir_all(&data).unwrap();
}
