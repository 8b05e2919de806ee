//! Every verb on every resource and subresource of every kind, and on every document, through the
//! whole chain: refused with a 403 to whoever has no rights, and never to an administrator. The
//! requests are made from the table of kinds, so that kinds added later are covered.

use std::{collections::BTreeSet, sync::Arc};

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower_service::Service as _;

use super::{
    in_process::{administrator, settings},
    testing::Server,
};
use crate::{
    chain::Chain,
    identity::{AUTHENTICATED, Certificate, User},
    kinds::{self, KINDS, read::text},
    request::REVIEWS,
    serve::Peer,
};

const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// What Kubernetes' default roles allow to every authenticated user.
const OPEN_PATHS: [&str; 9] = [
    "/api",
    "/apis",
    "/openapi",
    "/healthz",
    "/livez",
    "/readyz",
    "/version",
    "/version/",
    "/api/",
];
const OPEN_REVIEWS: [&str; 3] =
    ["selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"];

/// Documents, and paths at which there is nothing.
const PATHS: [&str; 24] = [
    "/",
    "/metrics",
    "/metrics/slis",
    "/debug",
    "/debug/pprof/profile",
    "/debug/api_priority_and_fairness/dump_queues",
    "/logs",
    "/logs/a",
    "/healthz/ping",
    "/livez/ping",
    "/readyz/ping",
    "/version/x",
    "/openapix",
    "/apix",
    "/nothing/here",
    "//api",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
    "/api/v1/things",
    "/api/v1/namespaces/default/things/a",
    "/api/v9/pods",
    "/apis/example.com/v1/namespaces/default/things/a/status",
    "/apis/apps/v9/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a/status/more",
];

type Sent = (Method, String);

// === The requests ===

/// Every method on every path, in order.
fn requests() -> BTreeSet<(String, String)> {
    let paths = resource_paths().into_iter().chain(PATHS.map(str::to_owned));
    let documents = OPEN_PATHS.iter().map(|path| (*path).to_owned());
    let all = paths.chain(documents).flat_map(|path| METHODS.map(|method| (method, path.clone())));
    all.map(|(method, path)| (path, method.as_str().to_owned())).collect()
}

fn resource_paths() -> Vec<String> {
    let mut paths = Vec::new();
    for kind in KINDS {
        let subresources: Vec<&str> =
            kind.subresources.iter().map(kinds::Subresource::name).collect();
        add(&mut paths, &kind.group, &kind.version, &kind.plural, kind.namespaced, &subresources);
    }
    for &(group, version, plural, namespaced) in REVIEWS {
        add(&mut paths, group, version, plural, namespaced, &[]);
    }
    paths
}

fn add(
    paths: &mut Vec<String>,
    group: &str,
    version: &str,
    plural: &str,
    namespaced: bool,
    subresources: &[&str],
) {
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let scopes: &[&str] = if namespaced { &["", "/namespaces/default"] } else { &[""] };
    for scope in scopes {
        let all = format!("{scope}/{plural}");
        let one = format!("{all}/matrix");
        for path in [&all, &one] {
            paths.push(format!("{root}{path}"));
            paths.push(format!("{root}/watch{path}"));
            paths.push(format!("{root}/proxy{path}"));
        }
        paths.push(format!("{root}{all}?watch=1"));
        paths.push(format!("{root}{all}?fieldSelector=metadata.name%3Dmatrix"));
        let served = subresources.iter().chain(&["status", "scale", "absent"]);
        paths.extend(served.map(|part| format!("{root}{one}/{part}")));
    }
}

/// Whether everyone with credentials may do this.
fn is_open((method, path): &Sent) -> bool {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let is_resource = path.split('/').nth(if path.starts_with("/apis/") { 4 } else { 3 }).is_some();
    let is_discovery =
        ["/api/", "/apis/"].iter().any(|root| path.starts_with(root)) && !is_resource;
    let direct = path.strip_suffix("/matrix").unwrap_or(path);
    let verb_in_path = ["/watch/", "/proxy/"].iter().any(|verb| path.contains(verb));
    let is_review = |plural: &&str| direct.ends_with(&format!("/{plural}")) && !verb_in_path;
    match *method {
        Method::GET => OPEN_PATHS.contains(&path) || is_discovery,
        Method::POST => OPEN_REVIEWS.iter().any(is_review),
        _ => false,
    }
}

// === Sending them ===

/// The status code, and the message unless the answer has no end of its own.
async fn answered(server: &Server, sent: &Sent, user: &Certificate, acting: &str) -> (u16, String) {
    let (method, path) = sent;
    let media = match *method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .extension(Peer::new(user.clone()));
    if !acting.is_empty() {
        request = request.header("impersonate-user", acting);
    }
    let request = request.body(Body::from("{}")).unwrap();
    let Ok(response) = Chain::new(&server.api).call(request).await;
    let code = response.status().as_u16();
    if code < 400 {
        return (code, String::new());
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    (code, text(&status, &["message"]).to_owned())
}

fn nobody() -> Certificate {
    let groups = vec![AUTHENTICATED.to_owned()];
    let user = User { name: "nobody".to_owned(), groups, ..User::default() };
    Certificate::Of { user: Arc::new(user), ends: i64::MAX }
}

fn sent() -> Vec<Sent> {
    let all = requests().into_iter();
    all.map(|(path, method)| (Method::from_bytes(method.as_bytes()).unwrap(), path)).collect()
}

#[tokio::test]
async fn without_rights_every_verb_on_everything_is_refused() {
    let server = Server::start(None, settings()).await;
    let before = server.api.storage.state().revision();
    let mut wrong = Vec::new();
    let all = sent();
    for one in &all {
        for (user, acting) in [(nobody(), ""), (administrator(), "nobody")] {
            let (code, message) = answered(&server, one, &user, acting).await;
            let refused = code == 403 && message.contains("User \"nobody\" cannot ");
            // A HEAD has no body.
            let refused = refused || (one.0 == Method::HEAD && code == 403);
            if refused == is_open(one) {
                wrong.push(format!("{} {} as {acting:?}: {code} {message}", one.0, one.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    assert_eq!(server.api.storage.state().revision(), before, "a refusal changed something");
    server.stop().await;
}

#[tokio::test]
async fn without_rights_nobody_acts_as_another() {
    let server = Server::start(None, settings()).await;
    for one in &sent() {
        let (code, _) = answered(&server, one, &nobody(), "admin").await;
        assert_eq!(code, 403, "{} {}", one.0, one.1);
    }
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_is_refused_nothing() {
    let server = Server::start(None, settings()).await;
    let mut wrong = Vec::new();
    for one in &sent() {
        let (code, message) = answered(&server, one, &administrator(), "").await;
        if [401, 403].contains(&code) {
            wrong.push(format!("{} {}: {code} {message}", one.0, one.1));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    server.stop().await;
}

#[test]
fn every_kind_and_every_part_of_it_is_asked_for() {
    let paths: BTreeSet<String> = resource_paths().into_iter().collect();
    for kind in KINDS {
        let ends = |end: &str| paths.iter().any(|path| path.ends_with(end));
        assert!(ends(&format!("/{}/matrix", kind.plural)), "{}", kind.kind);
        for part in kind.subresources {
            assert!(ends(&format!("/{}/matrix/{}", kind.plural, part.name())), "{}", kind.kind);
        }
    }
    assert!(requests().len() > 2000);
}
