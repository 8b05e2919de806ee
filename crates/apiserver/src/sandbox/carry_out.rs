//! Executes the actions of parts, on the same path as a client's writes.

use base64::{Engine, engine::general_purpose::STANDARD};
use evenkeel_store::{Outcome as Written, Refused, Revision, patch};
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Action, nodes, tolerations};
use crate::{
    api::{Api, key as key_in, name_of},
    document,
    identity::service_account,
    kinds::{
        EVENT, Kind, POD, Part, SECRET,
        metadata::seconds,
        pod::binding,
        read::{entry, remove, text},
    },
    lifecycle::DeleteOptions,
    random,
    status::{Failure, Result},
    verbs::{
        self,
        admit::{self, Update, UpdateStrategy},
    },
};

/// Per key.
const ACTIONS_AT_ONCE: usize = 32;
/// Attempts with a generated name.
const NAMES: usize = 8;
/// Attempts of an unconditional write that conflicts with others.
const TRIES: usize = 20;

/// The result of the actions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Done,
    /// A conflict, or the namespace is terminating: to be decided again.
    Overtaken,
    Failed,
}

/// The worst result of all actions.
pub(super) async fn all(api: &Api, actions: &[Action]) -> Outcome {
    let each: Vec<_> = actions.iter().map(|action| one(api, action)).collect();
    let outcomes: Vec<Outcome> =
        stream::iter(each).buffer_unordered(ACTIONS_AT_ONCE).collect().await;
    outcomes.into_iter().max().unwrap_or(Outcome::Done)
}

async fn one(api: &Api, action: &Action) -> Outcome {
    let now = Timestamp::now();
    let done = match action {
        Action::Create { kind, namespace, object } => {
            create(api, kind, namespace.as_deref(), object.clone(), now).await
        }
        Action::Patch { kind, key, uid, patch } => {
            patched(api, Target { kind, key, uid, now }, patch).await
        }
        Action::Delete { kind, key, uid, grace_seconds } => {
            let options = DeleteOptions {
                grace_seconds: *grace_seconds,
                uid: Some(uid.clone()),
                ..DeleteOptions::default()
            };
            verbs::remove(api, kind, key, &options, now).await.map(drop)
        }
        Action::Bind { key, uid, node } => {
            bind(api, Target { kind: &POD, key, uid, now }, node).await
        }
        Action::Token { key, uid, account_uid } => {
            token(api, Target { kind: &SECRET, key, uid, now }, account_uid).await
        }
        Action::Event { kind, key, uid, warning, reason, message } => {
            let event = event(Target { kind, key, uid, now }, *warning, reason, message);
            let namespace = text(&event, &["metadata", "namespace"]).to_owned();
            create(api, &EVENT, Some(&namespace), event, now).await
        }
    };
    let Err(failure) = done else { return Outcome::Done };
    // A 403 means that the namespace is terminating.
    if matches!(failure.code, 403 | 404 | 409) {
        tracing::debug!(%action, error = failure.message(), "sandbox action conflicted");
        return Outcome::Overtaken;
    }
    tracing::warn!(%action, error = failure.message(), "sandbox action failed");
    Outcome::Failed
}

async fn create(
    api: &Api,
    kind: &'static Kind,
    namespace: Option<&str>,
    mut object: Value,
    now: Timestamp,
) -> Result<()> {
    if let Some(namespace) = namespace {
        api.check_namespace(kind, namespace, name_of(&object))?;
        object["metadata"]["namespace"] = namespace.into();
    }
    object["kind"] = kind.kind.into();
    object["apiVersion"] = kind.api_version().into();
    if kind == &POD {
        tolerations::default(&mut object, lost_seconds(api));
    }
    let tries = if name_of(&object).is_empty() { NAMES } else { 1 };
    for _ in 0..tries {
        let mut admitted = admit::create(api, kind, object.clone(), false, now)?;
        let key = key_in(namespace, name_of(&admitted.value));
        match admitted.write_new(api, kind, &key).await? {
            Err(Refused::Exists) => {}
            _ => return Ok(()),
        }
    }
    Err(Failure::already_exists(kind, name_of(&object), false))
}

/// A reference to the examined object.
#[derive(Clone, Copy)]
struct Target<'a> {
    kind: &'a Kind,
    key: &'a str,
    uid: &'a str,
    now: Timestamp,
}

/// A patch of the object, then of its status, each by its own strategy. Annotations alone go with
/// the status, as Kubernetes' controllers write them, so that they do not increment the generation.
async fn patched(api: &Api, target: Target<'_>, patch: &Value) -> Result<()> {
    let mut main = patch.clone();
    let status = main.as_object_mut().and_then(|main| main.remove("status"));
    let version = remove(&mut main, &["metadata", "resourceVersion"]);
    let mut version = version.and_then(|version| version.as_str()?.parse().ok());
    let goes_along = status.is_some() && is_annotations(&main);
    if !goes_along && !is_empty(&main) {
        let edit = |object: &mut Value| merge(object, &main);
        let written =
            rewrite(api, target, version, UpdateStrategy::OfKind(Part::Main), edit).await?;
        version = version.map(|_| written);
    }
    let Some(status) = status else { return Ok(()) };
    let mut rest = if goes_along { main } else { json!({}) };
    rest["status"] = status;
    let edit = |object: &mut Value| merge(object, &rest);
    rewrite(api, target, version, UpdateStrategy::OfKind(Part::Status), edit).await.map(drop)
}

/// Whether all parts of a patch are empty.
fn is_empty(patch: &Value) -> bool {
    let mut parts = patch.as_object().into_iter().flat_map(Map::values);
    parts.all(|part| part.as_object().is_some_and(Map::is_empty))
}

/// Whether a patch changes only annotations.
fn is_annotations(patch: &Value) -> bool {
    let is_only = |value: &Value, key: &str| {
        value.as_object().is_some_and(|fields| fields.keys().all(|one| one == key))
    };
    is_only(patch, "metadata") && is_only(&patch["metadata"], "annotations")
}

fn merge(object: &mut Value, patch: &Value) -> Result<()> {
    let merged = patch::merge(object, patch.to_string().as_bytes());
    merged.map(drop).map_err(|problem| Failure::internal(problem.to_string()))
}

/// Writes the next version; retries on a conflict unless a version was required.
async fn rewrite(
    api: &Api,
    target: Target<'_>,
    version: Option<Revision>,
    strategy: UpdateStrategy,
    edit: impl Fn(&mut Value) -> Result<()>,
) -> Result<Revision> {
    let Target { kind, key, uid, now } = target;
    let name = key.rsplit('/').next().unwrap_or_default();
    for _ in 0..TRIES {
        let object = api.storage.object(kind, key);
        let object = object.ok_or_else(|| Failure::not_found(kind, name))?;
        if version.is_some_and(|version| version != object.revision) {
            return Err(Failure::modified(kind, name));
        }
        let old = document::value(kind, &object)?;
        if text(&old, &["metadata", "uid"]) != uid {
            return Err(Failure::not_found(kind, name));
        }
        let mut value = old.clone();
        edit(&mut value)?;
        let change = Update { kind, strategy, key, old: &old, dry_run: false, now };
        let mut admitted = admit::update(api, change, value)?;
        match admitted.write_over(api, change, &object).await? {
            Ok(Written::Written(object) | Written::Unchanged(object)) => return Ok(object.revision),
            Ok(Written::Deleted(..)) => return Err(Failure::not_found(kind, name)),
            Err(_) => {}
        }
    }
    Err(Failure::modified(kind, name))
}

async fn bind(api: &Api, pod: Target<'_>, node: &str) -> Result<()> {
    let mut binding = json!({"metadata": {}, "target": {"kind": "Node", "name": node}});
    admit::label_binding(api, &mut binding);
    let edit = |object: &mut Value| {
        tolerations::default(object, lost_seconds(api));
        let bound = binding::bind(object, &binding, pod.now);
        bound.map_err(|problem| Failure::conflict(pod.kind, pod.key, &problem.to_string()))
    };
    rewrite(api, pod, None, UpdateStrategy::Unchecked, edit).await.map(drop)
}

/// How long Pods stay on a lost Node.
fn lost_seconds(api: &Api) -> i64 {
    let eviction = api.settings.sandbox.as_ref().map(|settings| settings.pod_eviction);
    eviction.map_or(300, nodes::whole_seconds)
}

/// An unpredictable token that names its Secret; an existing one is kept.
async fn token(api: &Api, secret: Target<'_>, account_uid: &str) -> Result<()> {
    let namespace = secret.key.split('/').next().unwrap_or_default();
    let token = STANDARD.encode(service_account::new_token(secret.key, &random::secret()));
    let edit = |object: &mut Value| {
        *entry(object, &["metadata", "annotations", service_account::UID]) = account_uid.into();
        *entry(object, &["data", "ca.crt"]) = STANDARD.encode(&api.authority).into();
        *entry(object, &["data", "namespace"]) = STANDARD.encode(namespace).into();
        let kept = entry(object, &["data", "token"]);
        if kept.is_null() {
            *kept = token.clone().into();
        }
        Ok(())
    };
    rewrite(api, secret, None, UpdateStrategy::OfKind(Part::Main), edit).await.map(drop)
}

fn event(about: Target<'_>, warning: bool, reason: &str, message: &str) -> Value {
    let Target { kind, key, uid, now } = about;
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let at = if namespace.is_empty() { "default" } else { namespace };
    let mut involved = json!({
        "kind": kind.kind, "apiVersion": kind.api_version(), "name": name, "uid": uid,
    });
    if !namespace.is_empty() {
        involved["namespace"] = namespace.into();
    }
    let time = seconds(now);
    json!({
        "metadata": {"name": format!("{name}.{:016x}", random::below(u64::MAX)), "namespace": at},
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "type": if warning { "Warning" } else { "Normal" },
        "source": {"component": "sandbox"},
        "firstTimestamp": time, "lastTimestamp": time, "count": 1,
    })
}

// === impl Action ===

/// For log lines: verb, kind and key.
impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::Create { kind, namespace: Some(namespace), object } => {
                write!(f, "create {} {namespace}/{}", kind.kind, name_of(object))
            }
            Action::Create { kind, namespace: None, object } => {
                write!(f, "create {} {}", kind.kind, name_of(object))
            }
            Action::Patch { kind, key, .. } => write!(f, "patch {} {key}", kind.kind),
            Action::Delete { kind, key, .. } => write!(f, "delete {} {key}", kind.kind),
            Action::Bind { key, node, .. } => write!(f, "bind Pod {key} to {node}"),
            Action::Token { key, .. } => write!(f, "fill in Secret {key}"),
            Action::Event { kind, key, reason, .. } => {
                write!(f, "record Event {reason} on {} {key}", kind.kind)
            }
        }
    }
}

impl Action {
    /// The object that it changes, if it exists already.
    pub(super) fn target(&self) -> Option<(&'static Kind, &str)> {
        match self {
            Action::Create { .. } | Action::Event { .. } => None,
            Action::Patch { kind, key, .. } | Action::Delete { kind, key, .. } => Some((kind, key)),
            Action::Bind { key, .. } => Some((&POD, key)),
            Action::Token { key, .. } => Some((&SECRET, key)),
        }
    }
}
