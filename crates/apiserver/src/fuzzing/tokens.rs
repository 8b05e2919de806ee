//! The token of a ServiceAccount that is bound to a Pod, in a server with other objects.

use http::{Method, Request};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::server::in_process::{InProcess, administrator, settings};

/// Objects of each kind beside those of the token.
const OTHERS: usize = 1_000;

pub struct Tokens {
    _runtime: Runtime,
    server: InProcess,
    token: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    /// `None` if the machine lacks the resources for it.
    pub fn start() -> Option<Tokens> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().ok()?;
        let server = {
            let _entered = runtime.enter();
            InProcess::start(settings(), None).ok()?
        };
        let create = |path: &str, body: &Value| -> Option<Value> {
            let request = Request::builder().method(Method::POST).uri(path);
            let request = request.header("content-type", "application/json");
            let answer = server.send(request, body.to_string(), administrator());
            let (code, answer) = runtime.block_on(answer);
            (code == 201).then(|| serde_json::from_slice(&answer).ok())?
        };
        create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))?;
        let inside = |resource: &str| format!("/api/v1/namespaces/shop/{resource}");
        for number in 0..OTHERS {
            let metadata = json!({"name": format!("web-{number}")});
            create(&inside("serviceaccounts"), &json!({"metadata": metadata}))?;
            let spec = json!({
                "serviceAccountName": metadata["name"],
                "containers": [{"name": "web", "image": "web"}],
            });
            create(&inside("pods"), &json!({"metadata": metadata, "spec": spec}))?;
        }
        let spec = json!({"boundObjectRef": {"kind": "Pod", "name": "web-500"}});
        let asked = create(&inside("serviceaccounts/web-500/token"), &json!({"spec": spec}))?;
        let token = asked["status"]["token"].as_str()?.to_owned();
        Some(Tokens { _runtime: runtime, server, token })
    }

    /// Authenticates by a token that is known.
    pub fn warm(&self) -> bool {
        self.server.api.user_of_token(&self.token).is_some()
    }

    /// Authenticates by a token that was not seen before.
    pub fn cold(&self) -> bool {
        self.server.api.accounts.forget(&self.token);
        self.warm()
    }
}
