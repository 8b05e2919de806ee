//! What the watches have shown, and what our own writes have answered since.

mod missing;
mod nodes;
mod own_writes;
mod pods;
mod services;
mod slices;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evenkeel_model::{
    AddressType, NodeId, Pod, PodId, SeenService, ServiceId, Slice, Topology, Version, label,
};
use evenkeel_topology::plan::NodeTable;
use rustc_hash::{FxHashMap, FxHashSet};

use self::missing::Missing;
use super::{
    pairs::{PairId, Pairs},
    table::{Name, Table},
    triggers::Triggers,
};

#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) topology: Topology,
    pub(super) nodes: NodeTable,
    listed_nodes: FxHashSet<NodeId>,
    missing_nodes: Missing,
    pods: Table<PodId, PodEntry>,
    by_node: FxHashMap<NodeId, FxHashSet<PodId>>,
    pub(super) slots: Table<ServiceId, Slot>,
    pairs: Pairs,
    /// The Service that a slice belongs to by its label, as last seen.
    homes: FxHashMap<Name, Name>,
    listed_slices: FxHashSet<Name>,
    slice_lists: u32,
    listed_services: FxHashSet<ServiceId>,
    namespaces: FxHashSet<Arc<str>>,
    /// Slots to be looked at, each once or more.
    pub(super) touched: Vec<ServiceId>,
    /// The set of nodes changed in a way that zone capacity may depend on.
    pub(super) nodes_changed: bool,
}

#[derive(Debug)]
struct PodEntry {
    pod: Pod,
    pairs: Box<[PairId]>,
    ready_since: Option<i64>,
}

/// All that has to do with one Service name. It outlives the Service while slices of it are there.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) service: Option<Box<ServiceEntry>>,
    /// By name, which is the order plans need.
    pub(super) slices: BTreeMap<Arc<str>, SliceEntry>,
    /// Uids of slices we have deleted and the watch still has: shown again, they are not believed.
    deleted: Vec<Deleted>,
    /// Uids the watch showed as deleted while a sync was under way: answers to its writes that come
    /// later tell of the past.
    ended: Vec<Arc<str>>,
    /// Slices to be read before the Service is planned, by name, and not before this time: the
    /// watch may show them first.
    pub(super) doubts: BTreeMap<Arc<str>, Duration>,
    /// Names of new slices that somebody else has taken.
    pub(super) taken: FxHashSet<Arc<str>>,
    pub(super) triggers: Triggers,
    /// What was last told people about hints, so that it is told once.
    pub(super) told: Vec<(AddressType, String)>,
    /// Pods left out at the last look because their node is not known; `None` before the first.
    pub(super) without_node: Option<Vec<Arc<str>>>,
    running: bool,
    /// The Service changed since the sync under way began.
    pub(super) outdated: bool,
    /// How many lists of slices there had been when the sync under way began.
    begun_at_list: u32,
    pub(super) sums: Sums,
}

#[derive(Debug)]
pub(super) struct ServiceEntry {
    pub(super) seen: SeenService,
    pub(super) selector: Option<Box<[PairId]>>,
    /// The resourceVersion since which nothing changed that proxies look at.
    pub(super) revision: Arc<str>,
}

#[derive(Debug)]
pub(super) struct SliceEntry {
    /// As the watch showed it, or as we sent it: what plans start from.
    pub(super) slice: Slice,
    /// As the server stored it, where that is not what we sent.
    altered: Option<Box<Slice>>,
    pub(super) version: Version,
    pub(super) deleting: bool,
    /// The watch has shown it. What only our own write's answer told, a list may not have yet.
    confirmed: bool,
}

#[derive(Debug)]
struct Deleted {
    uid: Arc<str>,
    listed: bool,
}

/// What one Service adds to the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) endpoints: usize,
    pub(super) slices: usize,
    pub(super) desired_slices: usize,
    pub(super) withdrawn: bool,
    /// Some slice has zone shares.
    pub(super) shares: bool,
    /// Slices of ours that nobody updates: the Service is no longer ours, and nobody else lists its
    /// Pods.
    pub(super) stale: usize,
}

/// Who a slice says manages it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    Ours,
    BuiltIn,
    /// Kubernetes' controller that copies Endpoints objects.
    Mirroring,
    Other,
}

impl Slot {
    /// Whether a new slice can't have this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.slices.contains_key(name) || self.taken.contains(name)
    }

    fn end(&mut self, uid: &Arc<str>) {
        self.deleted.retain(|deleted| deleted.uid != *uid);
        if self.running {
            self.ended.push(Arc::clone(uid));
        }
    }
}

impl SliceEntry {
    /// As consumers see it.
    pub(super) fn stored(&self) -> &Slice {
        self.altered.as_deref().unwrap_or(&self.slice)
    }

    /// The server stored other endpoints, hints, ports or zone shares than it was sent. Labels don't
    /// matter here.
    pub(super) fn is_altered(&self) -> bool {
        let Slice { endpoints, ports, shares, .. } = &self.slice;
        self.altered.as_ref().is_some_and(|stored| {
            (&stored.endpoints, &stored.ports, &stored.shares) != (endpoints, ports, shares)
        })
    }

    pub(super) fn manager(&self, ours: &str) -> Manager {
        match self.slice.labels.get(label::MANAGED_BY) {
            Some(name) if **name == *ours => Manager::Ours,
            Some(name) if **name == *label::BUILT_IN => Manager::BuiltIn,
            Some(name) if **name == *label::MIRRORING => Manager::Mirroring,
            _ => Manager::Other,
        }
    }
}

/// Whether `a` is a state from before `b`. Of one object the generation tells; of two objects of
/// one name, or where the generation does not, the revision does where both are numbers, which
/// they are in every API server there is.
fn is_older(a: &Version, b: &Version) -> bool {
    if a.uid == b.uid && a.generation != b.generation {
        return a.generation < b.generation;
    }
    let number = |version: &Version| version.resource_version.parse::<u64>().ok();
    matches!((number(a), number(b)), (Some(a), Some(b)) if a < b)
}
