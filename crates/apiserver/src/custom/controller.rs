//! Keeps the catalogue and the status of CustomResourceDefinitions up to date.
//!
//! ```text
//! history ─► follow ─► names, approval, establish (pure) ─┬► catalogue: the resource is served
//!                                                         ├► status: conditions, accepted names
//!                                                         └► if deleted: objects, then finalizer
//! ```
//!
//! A definition is served before its status says so, so that a client that waits for `Established`
//! never gets a 404. A change costs the definitions that it concerns; each is retried by itself.

use std::{collections::BTreeSet, ops::Bound, sync::Arc, time::Duration};

use evenkeel_admin::supervisor::caught;
use evenkeel_store::{Object, ResourceId};
use jiff::Timestamp;
use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use super::{
    approval, definition, establish,
    finalize::{self, Ended, Plan},
    names::{BuiltIn, NamesInUse},
};
use crate::{
    api::Api,
    chain::actor::Actor,
    document,
    follow::{Follower, News, PIECE},
    housekeeping::Queue,
    identity::actors,
    kinds::{
        CUSTOM_RESOURCE_DEFINITION, Catalogue, KINDS, KindRef, of_id,
        read::{at, entry, text},
    },
    registry::{DeleteOptions, Edit, Error, Result, Target, UpdateStrategy},
};

/// Maximum number of definitions with a write in progress.
const AT_ONCE: usize = 64;
/// How often the objects of a deleted definition are looked at again if nothing changes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs until the server stops.
pub(crate) async fn run(api: Arc<Api>) {
    let mut controller = Controller::new();
    loop {
        let changed = api.storage.notify_of(CUSTOM_RESOURCE_DEFINITION.id());
        let changed = changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let more = controller.follow(&api);
        controller.start(&api);
        let next = controller.queue.next_due(Instant::now());
        tokio::select! {
            () = changed, if !more => {}
            () = tokio::task::yield_now(), if more => {}
            Some(done) = controller.under_way.join_next() => controller.ended(done),
            () = sleep_until(next) => {}
            () = api.stop.cancelled() => return,
        }
        while let Some(done) = controller.under_way.try_join_next() {
            controller.ended(done);
        }
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

struct Controller {
    follower: Follower,
    names: NamesInUse,
    queue: Queue<Box<str>>,
    under_way: JoinSet<Done>,
    /// The definitions whose objects are being deleted.
    finalizing: BTreeSet<Box<str>>,
}

/// A finished task, and its error.
enum Done {
    Definition(Box<str>, Option<String>),
    Finalized(Box<str>, Option<String>),
}

impl Controller {
    fn new() -> Controller {
        Controller {
            follower: Follower::new([CUSTOM_RESOURCE_DEFINITION.id()]),
            names: built_in(),
            queue: Queue::default(),
            under_way: JoinSet::new(),
            finalizing: BTreeSet::new(),
        }
    }

    /// Takes in a chunk of changes. Returns whether there are more.
    fn follow(&mut self, api: &Api) -> bool {
        let piece = self.follower.next(&api.storage.state());
        if piece.restarted {
            self.names = built_in();
        }
        for News { before, after, .. } in &piece.news {
            match (after, before) {
                (Some(object), _) => self.present(object),
                (None, Some(gone)) => self.gone(api, &gone.key),
                (None, None) => {}
            }
        }
        piece.more
    }

    fn present(&mut self, object: &Object) {
        match document::value(&CUSTOM_RESOURCE_DEFINITION, object) {
            Ok(value) => {
                let again = self.names.apply(&value);
                self.push(&object.key);
                again.iter().for_each(|name| self.push(name));
            }
            Err(error) => tracing::warn!(name = &*object.key, %error, "ignoring invalid object"),
        }
    }

    fn gone(&mut self, api: &Api, name: &str) {
        let again = self.names.remove(name);
        again.iter().for_each(|name| self.push(name));
        uninstall(api, name);
    }

    fn push(&mut self, name: &str) {
        let now = Instant::now();
        self.queue.push(name.into(), name.into(), now, now);
    }

    fn start(&mut self, api: &Arc<Api>) {
        let now = Instant::now();
        while self.queue.n_processing() < AT_ONCE {
            let Some(name) = self.queue.pop(now) else { return };
            match self.decided(api, &name) {
                Some(decided) => self.carry_out(api, name, decided),
                None => self.queue.done(&name, now),
            }
        }
    }

    /// The status that a definition should have. Its names are taken at once: the next definition
    /// is decided before this one is written.
    fn decided(&mut self, api: &Api, name: &str) -> Option<Decided> {
        let object = api.storage.object(&CUSTOM_RESOURCE_DEFINITION, name)?;
        let mut value = document::value(&CUSTOM_RESOURCE_DEFINITION, &object).ok()?;
        let now = Timestamp::now();
        let mut changed = self.names.decide(&mut value, now);
        if !changed {
            // With the next version, as Kubernetes' controllers do it one after the other.
            changed = establish::decide(&mut value, now);
        }
        changed |= approval::decide(&mut value, now);
        let again = self.names.apply(&value);
        again.iter().for_each(|name| self.push(name));
        let (group, plural) =
            (text(&value, &["spec", "group"]), text(&value, &["spec", "names", "plural"]));
        let is_built_in = self.names.is_built_in(group, plural);
        Some(Decided { object, value, changed, is_built_in })
    }

    fn carry_out(&mut self, api: &Arc<Api>, name: Box<str>, decided: Decided) {
        if finalize::is_due(&decided.value) && self.finalizing.insert(name.clone()) {
            let (api, name, is_built_in) = (api.clone(), name.clone(), decided.is_built_in);
            self.under_way.spawn(async move {
                let done = caught(finalized(&api, &name, is_built_in)).await;
                Done::Finalized(name, problem(done))
            });
        }
        let api = api.clone();
        self.under_way.spawn(async move {
            let done = caught(served(&api, &name, decided)).await;
            Done::Definition(name, problem(done))
        });
    }

    fn ended(&mut self, done: std::result::Result<Done, tokio::task::JoinError>) {
        let now = Instant::now();
        match done {
            Ok(Done::Definition(name, None)) => self.queue.done(&name, now),
            Ok(Done::Definition(name, Some(error))) => {
                let pause = self.queue.failed(name.clone(), now);
                tracing::warn!(%name, error, "updating a custom resource definition failed, retrying in {pause:?}");
            }
            Ok(Done::Finalized(name, error)) => {
                self.finalizing.remove(&name);
                // One of the same name may have been deleted meanwhile.
                let mut due = now;
                if let Some(error) = error {
                    tracing::warn!(%name, error, "deleting the objects of a custom resource failed, retrying");
                    due = now + Duration::from_secs(1);
                }
                self.queue.push(name.clone(), name, due, now);
            }
            // Panics are caught earlier, and nothing aborts the task.
            Err(error) => tracing::error!(%error, "custom resource task failed"),
        }
    }
}

/// A definition, and the status that it should have.
struct Decided {
    object: Arc<Object>,
    value: Value,
    changed: bool,
    is_built_in: bool,
}

fn problem(done: std::result::Result<Result<()>, String>) -> Option<String> {
    match done {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_overtaken() => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(format!("panicked: {panic}")),
    }
}

fn built_in() -> NamesInUse {
    let list_kinds: Vec<String> = KINDS.iter().map(|kind| kind.list_kind()).collect();
    let short_names: Vec<Vec<&str>> =
        KINDS.iter().map(|kind| kind.short_names.iter().map(|name| &**name).collect()).collect();
    let kinds = KINDS.iter().zip(&list_kinds).zip(&short_names);
    NamesInUse::new(kinds.map(|((kind, list_kind), short_names)| BuiltIn {
        group: &kind.group,
        plural: &kind.plural,
        singular: &kind.singular,
        short_names,
        kind: &kind.kind,
        list_kind,
    }))
}

/// Installs a definition, and writes its status if that changed.
async fn served(api: &Api, name: &str, decided: Decided) -> Result<()> {
    let id = api.storage.register(name).await?;
    let Decided { object, value, changed, .. } = decided;
    let shown = match changed {
        true => Arc::new(with_value(&object, &value)),
        false => object.clone(),
    };
    install(api, &shown, id);
    if api.storage.object(&CUSTOM_RESOURCE_DEFINITION, name).is_none() {
        // It was removed meanwhile, perhaps before it was installed. Whoever removes it later
        // uninstalls it later.
        uninstall(api, name);
    }
    if !changed {
        return Ok(());
    }
    let actor = Actor::new(api, &actors::APISERVER);
    let edit = Edit {
        kind: &CUSTOM_RESOURCE_DEFINITION,
        key: name,
        uid: None,
        version: Some(object.revision),
        strategy: UpdateStrategy::Unchecked,
    };
    let status = at(&value, &["status"]);
    let written = actor.edit("update", "status", edit, |present| {
        *entry(present, &["status"]) = status.clone();
        Ok(())
    });
    written.await.map(drop)
}

/// The object with a content that is not stored yet.
fn with_value(object: &Object, value: &Value) -> Object {
    let new = document::stored(&CUSTOM_RESOURCE_DEFINITION, value);
    Object { encoded: new.encoded, ..object.clone() }
}

/// Serves what was stored, before the first request.
pub(crate) fn restore(api: &Api) {
    let state = api.storage.state().clone();
    let mut all = Catalogue::default();
    for object in state.range(CUSTOM_RESOURCE_DEFINITION.id(), Bound::Unbounded) {
        let id = state.resource(&object.key).filter(|id| of_id(*id).is_none());
        let Some(id) = id else { continue };
        match definition::defined(object, id, None) {
            Ok(custom) => custom.into_iter().for_each(|custom| all.insert(Arc::new(custom))),
            Err(error) => invalid(object, &error),
        }
    }
    api.catalogue.update(|catalogue| *catalogue = all.clone());
}

/// Serves a definition, in place of its earlier version. Watches of that one end if clients would
/// see a difference.
pub(super) fn install(api: &Api, object: &Arc<Object>, id: ResourceId) {
    let Some((plural, group)) = object.key.split_once('.') else { return };
    let old = api.catalogue.load().custom(group, plural).cloned();
    if old.as_ref().is_some_and(|old| Arc::ptr_eq(&old.definition, object)) {
        return;
    }
    match definition::defined(object, id, old.as_deref()) {
        Ok(Some(custom)) => {
            let new = Arc::new(custom);
            api.catalogue.update(|catalogue| catalogue.insert(new.clone()));
            if let Some(old) = old.filter(|old| old.serving != new.serving) {
                old.replaced.cancel();
            }
        }
        Ok(None) => uninstall(api, &object.key),
        Err(error) => invalid(object, &error),
    }
}

fn invalid(object: &Object, error: &str) {
    tracing::warn!(name = &*object.key, error, "ignoring invalid custom resource definition");
}

fn uninstall(api: &Api, name: &str) {
    let Some((plural, group)) = name.split_once('.') else { return };
    let Some(old) = api.catalogue.load().custom(group, plural).cloned() else { return };
    api.catalogue.update(|catalogue| catalogue.remove(group, plural));
    old.replaced.cancel();
}

/// Deletes the objects of a definition, then the definition.
async fn finalized(api: &Api, name: &str, is_built_in: bool) -> Result<()> {
    let id = api.storage.register(name).await?;
    loop {
        let object = api.storage.object(&CUSTOM_RESOURCE_DEFINITION, name);
        let Some(object) = object else { return Ok(()) };
        let value = document::value(&CUSTOM_RESOURCE_DEFINITION, &object)?;
        if !finalize::is_due(&value) {
            return Ok(());
        }
        let ended = match finalize::plan(&value, is_built_in) {
            Plan::End(ended) => ended,
            Plan::Delete => {
                mark(api, name, |value| finalize::begin(value, Timestamp::now())).await?;
                let notify = api.storage.notify_of(id);
                let changed = notify.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let ended = emptied(api, id).await;
                if !matches!(ended, Ended::Removed) {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep(PATIENCE) => {
                            let now = Timestamp::now();
                            mark(api, name, |value| finalize::end(value, &ended, now)).await?;
                        }
                        () = api.stop.cancelled() => return Ok(()),
                    }
                    continue;
                }
                ended
            }
        };
        let marked = mark(api, name, |value| finalize::end(value, &ended, Timestamp::now())).await;
        match marked {
            // An object was created at the last moment.
            Err(Error::Modified { .. } | Error::Conflict { .. }) => {}
            marked => return marked,
        }
    }
}

/// Deletes all objects of a resource once.
async fn emptied(api: &Api, id: ResourceId) -> Ended {
    let kind = api.catalogue.load().of_id(id).cloned();
    let Some(kind) = kind else { return Ended::NeverEstablished };
    let actor = Actor::new(api, &actors::APISERVER);
    let mut after: Option<Box<str>> = None;
    loop {
        let targets = targets(api, &kind, after.as_deref());
        let Some(last) = targets.last() else { break };
        after = Some(last.key.clone());
        for (_, error) in actor.delete_each(&targets).await {
            if !error.is_overtaken() {
                return Ended::NotDeleted(error.to_string());
            }
        }
    }
    match api.storage.state().count(id) {
        0 => Ended::Removed,
        n => Ended::Remaining(format!("{n} objects have finalizers")),
    }
}

/// The next objects that are not marked as deleted yet or can be removed.
fn targets(api: &Api, kind: &KindRef, after: Option<&str>) -> Vec<Target> {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let target = |object: &Arc<Object>| Target {
        kind: kind.clone(),
        key: object.key.clone(),
        options: DeleteOptions::default(),
    };
    let state = api.storage.state();
    state.range(kind.id(), from).take(PIECE).map(target).collect()
}

/// Changes a definition, whatever its version.
async fn mark(api: &Api, name: &str, change: impl Fn(&mut Value) -> bool) -> Result<()> {
    let edit = Edit {
        kind: &CUSTOM_RESOURCE_DEFINITION,
        key: name,
        uid: None,
        version: None,
        strategy: UpdateStrategy::Unchecked,
    };
    let actor = Actor::new(api, &actors::APISERVER);
    let written = actor.edit("update", "status", edit, |value| {
        change(value);
        Ok(())
    });
    written.await.map(drop)
}
