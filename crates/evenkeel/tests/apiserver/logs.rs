//! The server's request log.

use serde_json::Value;

use crate::{
    hostile::raw::ask,
    process::{Server, folder},
};

#[tokio::test]
async fn the_line_of_a_request_names_its_user() {
    let data = folder("log-user");
    let server = Server::start_with(&data, &["-v", "--log-format", "json"]);
    let answer = ask(&server, "GET /api/v1/namespaces HTTP/1.1\r\nAudit-ID: who-asks", b"").await;
    assert_eq!(answer.code, 200);
    let log = server.stop_with_log();
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let line = lines.iter().find(|line| line["span"]["audit_id"] == "who-asks");
    let line = line.unwrap_or_else(|| panic!("no line of the request in {log}"));
    assert_eq!(line["span"]["user"], "kubernetes-admin", "{line}");
    std::fs::remove_dir_all(&data).unwrap();
}
