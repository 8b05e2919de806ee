//! A server without sockets, called as its administrator.

use std::{path::Path, sync::Arc, time::Duration};

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::task::JoinHandle;
use tower_service::Service as _;

use crate::{
    api::Api,
    chain::Chain,
    identity::{Certificate, MASTERS, Tokens, User},
    serve::Peer,
    server::{
        assemble::{Known, assemble},
        beside, builtin,
    },
    settings::{Authorization, Features, IpRange, Sandbox, Settings},
    shutdown::Stop,
    writer::Writer,
};

/// Maximum time that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Server {
    pub(super) api: Arc<Api>,
    writer: Writer,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// With the objects in a folder.
    pub(super) async fn start(data: Option<&Path>, sandbox: Sandbox) -> Server {
        let address = "127.0.0.1:6443".parse().unwrap();
        let settings = Settings {
            data: data.map(Path::to_path_buf),
            listen: address,
            service_ranges: vec![IpRange { first: "10.96.0.0".parse().unwrap(), prefix: 12 }],
            node_ports: (30000, 32767),
            features: Features::default(),
            housekeeping: true,
            tokens: None,
            authorization: Authorization::default(),
            anonymous_health: true,
            sandbox: Some(sandbox),
        };
        let authority = "an authority".to_owned();
        let known = Known { tokens: Tokens::default(), address, authority };
        let journal = data.map(|data| data.join("journal"));
        let (api, writer) =
            assemble(settings, journal.as_deref(), known, &Stop::default()).unwrap();
        builtin::create(&api).await.unwrap();
        let tasks = beside(&api);
        Server { api, writer, tasks }
    }

    pub(super) async fn stop(self) {
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        drop(self.api);
        tokio::task::spawn_blocking(move || self.writer.stop()).await.unwrap();
    }

    pub(super) async fn ask(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let user =
            User { name: "admin".to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() };
        let certificate = Certificate::Of { user: Arc::new(user), ends: i64::MAX };
        self.send(method, path, body, certificate, None).await
    }

    /// With a bearer token only.
    pub(super) async fn ask_with(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        self.send(method, path, body, Certificate::None, Some(token)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        certificate: Certificate,
        token: Option<&str>,
    ) -> (u16, Value) {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("content-type", media);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.extension(Peer::new(certificate));
        let bytes = if body.is_null() { String::new() } else { body.to_string() };
        let request = request.body(Body::from(bytes)).unwrap();
        let response = Chain::new(&self.api).call(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(super) async fn create(&self, path: &str, body: &Value) -> Value {
        let (code, created) = self.ask(Method::POST, path, body).await;
        assert_eq!(code, 201, "{path}: {created}");
        created
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) {
        let (code, answer) = self.ask(Method::PATCH, path, body).await;
        assert_eq!(code, 200, "{path}: {answer}");
    }

    /// `Null` if it does not exist.
    pub(super) async fn get(&self, path: &str) -> Value {
        let (code, found) = self.ask(Method::GET, path, &Value::Null).await;
        if code == 200 { found } else { Value::Null }
    }

    /// Waits until the object at a path satisfies a condition; checks after each change.
    pub(super) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                let changed = self.api.storage.any_change();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let found = self.get(path).await;
                if wanted(&found) {
                    return found;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("{path} stays {}", self.get(path).await),
        }
    }
}

/// The status of a condition, `""` without it.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions =
        object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|one| one["type"] == kind);
    found.and_then(|one| one["status"].as_str()).unwrap_or_default()
}
