//! Whose slices a Service has: ours, those of Kubernetes' own controller, or both.
//!
//! Slices of the built-in controller are taken over one by one, by changing the label that says who
//! manages them. Half-way through, each endpoint is still in just one slice. So if an endpoint is in
//! slices of both, or the built-in's empty slice stands beside ours, the built-in controller is at
//! work: then ours withdraws. It deletes its slices once the other's hold every address that ours
//! have ready, and does not come back while slices of the other are there; the Service's condition
//! remembers that over a restart.
//!
//! A Service that opted in has no `spec.selector`, so that the built-in controller leaves it alone,
//! and slices of that are left over from before. They are not relabelled but replaced: a running
//! built-in controller remembers its slices by uid, and would wait for a relabelled one for ever
//! should the Service come back to it. O(endpoints).

use std::sync::Arc;

use evenkeel_model::{Address, Endpoint, SeenService};
use rustc_hash::FxHashSet;

use super::{
    cache::{Keeper, SliceEntry, Slot},
    conditions::WITHDRAWN,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Custody {
    /// Plan with these.
    Ours,
    /// Take these over first.
    Adopt(Vec<Arc<str>>),
    /// Plan with ours, then delete these, which nobody updates.
    Replace(Vec<Arc<str>>),
    /// Leave the Service to the built-in controller; delete these of ours.
    Withdraw(Vec<Arc<str>>),
}

pub(super) fn decide(slot: &Slot, seen: &SeenService, ours: &str) -> Custody {
    let of = |keeper| {
        let live = slot.slices.values().filter(|entry| !entry.deleting);
        live.filter(move |entry: &&SliceEntry| entry.keeper(ours) == keeper)
    };
    if of(Keeper::BuiltIn).next().is_none() {
        return Custody::Ours;
    }
    let mine: Vec<&SliceEntry> = of(Keeper::Ours).collect();
    let theirs: Vec<&SliceEntry> = of(Keeper::BuiltIn).collect();
    let names = || theirs.iter().map(|entry| Arc::clone(&entry.slice.name)).collect();
    if seen.service.opted_in {
        Custody::Replace(names())
    } else if has_withdrawn(seen) || are_both_live(&mine, &theirs) {
        Custody::Withdraw(covered(&mine, &theirs))
    } else {
        Custody::Adopt(names())
    }
}

/// Whether the Service's condition says that ours has withdrawn.
pub(super) fn has_withdrawn(seen: &SeenService) -> bool {
    seen.conditions.iter().any(|condition| !condition.status && &*condition.reason == WITHDRAWN)
}

fn are_both_live(mine: &[&SliceEntry], theirs: &[&SliceEntry]) -> bool {
    let known = endpoints(mine, |_| true);
    let is_shared = |entry: &&SliceEntry| {
        let family = entry.slice.address_type;
        let is_placeholder = entry.slice.endpoints.is_empty();
        (is_placeholder && mine.iter().any(|e| e.slice.address_type == family))
            || endpoints(&[entry], |_| true).iter().any(|endpoint| known.contains(endpoint))
    };
    theirs.iter().any(is_shared)
}

/// Those of ours whose ready endpoints are all in slices of the other.
fn covered(mine: &[&SliceEntry], theirs: &[&SliceEntry]) -> Vec<Arc<str>> {
    let there = endpoints(theirs, |_| true);
    let is_covered = |entry: &&&SliceEntry| {
        let family = entry.slice.address_type;
        theirs.iter().any(|e| e.slice.address_type == family)
            && endpoints(&[entry], Endpoint::is_ready).is_subset(&there)
    };
    mine.iter().filter(is_covered).map(|entry| Arc::clone(&entry.slice.name)).collect()
}

/// By address and Pod: Pods may share an address, and their uids tell them apart.
fn endpoints<'a>(
    entries: &[&'a SliceEntry],
    wanted: impl Fn(&Endpoint) -> bool,
) -> FxHashSet<(&'a Address, Option<&'a str>)> {
    let all = entries.iter().flat_map(|e| &e.slice.endpoints).filter(|e| wanted(e));
    let uid = |e: &'a Endpoint| e.target.as_ref().map(|target| &*target.uid);
    all.filter_map(|e| Some((e.address()?, uid(e)))).collect()
}
