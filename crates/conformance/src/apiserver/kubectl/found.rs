//! The state that a command expects: the objects of its namespace, according to its first requests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Record, Request};
use crate::apiserver::{
    bind::Bindings,
    http, scenario,
    send::{Received, message},
    server::Server,
};

/// Creates and removes objects until the state is that of the recording.
pub(super) fn put_up(record: &Record, server: &Server) -> Result<(), String> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}});
    create("/api/v1/namespaces", &namespace, server)?;
    for (path, was_there) in objects(&record.requests) {
        let manifest = path
            .rsplit_once('/')
            .and_then(|(collection, name)| Some((collection, manifest(collection, name)?)));
        match manifest {
            Some((collection, object)) if was_there => create(collection, &object, server)?,
            _ if was_there => {}
            _ => remove(&path, server)?,
        }
    }
    Ok(())
}

/// The objects that the requests name, and whether the first response shows that they existed.
fn objects(requests: &[Request]) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    for request in requests {
        let Some((path, was_there)) = object(request) else { continue };
        found.entry(path).or_insert(was_there);
    }
    found
}

fn object(request: &Request) -> Option<(String, bool)> {
    let (_, rest) = request.path.split_once("/namespaces/demo/")?;
    let end = request.path.len() - rest.len();
    let mut parts = rest.split('/');
    let resource = parts.next()?;
    if let Some(name) = parts.next() {
        let path = format!("{}{resource}/{name}", &request.path[..end]);
        return Some((path, (200..300).contains(&request.status) && request.status != 201));
    }
    if request.method != "POST" || request.status != 201 {
        return None;
    }
    let body: Value = serde_json::from_str(request.body.as_ref()?.get()).ok()?;
    Some((format!("{}/{}", request.path, body["metadata"]["name"].as_str()?), false))
}

/// The objects that the recorded commands worked on.
fn manifest(collection: &str, name: &str) -> Option<Value> {
    let metadata = json!({"name": name, "namespace": "demo"});
    let selector = json!({"app": "web"});
    let (_, resource) = collection.rsplit_once('/')?;
    Some(match resource {
        "configmaps" => json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "2"},
        }),
        "services" => json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"ports": [{"name": "http", "port": 80}], "selector": selector},
        }),
        "deployments" => json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {"labels": selector},
                    "spec": {"containers": [{"name": "c", "image": "img:1"}]},
                },
            },
        }),
        "pods" => json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": "img:1"}]},
        }),
        _ => return None,
    })
}

fn create(collection: &str, object: &Value, server: &Server) -> Result<(), String> {
    let got = send("POST", collection, Some(object), server)?;
    match got.status {
        201 | 409 => Ok(()),
        other => Err(format!("cannot put up {collection}: {other} {}", got.value())),
    }
}

fn remove(path: &str, server: &Server) -> Result<(), String> {
    let got = send("DELETE", path, Some(&json!({"gracePeriodSeconds": 0})), server)?;
    match got.status {
        200 | 202 | 404 => Ok(()),
        other => Err(format!("cannot remove {path}: {other} {}", got.value())),
    }
}

fn send(
    method: &str,
    path: &str,
    body: Option<&Value>,
    server: &Server,
) -> Result<Received, String> {
    let request = scenario::Request {
        method: method.to_owned(),
        path: path.to_owned(),
        accept: Some("application/json".to_owned()),
        content_type: Some("application/json".to_owned()),
        body_raw: body.map(Value::to_string),
        ..scenario::Request::default()
    };
    let message = message(&request, server, &Bindings::default())?;
    let answer = http::send(&server.target, &message).map_err(|e| e.to_string())?;
    Received::read(answer).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: &str = "/api/v1/namespaces/demo";

    #[test]
    fn the_first_response_shows_whether_an_object_existed() {
        let request = |method: &str, path: &str, status: u16, body: Value| -> Request {
            let request = json!({"method": method, "path": path, "status": status, "body": body});
            serde_json::from_str(&request.to_string()).unwrap()
        };
        let services = format!("{NAMESPACE}/services");
        let deployments = "/apis/apps/v1/namespaces/demo/deployments";
        let got = objects(&[
            request("GET", &format!("{services}/web"), 404, Value::Null),
            request("POST", &services, 201, json!({"metadata": {"name": "web"}})),
            request("POST", &services, 201, json!({"metadata": {"name": "web2"}})),
            request("PATCH", &format!("{deployments}/web/status"), 200, Value::Null),
            request("GET", &services, 200, Value::Null),
            request("GET", NAMESPACE, 200, Value::Null),
        ]);
        let expected = [
            (format!("{services}/web"), false),
            (format!("{services}/web2"), false),
            (format!("{deployments}/web"), true),
        ];
        assert_eq!(got, BTreeMap::from(expected));
    }
}
