//! Empties a terminating namespace, or one that is already gone: lists its content, deletes what
//! comes next, and repeats; then reports the remaining content in the namespace's conditions, or
//! removes its finalizer.

use std::{ops::Bound, sync::Arc};

use evenkeel_store::{Object, ResourceId, State};
use jiff::Timestamp;

use super::{
    metadata::Metadata,
    namespace::{self, Failures, Item},
    options,
};
use crate::{
    api::Api,
    chain::actor::Actor,
    follow::PIECE,
    identity::actors,
    kinds::NAMESPACE,
    registry::{Edit, Error, Propagation, Target, UpdateStrategy},
};

/// Pods, the rest, objects created meanwhile, and an empty pass.
const PASSES: usize = 4;

/// The content of a namespace, and the namespace itself unless it is gone.
struct Found {
    namespace: Option<Arc<Object>>,
    content: Vec<Item>,
}

/// One call is enough until something changes, unless it returns an error.
pub(super) async fn empty(api: &Api, name: &str) -> Result<(), String> {
    let mut failures = Failures::new();
    for _ in 0..PASSES {
        let Some(found) = find(api, name).await else { return Ok(()) };
        let next = namespace::next(&found.content, found.namespace.is_some());
        let targets: Vec<Target> = next.filter_map(|item| target(api, item)).collect();
        if targets.is_empty() || !failures.is_empty() {
            tell(api, name, &found, &failures).await.map_err(|error| error.to_string())?;
            return failures.into_values().next().map_or(Ok(()), Err);
        }
        failures = delete(api, &targets).await;
    }
    Err("there is always something new in it".to_owned())
}

fn target(api: &Api, item: &Item) -> Option<Target> {
    let options = options(api, item.revision, Some(Propagation::Background));
    let kind = api.catalogue.load().of_id(item.resource)?.clone();
    Some(Target { kind, key: item.key.clone(), options })
}

async fn delete(api: &Api, targets: &[Target]) -> Failures {
    let mut failures = Failures::new();
    let actor = Actor::new(api, &actors::NAMESPACE_CONTROLLER);
    for (index, error) in actor.delete_each(targets).await {
        // An object that has changed is found again.
        if !error.is_overtaken() {
            failures.entry(targets[index].kind.id()).or_insert_with(|| error.to_string());
        }
    }
    failures
}

/// Writes the conditions of the namespace; if it is empty, removes its finalizer.
async fn tell(api: &Api, name: &str, found: &Found, failures: &Failures) -> Result<(), Error> {
    let Some(namespace) = &found.namespace else { return Ok(()) };
    let (uid, now) = (Metadata::of(namespace).uid, Timestamp::now());
    let actor = Actor::new(api, &actors::NAMESPACE_CONTROLLER);
    let is_empty = found.content.is_empty();
    let part = if is_empty { "finalize" } else { "status" };
    let place = Edit {
        kind: &NAMESPACE,
        key: name,
        uid: Some(&uid),
        version: None,
        strategy: UpdateStrategy::Unchecked,
    };
    let served = api.catalogue.full();
    let written = actor.edit("update", part, place, |value| {
        namespace::tell(value, &found.content, failures, &served, now);
        if is_empty {
            namespace::emptied(value);
        }
        Ok(())
    });
    match written.await {
        Err(Error::NotFound { .. }) => Ok(()),
        written => written.map(drop),
    }
}

/// `None`: the namespace is not terminating. Everything listed existed at a moment when it was.
async fn find(api: &Api, name: &str) -> Option<Found> {
    let prefix = format!("{name}/");
    let mut found = Found { namespace: None, content: Vec::new() };
    for resource in namespaced(api) {
        let mut after: Option<Box<str>> = None;
        loop {
            let (namespace, objects) =
                piece(&api.storage.state(), name, resource, &prefix, after.as_deref());
            if namespace.as_ref().is_some_and(|object| !Metadata::of(object).is_dying()) {
                return None;
            }
            found.namespace = namespace;
            found.content.extend(objects.iter().map(|object| Item::of(resource, object)));
            let Some(last) = objects.last().filter(|_| objects.len() >= PIECE) else { break };
            after = Some(last.key.clone());
            tokio::task::yield_now().await;
        }
    }
    Some(found)
}

/// The namespaced resources.
fn namespaced(api: &Api) -> Vec<ResourceId> {
    let catalogue = api.catalogue.load();
    let namespaced = catalogue.stored().filter(|kind| kind.namespaced);
    namespaced.map(|kind| kind.id()).collect()
}

/// The namespace, and some of its objects.
fn piece(
    state: &State,
    name: &str,
    resource: ResourceId,
    prefix: &str,
    after: Option<&str>,
) -> (Option<Arc<Object>>, Vec<Arc<Object>>) {
    let from = after.map_or(Bound::Included(prefix), Bound::Excluded);
    let inside = state.range(resource, from).take_while(|object| object.key.starts_with(prefix));
    let objects = inside.take(PIECE).cloned().collect();
    (state.object(NAMESPACE.id(), name).cloned(), objects)
}
