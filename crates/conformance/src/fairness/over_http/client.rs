//! The administrator of a server with priority and fairness.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::apiserver::{
    http::{self, Answer, Message},
    server::{self, Server},
};

pub(super) const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
pub(super) const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
/// Longer than a configuration takes to be in force.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Client(Server);

impl Client {
    pub(super) fn start() -> Result<Client, String> {
        server::start("fairness").map(Client)
    }

    /// A request of the administrator.
    pub(super) fn message(&self, method: &str, target: &str, body: Option<&Value>) -> Message {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [
            ("Authorization", format!("Bearer {}", self.0.token)),
            ("Content-Type", kind.to_owned()),
        ];
        Message {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.map(|body| body.to_string().into_bytes()),
        }
    }

    pub(super) fn send(&self, message: &Message) -> Result<Answer, String> {
        http::send(&self.0.target, message).map_err(|e| format!("{}: {e}", message.target))
    }

    /// Sends requests over one connection. All must succeed.
    pub(super) fn send_each(&self, messages: impl Iterator<Item = Message>) -> Result<(), String> {
        let codes = http::send_each(&self.0.target, messages).map_err(|e| e.to_string())?;
        match codes.iter().find(|code| **code >= 300) {
            Some(code) => Err(format!("a request failed with {code}")),
            None => Ok(()),
        }
    }

    pub(super) fn ask(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Vec<u8>), String> {
        let mut answer = self.send(&self.message(method, target, body))?;
        let body = answer.read_all().map_err(|e| e.to_string())?;
        Ok((answer.status, body))
    }

    pub(super) fn items(&self, path: &str) -> Result<Vec<Value>, String> {
        let (_, body) = self.ask("GET", path, None)?;
        let list: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Creates or replaces an object, which then belongs to the user; false if it is refused.
    pub(super) fn put(&self, path: &str, object: &Value) -> Result<bool, String> {
        let name = super::text(&object["metadata"], "name");
        let object = json!({
            "metadata": {"name": name, "annotations": {AUTOUPDATE: "false"}},
            "spec": object["spec"],
        });
        let (code, _) = self.ask("PUT", &format!("{path}/{name}"), Some(&object))?;
        let code = match code {
            404 => self.ask("POST", path, Some(&object))?.0,
            code => code,
        };
        Ok(code < 300)
    }

    /// The UID of the schema and of the level that a response names.
    pub(super) fn destination(answer: &Answer) -> [String; 2] {
        let header = |name| answer.header(name).unwrap_or_default().to_owned();
        ["X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"].map(header)
    }

    /// The request as a user in some groups.
    pub(super) fn as_user(&self, message: Message, user: &str, groups: &[&str]) -> Message {
        let mut message = message;
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        message.headers.push(header("Impersonate-User", user));
        message.headers.extend(groups.iter().map(|group| header("Impersonate-Group", group)));
        message
    }

    /// Waits until all that was written before is in force: changes come into force in their order.
    pub(super) fn settle(&self, round: usize) -> Result<(), String> {
        let name = format!("sentinel-{round}");
        self.put(SCHEMAS, &schema(&name, "catch-all", &name, 2))?;
        let (_, body) = self.ask("GET", &format!("{SCHEMAS}/{name}"), None)?;
        let sentinel: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        let uid = super::text(&sentinel["metadata"], "uid");
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let probe = self.as_user(self.message("GET", "/version", None), &name, &[]);
            if Client::destination(&self.send(&probe)?)[0] == uid {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        Err("a new schema is not in force".to_owned())
    }
}

/// All requests of a user go to a level.
pub(super) fn schema(name: &str, level: &str, user: &str, precedence: i32) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": user}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                "clusterScope": true, "namespaces": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }],
    }})
}
