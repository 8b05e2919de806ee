//! Hostile definitions and objects, through a whole server without sockets.

mod builtin;
mod clients;
mod definitions;
mod many;
mod races;
mod restart;
mod updates;

use bytes::Bytes;
use http::{Method, Request};
use serde_json::{Value, json};

use super::conditions::{ESTABLISHED, is_true};
use crate::server::{
    in_process::{administrator, settings},
    testing::Server,
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Of the definition that most tests use.
const NAME: &str = "widgets.example.com";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn start() -> Server {
    Server::start_whole(None, settings()).await
}

fn version(name: &str, schema: &Value) -> Value {
    json!({"name": name, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}})
}

fn definition(group: &str, plural: &str, kind: &str, schema: &Value) -> Value {
    json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version("v1", schema)],
        },
    })
}

fn widgets(schema: &Value) -> Value {
    definition("example.com", "widgets", "Widget", schema)
}

/// A schema with one field.
fn with_field(schema: impl Into<Value>) -> Value {
    let schema = schema.into();
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"field": schema}},
    }})
}

/// A schema that accepts everything.
fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn path(name: &str) -> String {
    format!("{DEFINITIONS}/{name}")
}

/// Creates a definition, and waits until it is established.
async fn establish(server: &Server, definition: &Value) -> Value {
    let created = server.create(DEFINITIONS, definition).await;
    let name = created["metadata"]["name"].as_str().unwrap();
    server.until(&path(name), |found| is_true(found, ESTABLISHED)).await
}

/// Deletes a definition, and waits until it is gone.
async fn delete(server: &Server, name: &str) {
    let (code, answer) = server.ask(Method::DELETE, &path(name), &Value::Null).await;
    assert_eq!(code, 200, "{answer}");
    server.until(&path(name), Value::is_null).await;
}

/// Any body, with any headers.
fn send(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> impl Future<Output = (u16, Bytes)> + use<> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request, body, administrator())
}

/// Watches until the server ends it.
fn watch(server: &Server, path: &str) -> tokio::task::JoinHandle<(u16, Bytes)> {
    let path = format!("{path}?watch=true&timeoutSeconds=600");
    tokio::spawn(send(server, Method::GET, &path, &[], Bytes::new()))
}
