//! The content of a response, from how the client differs from the source.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    encode,
    resource::{Head, Resource, ResourceType, Version},
    response::Variant,
    session::{
        Source,
        held::Had,
        type_state::{Difference, TypeState},
    },
};

/// All in the order of names.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Those of the resources that the client does not have.
    pub(super) updated: Vec<Arc<Head>>,
    pub(super) resources: Vec<Arc<Resource>>,
    pub(super) removed: Vec<Arc<str>>,
}

/// What to send now, and what is noted as sent. `None`: the client has all.
pub(super) fn draft(
    variant: Variant,
    state: &mut TypeState,
    difference: Difference,
    answer_due: bool,
    source: &impl Source,
) -> Option<Draft> {
    match variant {
        Variant::Incremental => incremental(state, difference, answer_due),
        Variant::StateOfTheWorld if state.kind.is_full_state() => {
            full(state, difference, answer_due, source)
        }
        Variant::StateOfTheWorld => partial(state, difference, answer_due),
    }
}

/// Tells the client that these do not exist.
pub(super) fn removing(state: &mut TypeState, removed: Vec<Arc<str>>) -> Draft {
    for name in &removed {
        mark_removed(state, name);
    }
    Draft { removed, ..Draft::default() }
}

/// All that the client is to keep, with what is leaving, as state of the world.
pub(super) fn full_set(state: &mut TypeState, source: &impl Source) -> Draft {
    let mut all: BTreeMap<Arc<str>, Arc<Resource>> =
        wanted(state, source).into_iter().map(|r| (r.name().clone(), r)).collect();
    for name in &state.leaving {
        if let (false, Some(kept)) = (all.contains_key(name), state.full.get(name)) {
            all.insert(name.clone(), kept.clone());
        }
    }
    for name in state.held.names() {
        if !all.contains_key(&name) {
            mark_removed(state, &name);
        }
    }
    // The client did not take over what came in the response that it rejected.
    for name in state.rejection.iter().flat_map(|rejection| &rejection.names) {
        state.held.forget(name);
    }
    let resources: Vec<_> = all.values().cloned().collect();
    let updated = mark_sent(state, &resources);
    if state.kind == ResourceType::Cluster {
        state.full = all;
    }
    Draft { updated, resources, removed: Vec::new() }
}

/// Takes over what the client holds if it is all that it wants, in the present version.
pub(super) fn accept_if_current(state: &mut TypeState, claim: Version, source: &impl Source) {
    let mut resources = wanted(state, source);
    if state.kind == ResourceType::Endpoint {
        let known = |name: &str| resources.binary_search_by(|r| (**r.name()).cmp(name)).is_ok();
        let missing = state.held.names().into_iter().filter(|name| !known(name));
        let empty: Vec<_> = missing.map(|name| Arc::new(encode::no_endpoints(&name))).collect();
        resources.extend(empty);
    }
    let version = resources.iter().fold(Version::NONE, |sum, r| sum.with(r.version()));
    if version != claim {
        return;
    }
    state.answer_due = false;
    for resource in &resources {
        state.held.set(resource.head().clone(), Had::Claimed);
    }
    if state.kind == ResourceType::Cluster {
        state.full = resources.into_iter().map(|r| (r.name().clone(), r)).collect();
    }
}

/// What the source has of all that the client wants, in the order of names.
fn wanted(state: &TypeState, source: &impl Source) -> Vec<Arc<Resource>> {
    let mut resources = Vec::new();
    if state.wildcard {
        source.each(state.kind, &mut |resource| resources.push(resource.clone()));
    }
    let subscribed = state.held.iter().filter(|(_, entry)| entry.subscribed);
    resources.extend(subscribed.filter_map(|(head, _)| source.get(state.kind, &head.name)));
    resources.sort_by(|a, b| a.name().cmp(b.name()));
    resources.dedup_by(|a, b| a.name() == b.name());
    resources
}

fn incremental(state: &mut TypeState, difference: Difference, answer_due: bool) -> Option<Draft> {
    let Difference { update, missing, gone } = difference;
    settle_rejections(state, &gone);
    let mut removed = missing;
    if state.kind == ResourceType::Listener {
        removed.extend(gone);
        removed.sort();
    } else {
        state.leaving.extend(gone);
    }
    if update.is_empty() && removed.is_empty() && !answer_due {
        return None;
    }
    let updated = mark_sent(state, &update);
    Some(Draft { updated, resources: update, ..removing(state, removed) })
}

fn full(
    state: &mut TypeState,
    difference: Difference,
    answer_due: bool,
    source: &impl Source,
) -> Option<Draft> {
    let Difference { update, missing, gone } = difference;
    let keep = state.kind == ResourceType::Cluster;
    let due = !update.is_empty() || !missing.is_empty() || (!gone.is_empty() && !keep);
    if keep {
        state.leaving.extend(gone);
    }
    (due || answer_due).then(|| full_set(state, source))
}

/// What is gone stays with the client until it ends its subscription: no response can remove it.
fn partial(state: &mut TypeState, difference: Difference, answer_due: bool) -> Option<Draft> {
    let Difference { mut update, missing, gone } = difference;
    settle_rejections(state, &gone);
    // A part of a rejected response that is gone before it is sent on its own.
    settle_rejections(state, &missing);
    if state.kind == ResourceType::Endpoint {
        // Without an answer the cluster would not become active until a timeout.
        update.extend(missing.into_iter().map(|name| Arc::new(encode::no_endpoints(&name))));
        update.sort_by(|a, b| a.name().cmp(b.name()));
    }
    if update.is_empty() && !answer_due {
        return None;
    }
    Some(Draft { updated: mark_sent(state, &update), resources: update, removed: Vec::new() })
}

/// Notes the resources as sent. Returns those that the client did not have.
fn mark_sent(state: &mut TypeState, resources: &[Arc<Resource>]) -> Vec<Arc<Head>> {
    let mut updated = Vec::new();
    for resource in resources {
        let had = state.held.get(resource.name()).map(|(head, entry)| (head.version, entry.had));
        let has = matches!(had, Some((version, Had::Claimed | Had::Sent)) if version == resource.version());
        if !has {
            state.held.set(resource.head().clone(), Had::Sent);
            updated.push(resource.head().clone());
        }
    }
    updated
}

/// What the client rejected of these is due no more.
fn settle_rejections(state: &mut TypeState, gone: &[Arc<str>]) {
    for name in gone {
        state.settle_rejection(name);
    }
}

fn mark_removed(state: &mut TypeState, name: &str) {
    if state.held.has_subscribed(name) {
        state.held.mark(name, Had::Absent);
    } else {
        state.held.remove(name);
    }
}
