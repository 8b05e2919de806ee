//! Whose slices a Service has: ours, those of Kubernetes' own controller, or both.
//!
//! Slices of the built-in controller are taken over one by one, by changing the label that says who
//! manages them. Half-way through, each endpoint is still in just one slice. So if an endpoint is in
//! slices of both, or the built-in's empty slice stands beside ours, the built-in controller is at
//! work: then ours withdraws. It first records that, in an empty slice of its own with the label
//! [`label::WITHDRAWN`], which needs no other rights than slices do and survives a crash; then it
//! deletes its other slices once those of the other list the Pods. It does not come back while
//! slices of the other are there; when they are gone, the record is a slice of ours like any other,
//! and the plan uses or deletes it.
//!
//! A Service that opted in has no `spec.selector`, so that the built-in controller leaves it alone,
//! and slices of that are left over from before. Beside a built-in controller that runs they are not
//! relabelled but replaced: it remembers its slices by uid, and would wait for a relabelled one for
//! ever should the Service come back to it. When a Service opts out, ours are deleted once others'
//! slices list the Pods. O(endpoints).

use std::sync::Arc;

use evenkeel_model::{Address, AddressType, Endpoint, SeenService, Service, Slice, label};
use rustc_hash::FxHashSet;

use super::{
    Scope, Settings,
    cache::{Cache, Manager, ServiceEntry, SliceEntry, Slot},
    conditions::WITHDRAWN,
    coverage::covered,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// Plan with these.
    Ours,
    /// Take these over first.
    Adopt(Vec<Arc<str>>),
    /// Plan with ours, then delete these, which nobody updates.
    Replace(Vec<Arc<str>>),
    /// Leave the Service to the built-in controller.
    Withdraw {
        /// It is known that ours has withdrawn, also after a crash.
        recorded: bool,
        /// Slices of ours that the other's cover.
        covered: Vec<Arc<str>>,
    },
}

/// Of a Service that is ours by its spec.
pub(super) fn decide(
    cache: &Cache,
    slot: &Slot,
    entry: &ServiceEntry,
    settings: &Settings,
) -> Ownership {
    let (ours, scope) = (&*settings.topology.controller_name, settings.scope);
    let theirs: Vec<&SliceEntry> = of(slot, ours, |manager| manager == Manager::BuiltIn);
    // Of a Service that is being deleted no new slices are made, so that theirs must serve it.
    if theirs.is_empty() || (entry.seen.service.opted_in && entry.seen.service.deleting) {
        return Ownership::Ours;
    }
    let mine: Vec<&SliceEntry> = of(slot, ours, |manager| manager == Manager::Ours);
    let names = || theirs.iter().map(|entry| Arc::clone(&entry.slice.name)).collect();
    let recorded = mine.iter().any(|entry| is_record(&entry.slice));
    let both_live = are_both_live(&entry.seen.service, &mine, &theirs);
    if entry.seen.service.opted_in && (scope == Scope::Annotated || both_live) {
        Ownership::Replace(names())
    } else if !entry.seen.service.opted_in && (recorded || has_withdrawn(&entry.seen) || both_live)
    {
        let mut covered = covered(cache, entry, &mine, &theirs);
        covered.retain(|name| !is_record(&slot.slices[name].slice));
        Ownership::Withdraw { recorded, covered }
    } else {
        Ownership::Adopt(names())
    }
}

/// Of a Service that is not ours: slices that are, and those of them that others' cover.
pub(super) fn left_behind(
    cache: &Cache,
    slot: &Slot,
    entry: &ServiceEntry,
    ours: &str,
) -> (usize, Vec<Arc<str>>) {
    let mine: Vec<&SliceEntry> = of(slot, ours, |manager| manager == Manager::Ours);
    // Copies of an Endpoints object that nobody updates cover nothing: they go when the Service has
    // a selector again, and are out of date until then.
    let theirs = |manager| matches!(manager, Manager::BuiltIn | Manager::Other);
    let theirs: Vec<&SliceEntry> = of(slot, ours, theirs);
    (mine.len(), covered(cache, entry, &mine, &theirs))
}

/// The slice that records a withdrawal. It has no name yet.
pub(super) fn record(service: &Service, ours: &Arc<str>) -> Slice {
    let labels = [
        (label::SERVICE_NAME.into(), Arc::clone(&service.key.name)),
        (label::MANAGED_BY.into(), Arc::clone(ours)),
        (label::WITHDRAWN.into(), "true".into()),
    ];
    Slice {
        name: "".into(),
        address_type: service.families.first().copied().unwrap_or(AddressType::IPv4),
        ports: Vec::new(),
        endpoints: Vec::new(),
        owner: Some(Arc::clone(&service.uid)),
        labels: labels.into(),
        shares: None,
    }
}

fn is_record(slice: &Slice) -> bool {
    slice.endpoints.is_empty() && slice.labels.contains_key(label::WITHDRAWN)
}

fn of<'a>(slot: &'a Slot, ours: &str, wanted: impl Fn(Manager) -> bool) -> Vec<&'a SliceEntry> {
    let live = slot.slices.values().filter(|entry| !entry.deleting);
    live.filter(|entry| wanted(entry.manager(ours))).collect()
}

/// Whether the Service's condition says that ours has withdrawn: so did versions before the record.
fn has_withdrawn(seen: &SeenService) -> bool {
    seen.conditions.iter().any(|condition| !condition.status && &*condition.reason == WITHDRAWN)
}

fn are_both_live(service: &Service, mine: &[&SliceEntry], theirs: &[&SliceEntry]) -> bool {
    let known = endpoints(mine);
    let is_shared = |entry: &&SliceEntry| {
        let family = entry.slice.address_type;
        // One of another owner is left from an earlier Service of this name, or mislabelled.
        let is_placeholder =
            entry.stored().endpoints.is_empty() && entry.slice.owner.as_ref() == Some(&service.uid);
        (is_placeholder && mine.iter().any(|e| e.slice.address_type == family))
            || endpoints(&[entry]).iter().any(|endpoint| known.contains(endpoint))
    };
    theirs.iter().any(is_shared)
}

/// By address and Pod: Pods may share an address, and their uids tell them apart.
fn endpoints<'a>(entries: &[&'a SliceEntry]) -> FxHashSet<(&'a Address, Option<&'a str>)> {
    let all = entries.iter().flat_map(|e| &e.stored().endpoints);
    let uid = |e: &'a Endpoint| e.target.as_ref().map(|target| &*target.uid);
    all.filter_map(|e| Some((e.address()?, uid(e)))).collect()
}
