//! The in-process server with what tests need.

use std::{path::Path, sync::Arc, time::Duration};

use http::{Method, Request};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    background_tasks, builtin,
    in_process::{InProcess, administrator, settings},
};
use crate::{
    identity::{Certificate, User},
    settings::{Sandbox, Settings},
};

/// Maximum time that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    server: InProcess,
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// With the objects in a folder, and without background tasks.
    pub(crate) async fn start(data: Option<&Path>, settings: Settings) -> Server {
        let journal = data.map(|data| data.join("journal"));
        let server = InProcess::start(settings, journal.as_deref()).unwrap();
        builtin::create(&server.api).await.unwrap();
        Server { server, tasks: Vec::new() }
    }

    /// With the sandbox and all other background tasks.
    pub(crate) async fn start_sandbox(data: Option<&Path>, sandbox: Sandbox) -> Server {
        let settings = Settings { housekeeping: true, sandbox: Some(sandbox), ..settings() };
        Server::start_whole(data, settings).await
    }

    /// With all background tasks.
    pub(crate) async fn start_whole(data: Option<&Path>, settings: Settings) -> Server {
        let mut server = Server::start(data, settings).await;
        server.tasks = background_tasks(&server.server.api);
        server
    }

    pub(crate) async fn stop(self) {
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        tokio::task::spawn_blocking(move || self.server.stop()).await.unwrap();
    }

    /// Dropping the future simulates a client that disconnects.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> impl Future<Output = (u16, Value)> + use<> {
        self.send(method, path, body, administrator(), None)
    }

    /// With a bearer token only.
    pub(crate) async fn ask_with(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        self.send(method, path, body, Certificate::None, Some(token)).await
    }

    /// As a user with a certificate.
    pub(crate) async fn ask_as(
        &self,
        user: &User,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let user = Arc::new(user.clone().authenticated());
        let certificate = Certificate::Of { user, ends: i64::MAX };
        self.send(method, path, body, certificate, None).await
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        certificate: Certificate,
        token: Option<&str>,
    ) -> impl Future<Output = (u16, Value)> + use<> {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("content-type", media);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answered = self.server.send(request, body, certificate);
        async move {
            let (code, body) = answered.await;
            (code, serde_json::from_slice(&body).unwrap_or_default())
        }
    }

    pub(crate) async fn create(&self, path: &str, body: &Value) -> Value {
        let (code, created) = self.ask(Method::POST, path, body).await;
        assert_eq!(code, 201, "{path}: {created}");
        created
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) {
        let (code, answer) = self.ask(Method::PATCH, path, body).await;
        assert_eq!(code, 200, "{path}: {answer}");
    }

    /// `Null` if it does not exist.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (code, found) = self.ask(Method::GET, path, &Value::Null).await;
        if code == 200 { found } else { Value::Null }
    }

    pub(crate) async fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the object at a path satisfies a condition; checks after each change.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
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

impl std::ops::Deref for Server {
    type Target = InProcess;

    fn deref(&self) -> &InProcess {
        &self.server
    }
}
