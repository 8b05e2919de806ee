//! ServiceAccounts: each namespace has one named `default` and the CA certificate; a Secret created
//! for the token of an account is filled in, and deleted with the account.
//!
//! ```text
//! history ─► follow ─► keys: namespaces and Secrets ─► queue ─► decide ─► write
//! ```
//!
//! Whatever is changed or deleted by others is restored. Everything is examined again when the CA
//! certificate changes.

mod decide;

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use evenkeel_admin::supervisor::caught;
use jiff::Timestamp;
use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use self::decide::{Change, DEFAULT, ROOT_CA, TOKEN_TYPE};
use super::{queue::Queue, sleep_until};
use crate::{
    api::{Api, key},
    chain::actor::Actor,
    document,
    follow::{Follower, News},
    kinds::{CONFIG_MAP, Kind, KindRef, NAMESPACE, Part, SECRET, SERVICE_ACCOUNT},
    registry::{DeleteOptions, Edit, Error, Result, UpdateStrategy},
    tokens::LegacyClaims,
};

/// Maximum number of keys with a write in progress. The writer batches concurrent writes.
const AT_ONCE: usize = 64;

/// What is examined: by the name of the namespace, or the key of the Secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Examined {
    Namespace(Box<str>),
    Secret(Box<str>),
}

/// Runs until the server stops.
pub(crate) async fn keep_accounts(api: Arc<Api>) {
    let mut authority = api.authority.subscribe();
    let mut keeper = Keeper::new();
    loop {
        let changed = api.storage.any_change();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let more = keeper.follow(&api);
        keeper.start(&api);
        let next = keeper.next_due();
        tokio::select! {
            () = changed, if !more => {}
            () = tokio::task::yield_now(), if more => {}
            Some(ended) = keeper.under_way.join_next() => keeper.ended(ended),
            () = sleep_until(next) => {}
            Ok(()) = authority.changed() => keeper.follower = follower(),
            () = api.stop.cancelled() => return,
        }
        while let Some(ended) = keeper.under_way.try_join_next() {
            keeper.ended(ended);
        }
    }
}

struct Keeper {
    follower: Follower,
    /// The keys of Secrets for tokens.
    secrets: BTreeSet<Box<str>>,
    queue: Queue<Examined>,
    under_way: JoinSet<(Examined, Option<String>)>,
}

fn follower() -> Follower {
    Follower::new([&NAMESPACE, &SERVICE_ACCOUNT, &CONFIG_MAP, &SECRET].map(|kind| kind.id()))
}

impl Keeper {
    fn new() -> Keeper {
        Keeper {
            follower: follower(),
            secrets: BTreeSet::new(),
            queue: Queue::default(),
            under_way: JoinSet::new(),
        }
    }

    /// Takes in a chunk of changes. Returns whether there are more.
    fn follow(&mut self, api: &Api) -> bool {
        let piece = self.follower.next(&api.storage.state());
        if piece.restarted {
            self.secrets.clear();
        }
        piece.news.iter().for_each(|news| self.take(news));
        piece.more
    }

    fn take(&mut self, news: &News) {
        let Some(object) = news.after.as_ref().or(news.before.as_ref()) else { return };
        let is = |kind: &Kind| news.resource == kind.id();
        let namespace = object.namespace().unwrap_or_default();
        if is(&NAMESPACE) {
            self.push(Examined::Namespace(object.key.clone()));
        } else if is(&CONFIG_MAP) && object.name() == ROOT_CA {
            self.push(Examined::Namespace(namespace.into()));
        } else if is(&SERVICE_ACCOUNT) {
            if object.name() == DEFAULT {
                self.push(Examined::Namespace(namespace.into()));
            }
            for key in self.secrets_in(namespace) {
                self.push(Examined::Secret(key));
            }
        } else if is(&SECRET) && object.fields.iter().any(|type_| &**type_ == TOKEN_TYPE) {
            match news.after.is_some() {
                true => self.secrets.insert(object.key.clone()),
                false => self.secrets.remove(&object.key),
            };
            self.push(Examined::Secret(object.key.clone()));
        }
    }

    fn secrets_in(&self, namespace: &str) -> Vec<Box<str>> {
        let prefix = format!("{namespace}/");
        let from = self.secrets.range::<str, _>((Bound::Included(&*prefix), Bound::Unbounded));
        from.take_while(|key| key.starts_with(&prefix)).cloned().collect()
    }

    fn push(&mut self, examined: Examined) {
        let now = Instant::now();
        let (Examined::Namespace(key) | Examined::Secret(key)) = &examined;
        let source = key.split('/').next().unwrap_or_default();
        self.queue.push(source.into(), examined, now, now);
    }

    fn start(&mut self, api: &Arc<Api>) {
        while self.queue.n_processing() < AT_ONCE {
            let Some(examined) = self.queue.pop(Instant::now()) else { return };
            let changes = changes(api, &examined);
            if changes.is_empty() {
                self.queue.done(&examined, Instant::now());
                continue;
            }
            let api = api.clone();
            self.under_way.spawn(async move {
                let done = caught(write_all(&api, &examined, changes)).await;
                let problem = match done {
                    Ok(done) => done.err().map(|error| error.to_string()),
                    Err(panic) => Some(format!("panicked: {panic}")),
                };
                (examined, problem)
            });
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.queue.next_due(Instant::now()).filter(|_| self.queue.n_processing() < AT_ONCE)
    }

    fn ended(
        &mut self,
        ended: std::result::Result<(Examined, Option<String>), tokio::task::JoinError>,
    ) {
        let now = Instant::now();
        match ended {
            Ok((examined, None)) => self.queue.done(&examined, now),
            Ok((examined, Some(problem))) => {
                let pause = self.queue.failed(examined.clone(), now);
                tracing::warn!(
                    ?examined,
                    error = problem,
                    "keeping ServiceAccounts failed, retrying in {pause:?}"
                );
            }
            // Panics are caught earlier, and nothing aborts the task.
            Err(error) => tracing::error!(%error, "task for ServiceAccounts failed"),
        }
    }
}

/// The changes that are due for a key, from what is stored now.
fn changes(api: &Api, examined: &Examined) -> Vec<Change> {
    let find = |kind: &'static KindRef, key: &str| -> Option<Value> {
        document::value(kind, &*api.storage.object(kind, key)?).ok()
    };
    let authority = api.authority.borrow().clone();
    match examined {
        Examined::Namespace(name) => {
            let Some(namespace) = find(&NAMESPACE, name) else { return Vec::new() };
            let account = api.storage.object(&SERVICE_ACCOUNT, &key(Some(name), DEFAULT));
            let root = find(&CONFIG_MAP, &key(Some(name), ROOT_CA));
            decide::namespace(&namespace, account.is_some(), root.as_ref(), &authority)
        }
        Examined::Secret(at) => {
            let Some(secret) = find(&SECRET, at) else { return Vec::new() };
            let namespace = at.split('/').next();
            let account = decide::account_of(&secret)
                .and_then(|name| find(&SERVICE_ACCOUNT, &key(namespace, name)));
            decide::secret(&secret, account.as_ref(), &authority).into_iter().collect()
        }
    }
}

/// Succeeds also if a change is no longer necessary: a concurrent one causes another look.
async fn write_all(api: &Arc<Api>, examined: &Examined, changes: Vec<Change>) -> Result<()> {
    for change in changes {
        match write(api, examined, &change).await {
            Err(error) if error.is_overtaken() => {}
            done => done?,
        }
    }
    Ok(())
}

/// The only place that writes.
async fn write(api: &Arc<Api>, examined: &Examined, change: &Change) -> Result<()> {
    let actor = Actor::new(api, change.user());
    let (Examined::Namespace(at) | Examined::Secret(at)) = examined;
    let namespace = at.split('/').next().unwrap_or_default();
    if let Some((kind, object)) = change.creates() {
        return actor.create(kind, Some(namespace), object).await.map(drop);
    }
    let strategy = UpdateStrategy::OfKind(Part::Main);
    let authority = api.authority.borrow().clone();
    match change {
        Change::FillSecret { uid, account, account_uid } => {
            let name = at.rsplit('/').next().unwrap_or_default();
            let token = token(api, [namespace, account, account_uid, name]).await?;
            let edit = Edit { kind: &SECRET, key: at, uid: Some(uid), version: None, strategy };
            let apply = |secret: &mut Value| {
                decide::fill(secret, namespace, account_uid, &authority, &token);
                Ok(())
            };
            actor.edit("update", "", edit, apply).await.map(drop)
        }
        Change::DeleteSecret { uid } => {
            let options = DeleteOptions { uid: Some(uid.clone()), ..DeleteOptions::default() };
            actor.delete(&SECRET, at, &options).await.map(drop)
        }
        Change::CreateAccount | Change::CreateRoot(_) | Change::RestoreRoot => {
            let key = key(Some(namespace), ROOT_CA);
            let edit = Edit { kind: &CONFIG_MAP, key: &key, uid: None, version: None, strategy };
            let apply = |root: &mut Value| {
                decide::restore(root, &authority);
                Ok(())
            };
            actor.edit("update", "", edit, apply).await.map(drop)
        }
    }
}

async fn token(api: &Arc<Api>, [namespace, account, uid, secret]: [&str; 4]) -> Result<String> {
    let claims = LegacyClaims {
        namespace: namespace.to_owned(),
        account: account.to_owned(),
        uid: uid.to_owned(),
        secret: secret.to_owned(),
    };
    let accounts = api.accounts.clone();
    // It may write the file of keys.
    let signed =
        tokio::task::spawn_blocking(move || accounts.legacy(&claims, Timestamp::now())).await;
    let signed = signed.map_err(|problem| Error::Internal(problem.to_string()))?;
    signed.map_err(|problem| Error::Internal(problem.to_string()))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;
    use crate::{
        server::{in_process::settings, testing::Server},
        settings::Settings,
    };

    const ROOT: &str = "/api/v1/namespaces/shop/configmaps/kube-root-ca.crt";
    const ACCOUNT: &str = "/api/v1/namespaces/shop/serviceaccounts/default";
    const SECRETS: &str = "/api/v1/namespaces/shop/secrets";
    const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

    async fn start() -> Server {
        let settings = Settings { housekeeping: true, ..settings() };
        let server = Server::start_whole(None, settings).await;
        server.create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}})).await;
        server
    }

    fn has(root: &Value, authority: &str) -> bool {
        root["data"] == json!({"ca.crt": authority})
            && root["metadata"]["annotations"]["kubernetes.io/description"].is_string()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_certificate_is_published_restored_and_renewed_in_each_namespace() {
        let server = start().await;
        for namespace in ["default", "kube-system", "kube-public", "kube-node-lease", "shop"] {
            let root = format!("/api/v1/namespaces/{namespace}/configmaps/{ROOT_CA}");
            server.until(&root, |root| has(root, "a CA")).await;
        }
        server.patch(ROOT, &json!({"data": {"ca.crt": "mine", "more": "x"}})).await;
        server.until(ROOT, |root| has(root, "a CA")).await;
        server.patch(ROOT, &json!({"metadata": {"annotations": null}})).await;
        server.until(ROOT, |root| has(root, "a CA")).await;
        let old = server.get(ROOT).await["metadata"]["uid"].clone();
        server.ask(Method::DELETE, ROOT, &Value::Null).await;
        server.until(ROOT, |root| has(root, "a CA") && root["metadata"]["uid"] != old).await;
        server.api.authority.send_replace("a new CA".to_owned());
        server.until(ROOT, |root| has(root, "a new CA")).await;
        server.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_account_default_is_there_until_its_namespace_goes() {
        let server = start().await;
        let account = server.until(ACCOUNT, |account| !account.is_null()).await;
        server.ask(Method::DELETE, ACCOUNT, &Value::Null).await;
        let again = |now: &Value| {
            now["metadata"]["uid"].is_string()
                && now["metadata"]["uid"] != account["metadata"]["uid"]
        };
        server.until(ACCOUNT, again).await;
        server.ask(Method::DELETE, "/api/v1/namespaces/shop", &Value::Null).await;
        server.until("/api/v1/namespaces/shop", Value::is_null).await;
        assert!(server.get(ROOT).await.is_null() && server.get(ACCOUNT).await.is_null());
        server.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_secret_with_a_token_of_an_earlier_version_gets_a_new_one() {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let server = start().await;
        let account = server.until(ACCOUNT, |account| !account.is_null()).await;
        let former = format!("evenkeel.c2hvcC9vbGQ.{}", "0".repeat(64));
        let annotations = json!({
            "kubernetes.io/service-account.name": "default",
            "kubernetes.io/service-account.uid": account["metadata"]["uid"],
        });
        let secret = json!({
            "metadata": {"name": "old", "annotations": annotations}, "type": TOKEN_TYPE,
            "data": {
                "token": STANDARD.encode(&former), "ca.crt": STANDARD.encode("a CA"),
                "namespace": STANDARD.encode("shop"),
            },
        });
        server.create(SECRETS, &secret).await;
        let old = format!("{SECRETS}/old");
        let is_new = |secret: &Value| secret["data"]["token"] != json!(STANDARD.encode(&former));
        let secret = server.until(&old, is_new).await;
        let token = STANDARD.decode(secret["data"]["token"].as_str().unwrap()).unwrap();
        let token = String::from_utf8(token).unwrap();
        let body = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"});
        assert_eq!(server.ask_with(&former, Method::POST, REVIEW, &body).await.0, 401);
        let (code, who) = server.ask_with(&token, Method::POST, REVIEW, &body).await;
        assert_eq!(code, 201, "{who}");
        assert_eq!(who["status"]["userInfo"]["username"], "system:serviceaccount:shop:default");
        // It is valid as long as the Secret contains it.
        server.patch(&old, &json!({"data": {"token": STANDARD.encode("other")}})).await;
        assert_eq!(server.ask_with(&token, Method::POST, REVIEW, &body).await.0, 401);
        server.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_housekeeping_nothing_is_published() {
        let server = Server::start_whole(None, settings()).await;
        server.create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}})).await;
        assert!(server.items("/api/v1/configmaps").await.is_empty());
        assert!(server.items("/api/v1/serviceaccounts").await.is_empty());
        server.stop().await;
    }
}
