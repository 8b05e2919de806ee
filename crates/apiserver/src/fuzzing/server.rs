//! A server without sockets whose stored objects are read in every supported way.

use bytes::Bytes;
use http::{Method, Request, header};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::of_plural;
use crate::{
    certificates::Folder,
    kinds::{Kind, KindRef, Subresource},
    server::in_process::{InProcess, administrator, settings},
};

const JSON: &str = "application/json";

/// Each way to read a stored object: `Accept`, and the query.
const READS: &[(&str, &str)] = &[
    (JSON, ""),
    (JSON, "?pretty=true"),
    ("application/yaml", ""),
    ("application/json;as=Table;v=v1;g=meta.k8s.io", ""),
    ("application/json;as=Table;v=v1;g=meta.k8s.io", "?includeObject=Object"),
    ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", ""),
];

/// The same for lists.
const LISTS: &[(&str, &str)] = &[
    (JSON, ""),
    (JSON, "?limit=1&labelSelector=!nobody"),
    ("application/yaml", ""),
    ("application/json;as=Table;v=v1;g=meta.k8s.io", ""),
    ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", ""),
];

/// A server with its own journal. Everything it stores must be readable in every way, before and
/// after a restart, and can be written and deleted; anything else panics.
pub struct Server {
    runtime: Runtime,
    folder: Folder,
    running: Option<InProcess>,
    /// The created objects: kind and path.
    stored: Vec<(&'static KindRef, String)>,
}

struct Response {
    code: u16,
    body: Bytes,
}

impl Server {
    /// `None` if the machine lacks the resources for it.
    pub fn start() -> Option<Server> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let folder = Folder::temporary().ok()?;
        let mut server = Server { runtime, folder, running: None, stored: Vec::new() };
        server.restart();
        let namespace = json!({"metadata": {"name": "default"}}).to_string();
        let said = server.ask(Method::POST, "/api/v1/namespaces", JSON, namespace);
        (said.code == 201).then_some(server)
    }

    /// Creates an object of a resource such as `pods`, and reads it. Returns whether it was
    /// accepted.
    pub fn create(&mut self, resource: &str, object: &str) -> bool {
        let Some(kind) = of_plural(resource) else { return false };
        let collection = collection(kind);
        let said = self.ask(Method::POST, &collection, JSON, object.to_owned());
        if said.code != 201 {
            return false;
        }
        let created: Value = serde_json::from_slice(&said.body).expect("an answer is JSON");
        let name = created["metadata"]["name"].as_str().expect("an object has a name");
        let path = format!("{collection}/{name}");
        self.read(kind, &path);
        // A read object can be written again.
        let again = self.ask(Method::PUT, &path, JSON, said.body);
        assert_eq!(again.code, 200, "{path}: {again:?}");
        self.stored.push((kind, path));
        true
    }

    /// Patches the object created last. `form` is `json`, `merge` or `strategic`.
    pub fn patch(&mut self, form: &str, patch: &str) -> bool {
        let Some((kind, path)) = self.stored.last().cloned() else { return false };
        let media = match form {
            "json" => "application/json-patch+json",
            "merge" => "application/merge-patch+json",
            _ => "application/strategic-merge-patch+json",
        };
        let said = self.ask(Method::PATCH, &path, media, patch.to_owned());
        if said.code == 200 && self.ask(Method::GET, &path, JSON, "").code == 200 {
            self.read(kind, &path);
        }
        said.code == 200
    }

    /// Restarts, reads everything again, changes each object in each way and deletes it.
    pub fn finish(mut self) {
        let before = self.texts();
        self.restart();
        assert_eq!(before, self.texts(), "a restart changes nothing");
        for (kind, path) in std::mem::take(&mut self.stored) {
            if self.ask(Method::GET, &path, JSON, "").code == 404 {
                continue;
            }
            self.read(kind, &path);
            let label = json!({"metadata": {"labels": {"fuzzed": "again"}}}).to_string();
            for media in ["application/merge-patch+json", "application/strategic-merge-patch+json"]
            {
                let said = self.ask(Method::PATCH, &path, media, label.clone());
                assert_eq!(said.code, 200, "{path}: {said:?}");
            }
            let free = r#"{"metadata":{"finalizers":null},"spec":{"finalizers":null}}"#;
            self.ask(Method::PATCH, &path, "application/merge-patch+json", free);
            let now = r#"{"gracePeriodSeconds":0,"propagationPolicy":"Background"}"#;
            let said = self.ask(Method::DELETE, &path, JSON, now);
            assert!(matches!(said.code, 200 | 202 | 403), "{path}: {said:?}");
        }
        self.stop();
    }

    fn texts(&self) -> Vec<Bytes> {
        let text = |(_, path): &(_, String)| self.ask(Method::GET, path, JSON, "").body;
        self.stored.iter().map(text).collect()
    }

    /// Reads in every way; each must succeed.
    fn read(&self, kind: &Kind, path: &str) {
        for (accept, query) in READS {
            let said = self.get(&format!("{path}{query}"), accept);
            assert_eq!(said.code, 200, "{path}{query} {accept}: {said:?}");
        }
        let collection = collection(kind);
        for (accept, query) in LISTS {
            let said = self.get(&format!("{collection}{query}"), accept);
            assert_eq!(said.code, 200, "{collection}{query} {accept}: {said:?}");
        }
        for part in kind.subresources {
            if matches!(part, Subresource::Status | Subresource::Scale) {
                let said = self.get(&format!("{path}/{}", part.name()), JSON);
                assert_eq!(said.code, 200, "{path}/{}: {said:?}", part.name());
            }
        }
    }

    fn get(&self, path: &str, accept: &str) -> Response {
        self.send(Method::GET, path, accept, JSON, Bytes::new())
    }

    fn ask(&self, method: Method, path: &str, media: &str, body: impl Into<Bytes>) -> Response {
        self.send(method, path, JSON, media, body.into())
    }

    fn send(&self, method: Method, path: &str, accept: &str, media: &str, body: Bytes) -> Response {
        let server = self.running.as_ref().expect("started before it is called");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, media);
        let (code, body) = self.runtime.block_on(server.send(request, body, administrator()));
        Response { code, body }
    }

    fn restart(&mut self) {
        self.stop();
        let journal = self.folder.path().join("journal");
        let _entered = self.runtime.enter();
        let started = InProcess::start(settings(), Some(&journal));
        self.running = Some(started.expect("what was written can be read"));
    }

    fn stop(&mut self) {
        if let Some(server) = self.running.take() {
            server.stop();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.code, String::from_utf8_lossy(&self.body))
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("stored", &self.stored.len()).finish_non_exhaustive()
    }
}

fn collection(kind: &Kind) -> String {
    let root =
        if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let within = if kind.namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{}{within}/{}", kind.version, kind.plural)
}
