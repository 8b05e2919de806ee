//! Executes the actions of parts, each under the identity of the component that it simulates, on
//! the same path as a client's writes.

use std::sync::Arc;

use evenkeel_store::{Revision, patch};
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Action,
    identity::{self, Written},
    queue::Id,
};
use crate::{
    api::{Api, name_of},
    chain::actor::Actor,
    identity::User,
    kinds::{
        EVENT, KindRef, POD, Part,
        metadata::seconds,
        pod::binding,
        read::{remove, text},
    },
    random,
    registry::{DeleteOptions, Edit, Error, PodHooks, Result, UpdateStrategy},
};

/// Per key.
const ACTIONS_AT_ONCE: usize = 32;
/// The result of the actions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Done,
    /// A conflict, or the namespace is terminating: to be decided again.
    Overtaken,
    Failed,
}

/// The worst result of all actions that a part decided for a key.
pub(super) async fn all(api: &Api, id: &Id, actions: &[Action]) -> Outcome {
    let now = Timestamp::now();
    let by = By { api, id, now };
    let each: Vec<_> = actions.iter().map(|action| one(by, action)).collect();
    let outcomes: Vec<Outcome> =
        stream::iter(each).buffer_unordered(ACTIONS_AT_ONCE).collect().await;
    outcomes.into_iter().max().unwrap_or(Outcome::Done)
}

/// The part that acts, and when.
#[derive(Clone, Copy)]
struct By<'a> {
    api: &'a Api,
    id: &'a Id,
    now: Timestamp,
}

async fn one(by: By<'_>, action: &Action) -> Outcome {
    let done = match action {
        Action::Create { kind, namespace, object } => {
            by.create(kind, namespace.as_deref(), object.clone()).await
        }
        Action::Patch { kind, key, uid, patch } => by.patch(Target { kind, key, uid }, patch).await,
        Action::Delete { kind, key, uid, grace_seconds } => {
            by.delete(Target { kind, key, uid }, *grace_seconds).await
        }
        Action::Bind { key, uid, node } => by.bind(Target { kind: &POD, key, uid }, node).await,
        Action::Event { kind, key, uid, warning, reason, message } => {
            let event = event(Target { kind, key, uid }, by.now, *warning, reason, message);
            let namespace = text(&event, &["metadata", "namespace"]).to_owned();
            by.create(&EVENT, Some(&namespace), event).await
        }
    };
    let Err(error) = done else { return Outcome::Done };
    if error.is_overtaken() {
        tracing::debug!(%action, %error, "sandbox action conflicted");
        return Outcome::Overtaken;
    }
    tracing::warn!(%action, %error, "sandbox action failed");
    Outcome::Failed
}

/// A reference to the examined object.
#[derive(Clone, Copy)]
struct Target<'a> {
    kind: &'static KindRef,
    key: &'a str,
    uid: &'a str,
}

impl By<'_> {
    fn user(&self, kind: &'static KindRef, patch: Option<&Value>) -> Arc<User> {
        let (part, key) = self.id;
        identity::of(*part, key, Written { kind, patch }, &self.api.storage)
    }

    async fn create(
        &self,
        kind: &'static KindRef,
        namespace: Option<&str>,
        object: Value,
    ) -> Result<()> {
        let user = self.user(kind, None);
        let actor = Actor { api: self.api, user: &user, now: self.now };
        actor.create(kind, namespace, object).await.map(drop)
    }

    async fn delete(&self, target: Target<'_>, grace_seconds: Option<i64>) -> Result<()> {
        let Target { kind, key, uid } = target;
        let options =
            DeleteOptions { grace_seconds, uid: Some(uid.to_owned()), ..DeleteOptions::default() };
        let user = self.user(kind, None);
        let actor = Actor { api: self.api, user: &user, now: self.now };
        actor.delete(kind, key, &options).await.map(drop)
    }

    /// A patch of the object, then of its status, each by its own strategy. Annotations alone go
    /// with the status, as Kubernetes' controllers write them, so that they do not increment the
    /// generation.
    async fn patch(&self, target: Target<'_>, patch: &Value) -> Result<()> {
        let mut main = patch.clone();
        let status = main.as_object_mut().and_then(|main| main.remove("status"));
        let version = remove(&mut main, &["metadata", "resourceVersion"]);
        let mut version = version.and_then(|version| version.as_str()?.parse().ok());
        let goes_along = status.is_some() && is_annotations(&main);
        if !goes_along && !is_empty(&main) {
            let written = self.merge(target, version, Part::Main, &main).await?;
            version = version.map(|_| written);
        }
        let Some(status) = status else { return Ok(()) };
        let mut rest = if goes_along { main } else { json!({}) };
        rest["status"] = status;
        self.merge(target, version, Part::Status, &rest).await.map(drop)
    }

    async fn merge(
        &self,
        target: Target<'_>,
        version: Option<Revision>,
        part: Part,
        patch: &Value,
    ) -> Result<Revision> {
        let Target { kind, key, uid } = target;
        let user = self.user(kind, Some(patch));
        let actor = Actor { api: self.api, user: &user, now: self.now };
        // As Kubernetes' controllers do it, and all that their roles allow.
        let verb = if kind == &POD { "patch" } else { "update" };
        let subresource = if part == Part::Status { "status" } else { "" };
        let strategy = UpdateStrategy::OfKind(part);
        let edit = Edit { kind, key, uid: Some(uid), version, strategy };
        actor.edit(verb, subresource, edit, |object| merged(object, patch)).await
    }

    async fn bind(&self, pod: Target<'_>, node: &str) -> Result<()> {
        let mut binding = json!({"metadata": {}, "target": {"kind": "Node", "name": node}});
        PodHooks::complete_binding(self.api, &mut binding);
        let user = self.user(pod.kind, None);
        let actor = Actor { api: self.api, user: &user, now: self.now };
        let apply = |object: &mut Value| {
            let bound = binding::bind(object, &binding, self.now);
            bound.map_err(|problem| Error::ConflictOn {
                part: "pods/binding",
                name: pod.key.to_owned(),
                why: problem.to_string(),
            })
        };
        actor.edit("create", "binding", pod.edit(UpdateStrategy::Unchecked), apply).await.map(drop)
    }
}

impl<'a> Target<'a> {
    fn edit(self, strategy: UpdateStrategy) -> Edit<'a> {
        Edit { kind: self.kind, key: self.key, uid: Some(self.uid), version: None, strategy }
    }
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

fn merged(object: &mut Value, patch: &Value) -> Result<()> {
    let merged = patch::merge(object, patch.to_string().as_bytes());
    merged.map(drop).map_err(|problem| Error::Internal(problem.to_string()))
}

fn event(about: Target<'_>, now: Timestamp, warning: bool, reason: &str, message: &str) -> Value {
    let Target { kind, key, uid } = about;
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
            Action::Event { kind, key, reason, .. } => {
                write!(f, "record Event {reason} on {} {key}", kind.kind)
            }
        }
    }
}

impl Action {
    /// The object that it changes, if it exists already.
    pub(super) fn target(&self) -> Option<(&'static KindRef, &str)> {
        match self {
            Action::Create { .. } | Action::Event { .. } => None,
            Action::Patch { kind, key, .. } | Action::Delete { kind, key, .. } => Some((kind, key)),
            Action::Bind { key, .. } => Some((&POD, key)),
        }
    }
}
