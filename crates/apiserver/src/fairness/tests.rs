//! Requests through the chain with few seats, in process.

mod hostile;
mod objects;
mod resources;
mod seats;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use futures_util::{StreamExt as _, stream};
use http::{Method, Request};
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::{
    chain::Chain,
    identity::{Certificate, User},
    serve::Peer,
    server::{in_process, testing::Server},
    settings::{Authorization, FairnessSettings, Settings},
};

const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// 12 seats, everybody may do everything.
fn settings() -> Settings {
    let fairness = FairnessSettings {
        max_requests_inflight: 8,
        max_mutating_requests_inflight: 4,
        ..FairnessSettings::default()
    };
    Settings { authorization: Authorization::AlwaysAllow, fairness, ..in_process::settings() }
}

/// A level with one seat, none of which is lent or borrowed.
fn level(name: &str, queues: u32, length: u32) -> Value {
    let response = match queues {
        0 => json!({"type": "Reject"}),
        _ => json!({"type": "Queue", "queuing":
                {"queues": queues, "handSize": 1, "queueLengthLimit": length}}),
    };
    json!({"metadata": {"name": name}, "spec": {"type": "Limited", "limited":
        {"nominalConcurrencyShares": 5, "borrowingLimitPercent": 0, "limitResponse": response}}})
}

/// All requests of a user go to a level.
fn schema(name: &str, level: &str, user: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": 10,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": user}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                "clusterScope": true, "namespaces": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }],
    }})
}

/// A server in which `bob`'s requests have a level of their own with one seat and a queue.
async fn bobs(length: u32, settings: Settings) -> Server {
    let server = Server::start(None, settings).await;
    server.create(LEVELS, &level("bobs", 1, length)).await;
    server.create(SCHEMAS, &schema("bobs", "bobs", "bob")).await;
    super::start(&server.api).await;
    server
}

/// The response of a request of a user; its body is not read.
fn ask(
    server: &Server,
    user: &str,
    method: Method,
    path: &str,
    body: Body,
) -> impl Future<Output = Response> + use<> {
    let user = User { name: user.to_owned(), ..User::default() }.authenticated();
    let certificate = Certificate::Of { user: Arc::new(user), ends: i64::MAX };
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.extension(Peer::new(certificate)).body(body).unwrap();
    let answered = Chain::new(&server.api).call(request);
    async move {
        let Ok(response) = answered.await;
        response
    }
}

fn get(server: &Server, user: &str, path: &str) -> impl Future<Output = Response> + use<> {
    ask(server, user, Method::GET, path, Body::empty())
}

/// A request that holds its seat until it is dropped: its body never ends.
fn hold(server: &Server, user: &str) -> std::pin::Pin<Box<impl Future<Output = Response> + use<>>> {
    let begun = stream::iter([Ok::<_, std::convert::Infallible>("{")]);
    let body = Body::from_stream(begun.chain(stream::pending()));
    Box::pin(ask(server, user, Method::POST, CONFIG_MAPS, body))
}

/// Waiting requests, executing requests and seats in use of a level.
fn counts(server: &Server, level: &str) -> (u32, u32, u64) {
    let levels = server.api.fairness.layer.dispatcher().levels();
    let level = levels.iter().find(|found| &*found.name == level).expect("there is such a level");
    level.view(|view| {
        let dump = view.set.dump();
        (dump.waiting, dump.executing, view.set.seats_in_use())
    })
}
