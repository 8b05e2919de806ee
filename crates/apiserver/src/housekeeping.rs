//! Housekeeping: garbage collection of objects whose owners are gone, namespace deletion, expiry of
//! Events after an hour, and the rules of aggregated ClusterRoles.
//!
//! ```text
//! history ─► follow (pieces) ─► graph: opened ─┬► queue of objects ──► look ─► one write each
//!                                              └► queue of namespaces ► empty: list, delete, tell
//! ```
//!
//! Decisions are in `graph` and `namespace`; deletes take the same path as a client's, with the
//! version that was examined as precondition. Objects are processed round-robin by owner, and
//! namespaces are emptied concurrently: unrelated work never waits. Each failure is retried
//! separately, with its own backoff. Only pointers are copied while the state is locked, a few at a
//! time.

mod accounts;
mod aggregation;
mod empty;
mod events;
mod graph;
mod metadata;
mod namespace;
mod queue;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use evenkeel_admin::supervisor::caught;
use evenkeel_store::{Object, ResourceId, Revision};
use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use self::graph::{At, GcAction, Graph, ObjectRef, Objects, WorkItem};
pub(crate) use self::{
    accounts::keep_accounts, aggregation::aggregate_roles, events::expire_events, queue::Queue,
};
use crate::{
    api::Api,
    chain::actor::Actor,
    follow::{Follower, News},
    identity::actors,
    kinds::{KindRef, NAMESPACE},
    registry::{DeleteOptions, Edit, Propagation, Result, UpdateStrategy},
};

/// Maximum number of objects with a write in progress. The writer batches concurrent writes.
const OBJECTS_AT_ONCE: usize = 64;
/// Maximum number of namespaces emptied concurrently.
const NAMESPACES_AT_ONCE: usize = 10;
/// Objects examined in a row before yielding.
const LOOKS: usize = 256;
/// Delay before a terminating namespace is examined again, to collect changes.
const GATHERED: Duration = Duration::from_millis(50);

/// Runs until the server stops.
pub(crate) async fn run(api: Arc<Api>) {
    let mut house = Housekeeper::new();
    loop {
        let changed = api.storage.any_change();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let more = house.follow(&api);
        house.start_objects(&api);
        house.start_namespaces(&api);
        let next = house.next_due();
        tokio::select! {
            () = changed, if !more => {}
            () = tokio::task::yield_now(), if more => {}
            Some(ended) = house.under_way.join_next() => house.ended(&api, ended),
            () = sleep_until(next) => {}
            () = api.stop.cancelled() => return,
        }
        while let Some(ended) = house.under_way.try_join_next() {
            house.ended(&api, ended);
        }
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The index and the work queues.
struct Housekeeper {
    follower: Follower,
    graph: Graph,
    objects: Queue<At>,
    namespaces: Queue<Box<str>>,
    under_way: JoinSet<Ended>,
}

/// A finished task, and its error.
enum Ended {
    Object(At, Option<String>),
    Namespace(Box<str>, Option<String>),
}

impl Housekeeper {
    fn new() -> Housekeeper {
        Housekeeper {
            follower: Follower::new([]),
            graph: Graph::default(),
            objects: Queue::default(),
            namespaces: Queue::default(),
            under_way: JoinSet::new(),
        }
    }

    /// Takes in a chunk of changes. Returns whether there are more.
    fn follow(&mut self, api: &Api) -> bool {
        #[cfg(test)]
        api.faults.housekeeping();
        let piece = self.follower.next_of_all(&api.storage.state());
        if piece.restarted {
            self.graph = Graph::default();
        }
        for News { resource, before, after, .. } in &piece.news {
            self.graph.changed(*resource, before.as_deref(), after.as_deref());
        }
        self.queue_opened(api);
        piece.more
    }

    fn queue_opened(&mut self, api: &Api) {
        let now = Instant::now();
        let mut doubtful = BTreeSet::new();
        for queued in self.graph.take_queued() {
            match queued {
                WorkItem::Object(source, at) => self.objects.push(source, at, now, now),
                WorkItem::Ending(name) => self.namespaces.push(name.clone(), name, now, now),
                WorkItem::Inside(name) => {
                    self.namespaces.push(name.clone(), name, now + GATHERED, now);
                }
                WorkItem::Doubtful(name) => drop(doubtful.insert(name)),
            }
        }
        for name in doubtful {
            if api.storage.object(&NAMESPACE, &name).is_none() {
                self.namespaces.push(name.clone(), name, now, now);
            }
        }
    }

    fn start_objects(&mut self, api: &Arc<Api>) {
        let now = Instant::now();
        for _ in 0..LOOKS {
            if self.objects.n_processing() >= OBJECTS_AT_ONCE {
                return;
            }
            let Some(at) = self.objects.pop(now) else { return };
            let Some(due) = self.graph.look(&**api, &at) else {
                self.objects.done(&at, now);
                continue;
            };
            let api = api.clone();
            self.under_way.spawn(async move {
                let done = caught(act(&api, &due)).await;
                Ended::Object(at, problem(done.map(|done| done.map_err(|error| error.to_string()))))
            });
        }
    }

    fn start_namespaces(&mut self, api: &Arc<Api>) {
        let now = Instant::now();
        while self.namespaces.n_processing() < NAMESPACES_AT_ONCE {
            let Some(name) = self.namespaces.pop(now) else { return };
            let api = api.clone();
            self.under_way.spawn(async move {
                let done = caught(empty::empty(&api, &name)).await;
                Ended::Namespace(name, problem(done))
            });
        }
    }

    /// When there is work that can be started.
    fn next_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let objects =
            self.objects.next_due(now).filter(|_| self.objects.n_processing() < OBJECTS_AT_ONCE);
        let namespaces = self
            .namespaces
            .next_due(now)
            .filter(|_| self.namespaces.n_processing() < NAMESPACES_AT_ONCE);
        [objects, namespaces].into_iter().flatten().min()
    }

    fn ended(&mut self, api: &Api, ended: std::result::Result<Ended, tokio::task::JoinError>) {
        let now = Instant::now();
        match ended {
            Ok(Ended::Object(at, None)) => self.objects.done(&at, now),
            Ok(Ended::Namespace(name, None)) => self.namespaces.done(&name, now),
            Ok(Ended::Object(at, Some(problem))) => {
                let (resource, key) =
                    (api.storage.state().name_of(at.0).map(ToString::to_string), at.1.clone());
                let pause = self.objects.failed(at, now);
                tracing::warn!(resource, %key, error = problem, "garbage collection failed, retrying in {pause:?}");
            }
            Ok(Ended::Namespace(name, Some(problem))) => {
                let pause = self.namespaces.failed(name.clone(), now);
                tracing::warn!(namespace = %name, error = problem, "emptying a namespace failed, retrying in {pause:?}");
            }
            // Panics are caught earlier, and nothing aborts the task.
            Err(error) => tracing::error!(%error, "housekeeping task failed"),
        }
    }
}

fn problem<T>(done: std::result::Result<std::result::Result<T, String>, String>) -> Option<String> {
    match done {
        Ok(done) => done.err(),
        Err(panic) => Some(format!("panicked: {panic}")),
    }
}

impl Objects for Api {
    fn object(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>> {
        self.storage.state().object(resource, key).cloned()
    }

    fn kind(&self, api_version: &str, kind: &str) -> Option<(ResourceId, bool)> {
        let catalogue = self.catalogue.load();
        catalogue.of_kind(api_version, kind).map(|kind| (kind.id(), kind.namespaced))
    }
}

/// Succeeds also if the work is no longer necessary: a concurrent change causes the object to be
/// examined again.
async fn act(api: &Api, due: &GcAction) -> Result<()> {
    let actor = Actor::new(api, &actors::GARBAGE_COLLECTOR);
    let done = match due {
        GcAction::Delete(object_ref, revision, propagation) => {
            // Only the examined version: another may have different owners. An object that waits
            // for a finalizer is marked once and left alone.
            let options = options(api, *revision, *propagation);
            let Some(kind) = kind(api, object_ref) else { return Ok(()) };
            actor.delete(&kind, &object_ref.key, &options).await.map(drop)
        }
        GcAction::DropOwners(object_ref, gone) => {
            let Some(kind) = kind(api, object_ref) else { return Ok(()) };
            let edit = |object: &mut Value| graph::without_owners(object, gone);
            change(actor, &kind, object_ref, edit).await
        }
        GcAction::DropFinalizer(object_ref, finalizer) => {
            let Some(kind) = kind(api, object_ref) else { return Ok(()) };
            let edit = |object: &mut Value| graph::without_finalizer(object, finalizer);
            change(actor, &kind, object_ref, edit).await
        }
    };
    match done {
        Err(error) if error.is_overtaken() => Ok(()),
        done => done,
    }
}

/// `None`: a custom resource whose definition is gone, with all its objects.
fn kind(api: &Api, object_ref: &ObjectRef) -> Option<KindRef> {
    api.catalogue.load().of_id(object_ref.resource).cloned()
}

fn options(api: &Api, revision: Revision, propagation: Option<Propagation>) -> DeleteOptions {
    DeleteOptions {
        resource_version: Some(revision.to_string()),
        propagation,
        // Without the sandbox there is no kubelet to report the end of a Pod.
        grace_seconds: api.settings.sandbox.is_none().then_some(0),
        ..DeleteOptions::default()
    }
}

async fn change(
    actor: Actor<'_>,
    kind: &KindRef,
    object_ref: &ObjectRef,
    edit: impl Fn(&mut Value),
) -> Result<()> {
    let place = Edit {
        kind,
        key: &object_ref.key,
        uid: Some(&object_ref.uid),
        version: None,
        strategy: UpdateStrategy::Unchecked,
    };
    let apply = |object: &mut Value| {
        edit(object);
        Ok(())
    };
    actor.edit("patch", "", place, apply).await.map(drop)
}
