//! What a caller does, one request after another.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    client::{Answer, Client, JSON, MERGE},
    tally::Tally,
};

/// After a rejection, so that what runs amok costs the server requests, and not its client all of
/// a core.
const AFTER_REJECTION: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// `{n}` in the body differs from request to request.
    Repeat(Repeat),
    /// Updates of a Lease, whose version its holder knows.
    Renew { path: String },
    /// ConfigMaps in this namespace are created, updated and deleted.
    ConfigMaps { namespace: String },
    /// A ServiceAccount, a Secret that it owns, and the deletion of the ServiceAccount.
    Accounts { namespace: String },
}

#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    method: &'static str,
    path: String,
    content_type: &'static str,
    body: String,
    /// How long the body takes.
    hold: Option<Duration>,
}

/// The state of one caller.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) tally: Tally,
    /// The object that is updated next.
    pub(super) last: Value,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Work {
    pub(crate) fn patch(path: &str, body: &str) -> Work {
        Work::repeat("PATCH", path, MERGE, body)
    }

    pub(crate) fn create(path: &str, body: &str) -> Work {
        Work::repeat("POST", path, JSON, body)
    }

    fn repeat(method: &'static str, path: &str, content_type: &'static str, body: &str) -> Work {
        let (path, body) = (path.to_owned(), body.to_owned());
        Work::Repeat(Repeat { method, path, content_type, body, hold: None })
    }

    /// With bodies that take so long.
    pub(crate) fn slowly(self, hold: Duration) -> Work {
        match self {
            Work::Repeat(repeat) => Work::Repeat(Repeat { hold: Some(hold), ..repeat }),
            others => others,
        }
    }
}

// === impl Worker ===

impl Worker {
    /// One round of the work.
    pub(super) async fn round(&mut self, work: &Work) {
        let n = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        match work {
            Work::Repeat(repeat) => self.repeat(repeat, &n).await,
            Work::Renew { path } => self.renew(path, &n).await,
            Work::ConfigMaps { namespace } => self.config_map(namespace, &n).await,
            Work::Accounts { namespace } => self.account(namespace, &n).await,
        }
    }

    async fn repeat(&mut self, repeat: &Repeat, n: &str) {
        let Repeat { method, path, content_type, body, hold } = repeat;
        let (started, body) = (Instant::now(), body.replace("{n}", n));
        let answer = match hold {
            Some(hold) => self.client.send_slowly(method, path, content_type, body, *hold).await,
            None => self.client.send(method, path, content_type, body).await,
        };
        self.count(started, &answer).await;
    }

    async fn renew(&mut self, path: &str, n: &str) {
        if self.last.is_null() {
            self.last = self.call("GET", path, JSON, String::new()).await.json();
        }
        self.last["spec"]["holderIdentity"] = n.into();
        let renewed = self.call("PUT", path, JSON, self.last.to_string()).await;
        if renewed.is_served() {
            self.last = renewed.json();
        }
    }

    async fn config_map(&mut self, namespace: &str, n: &str) {
        let all = format!("/api/v1/namespaces/{namespace}/configmaps");
        let (one, name) = (format!("{all}/c{n}"), format!("c{n}"));
        let object = |text: &str| json!({"metadata": {"name": name}, "data": {"k": text}});
        self.insist("POST", &all, object("first").to_string()).await;
        self.insist("PUT", &one, object("second").to_string()).await;
        self.insist("DELETE", &one, String::new()).await;
    }

    async fn account(&mut self, namespace: &str, n: &str) {
        let (accounts, secrets) = ["serviceaccounts", "secrets"]
            .map(|kind| format!("/api/v1/namespaces/{namespace}/{kind}"))
            .into();
        let name = format!("a{n}");
        let account = json!({"metadata": {"name": name}}).to_string();
        let account = self.insist("POST", &accounts, account).await.json();
        let owner = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "name": name,
            "uid": account["metadata"]["uid"],
        });
        let secret = json!({"metadata": {"name": name, "ownerReferences": [owner]}});
        self.insist("POST", &secrets, secret.to_string()).await;
        self.insist("DELETE", &format!("{accounts}/{name}"), String::new()).await;
    }

    /// Again and again until it is not rejected, without heed of `Retry-After`.
    async fn insist(&mut self, method: &str, path: &str, body: String) -> Answer {
        loop {
            let answer = self.call(method, path, JSON, body.clone()).await;
            if answer.code != 429 {
                return answer;
            }
        }
    }

    async fn call(&mut self, method: &str, path: &str, content_type: &str, body: String) -> Answer {
        let started = Instant::now();
        let answer = self.client.send(method, path, content_type, body).await;
        self.count(started, &answer).await;
        answer
    }

    async fn count(&mut self, started: Instant, answer: &Answer) {
        self.tally.add(started, answer.code, || answer.text());
        if answer.code == 429 {
            tokio::time::sleep(AFTER_REJECTION).await;
        }
    }
}
