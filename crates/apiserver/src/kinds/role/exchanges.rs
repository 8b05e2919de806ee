//! Requests and answers of a real server (Kubernetes 1.37), in order: each is sent to this server,
//! whose answer must be the same. UIDs, times and ages are masked.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::{
    chain::Chain,
    kinds::read::text,
    serve::Peer,
    server::{
        in_process::{administrator, settings},
        testing::Server,
    },
};

/// Set by the server, or not kept by this one.
const OWN: [&str; 4] = ["uid", "resourceVersion", "creationTimestamp", "managedFields"];

async fn answered(server: &Server, exchange: &Value) -> (u16, Value, Vec<String>) {
    let or = |name: &str| Some(text(exchange, &[name])).filter(|given| !given.is_empty());
    let json = "application/json";
    let body = match &exchange["body"] {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let request: Request<Body> = Request::builder()
        .method(text(exchange, &["method"]))
        .uri(text(exchange, &["path"]))
        .header("content-type", or("ctype").unwrap_or(json))
        .header("accept", or("accept").unwrap_or(json))
        .extension(Peer::new(administrator()))
        .body(body.into())
        .unwrap();
    let Ok(response) = Chain::new(&server.api).call(request).await;
    let code = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.map(|value| value.to_str().unwrap().to_owned()).collect();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default(), warnings)
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_status = fields.get("kind") == Some(&json!("Status"));
            let masked = |(name, value): (&String, &Value)| {
                let mut value = masked(value);
                let inner = if is_status { "details" } else { "metadata" };
                if name == inner
                    && let Some(metadata) = value.as_object_mut()
                {
                    metadata.retain(|name, _| !OWN.contains(&name.as_str()));
                }
                // Kubernetes shows no rows as null for kinds without a printer.
                if name == "rows" && value.is_null() {
                    value = json!([]);
                }
                (name.clone(), value)
            };
            fields.iter().map(masked).collect()
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) => json!(masked_text(text)),
        other => other.clone(),
    }
}

fn masked_text(text: &str) -> String {
    if text.parse::<jiff::Timestamp>().is_ok() {
        return "<time>".to_owned();
    }
    if text.strip_suffix('s').is_some_and(|count| count.parse::<u32>().is_ok()) {
        return "<age>".to_owned();
    }
    let uid = text.rsplit(' ').next().filter(|last| last.len() == 36 && last.contains('-'));
    uid.map_or_else(|| text.to_owned(), |uid| text.replace(uid, "<uid>"))
}

#[tokio::test]
async fn roles_and_bindings_are_answered_as_by_kubernetes() {
    let server = Server::start(None, settings()).await;
    let mut wrong = Vec::new();
    let exchanges = include_str!("exchanges.jsonl").lines();
    for line in exchanges {
        let exchange: Value = serde_json::from_str(line).unwrap();
        let (code, answer, warnings) = answered(&server, &exchange).await;
        let expected = (&exchange["status"], masked(&exchange["answer"]));
        let warned = exchange.get("warnings").cloned().unwrap_or_else(|| json!([]));
        if expected != (&json!(code), masked(&answer)) || warned != json!(warnings) {
            wrong.push(format!("{line}\n  is answered {code} {answer} {warnings:?}"));
        }
    }
    server.stop().await;
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
