//! What nobody asks for and everybody expects: objects go when their owners are gone, namespaces
//! are emptied before they go, events are forgotten after an hour.
//!
//! Follows the history like any watcher and acts on what has changed; where it has fallen behind
//! the history, it looks at everything once. Decisions are in `graph`; deletes go the way of any
//! client's, with the uid as a precondition.

mod graph;

use std::{sync::Arc, time::Duration};

use evenkeel_store::{ResourceId, Revision, Selector, State};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{
    api::Api,
    document,
    housekeeping::graph::{Due, Graph, Place},
    kinds::{self, EVENT, NAMESPACE},
    lifecycle::{DeleteOptions, Propagation},
    status::Result,
    verbs::{self, rewrite},
};

/// How long events are kept, as Kubernetes does.
const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(1);
const SWEEP: Duration = Duration::from_secs(60);

/// Runs until the server stops.
pub(crate) async fn keep_house(api: Arc<Api>) {
    let mut graph = Graph::default();
    let mut cursor = None;
    let mut sweep = tokio::time::interval(SWEEP);
    let mut failed = false;
    loop {
        let rung = api.storage.any_change();
        tokio::pin!(rung);
        rung.as_mut().enable();
        let due = {
            let state = api.storage.state();
            cursor = Some(follow(&state, &mut graph, cursor));
            graph.due(&state)
        };
        if !due.is_empty() {
            for one in due {
                failed |= !act(&api, one).await;
            }
            continue;
        }
        tokio::select! {
            () = rung => {}
            _ = sweep.tick() => {
                forget_events(&api).await;
                // What failed is found again by looking at everything.
                cursor = cursor.filter(|_| !std::mem::take(&mut failed));
            }
            () = api.stop.cancelled() => return,
        }
    }
}

/// Takes in what has changed after the cursor, or everything.
fn follow(state: &State, graph: &mut Graph, cursor: Option<Revision>) -> Revision {
    let now = state.revision();
    let known = cursor.filter(|cursor| *cursor >= state.history().oldest());
    if known.is_none() {
        *graph = Graph::default();
    }
    for index in 0..kinds::n_resources() {
        let resource = ResourceId(u16::try_from(index).expect("few kinds"));
        match known {
            Some(cursor) => {
                for event in state.history().since(resource, cursor).into_iter().flatten() {
                    graph.changed(resource, event.before.as_deref(), event.object.as_deref());
                }
            }
            None => {
                for object in state.range(resource, std::ops::Bound::Unbounded) {
                    graph.changed(resource, None, Some(object));
                }
            }
        }
    }
    now
}

/// Whether it was done, or need not be done any more. One who was faster made a change, with which
/// it is looked at again.
async fn act(api: &Api, due: Due) -> bool {
    let done = match &due {
        Due::Delete(place, revision, propagation) => {
            delete(api, place, *revision, *propagation).await
        }
        Due::DropOwners(place, gone) => {
            change(api, place, |object| graph::without_owners(object, gone)).await
        }
        Due::DropFinalizer(place, finalizer) => {
            change(api, place, |object| graph::without_finalizer(object, finalizer)).await
        }
        Due::FinishNamespace(name) => finish_namespace(api, name).await,
    };
    match done {
        Err(failure) if !matches!(failure.code, 404 | 409) => {
            tracing::warn!(?due, problem = failure.message(), "housekeeping failed");
            false
        }
        _ => true,
    }
}

/// Only the version that was looked at: another may have other owners.
async fn delete(
    api: &Api,
    place: &Place,
    revision: Revision,
    propagation: Option<Propagation>,
) -> Result<()> {
    let kind = kinds::of_id(place.resource);
    let options = DeleteOptions {
        uid: Some(place.uid.clone()),
        resource_version: Some(revision.to_string()),
        propagation,
        // Without the sandbox no kubelet is there to say that a Pod has ended.
        grace_seconds: api.settings.sandbox.is_none().then_some(0),
        ..DeleteOptions::default()
    };
    // An object that waits for a finalizer is marked once and left alone.
    verbs::remove(api, kind, &place.key, &options, Timestamp::now()).await.map(drop)
}

async fn change(api: &Api, place: &Place, edit: impl Fn(&mut Value)) -> Result<()> {
    rewrite(api, kinds::of_id(place.resource), &place.key, |object| {
        if object["metadata"]["uid"] == *place.uid {
            edit(object);
        }
    })
    .await
}

async fn finish_namespace(api: &Api, name: &str) -> Result<()> {
    rewrite(api, &NAMESPACE, name, graph::emptied).await
}

async fn forget_events(api: &Api) {
    let oldest = Timestamp::now().checked_sub(EVENTS_KEPT).unwrap_or(Timestamp::MIN);
    let query = evenkeel_store::Query {
        resource: EVENT.id(),
        selector: &Selector::all(),
        at: None,
        after: None,
        limit: 0,
    };
    let events = evenkeel_store::list(&api.storage.state(), &query);
    for event in events.map(|page| page.items).unwrap_or_default() {
        let Ok(value) = document::value(&EVENT, &event) else { continue };
        let times = [
            &value["lastTimestamp"],
            &value["series"]["lastObservedTime"],
            &value["eventTime"],
            &value["metadata"]["creationTimestamp"],
        ];
        let last = times.iter().filter_map(|time| time.as_str()?.parse::<Timestamp>().ok()).max();
        if last.is_some_and(|last| last < oldest) {
            let options = DeleteOptions::default();
            let _gone = verbs::remove(api, &EVENT, &event.key, &options, Timestamp::now()).await;
        }
    }
}
