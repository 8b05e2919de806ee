//! What is kept while one text is read.

use std::sync::Arc;

use evenkeel_model::{Endpoint, NodeId, Topology, ZoneId};
use rustc_hash::FxHashSet;

/// As many endpoints as Kubernetes puts into a slice unless told otherwise.
const USUAL_SLICE: usize = 100;

pub(super) struct Tables<'t> {
    topology: &'t mut Topology,
    recent_zones: Recent<ZoneId>,
    pub(super) texts: Texts,
    /// Those of the slice that is being read. How many there are is only known at its end; a list
    /// that grows in here is copied once and leaves no room unused.
    pub(super) endpoints: Vec<Endpoint>,
}

/// Texts that tend to come again: equal ones share one allocation. They are kept for one call
/// only, since nothing would tell when the last slice that uses one is gone.
#[derive(Default)]
pub(super) struct Texts {
    known: FxHashSet<Arc<str>>,
    recent: Recent<()>,
}

/// A few texts and what they stand for. Looking here first saves hashing a text that was asked
/// for just before, as the zones of a cluster and the namespace of a slice are all the time.
struct Recent<T> {
    slots: [Option<(Arc<str>, T)>; 16],
}

// === impl Tables ===

impl<'t> Tables<'t> {
    pub(super) fn new(topology: &'t mut Topology) -> Self {
        Tables {
            topology,
            recent_zones: Recent::default(),
            texts: Texts::default(),
            endpoints: Vec::with_capacity(USUAL_SLICE),
        }
    }

    pub(super) fn zone(&mut self, name: &str) -> ZoneId {
        if let Some((_, zone)) = self.recent_zones.find(name) {
            return *zone;
        }
        let zones = &mut self.topology.zones;
        let zone = zones.intern(name);
        self.recent_zones.keep(zones.name(zone), zone);
        zone
    }

    pub(super) fn node(&mut self, name: &str) -> NodeId {
        self.topology.nodes.intern(name)
    }
}

// === impl Texts ===

impl Texts {
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some((recent, ())) = self.recent.find(text) {
            return Arc::clone(recent);
        }
        let shared = self.intern(text);
        self.recent.keep(&shared, ());
        shared
    }

    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.known.insert(Arc::clone(&new));
        new
    }

    /// What stands for a text that is not there.
    pub(super) fn or_empty(&mut self, text: Option<Arc<str>>) -> Arc<str> {
        text.unwrap_or_else(|| self.share(""))
    }
}

// === impl Recent ===

impl<T> Recent<T> {
    fn find(&self, text: &str) -> Option<&(Arc<str>, T)> {
        let kept = self.slots[slot(text)].as_ref();
        kept.filter(|(kept, _)| **kept == *text)
    }

    fn keep(&mut self, text: &Arc<str>, value: T) {
        self.slots[slot(text)] = Some((Arc::clone(text), value));
    }
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { slots: [const { None }; 16] }
    }
}

/// Zones tend to differ in their last letter, other texts in their length.
fn slot(text: &str) -> usize {
    let last = text.as_bytes().last().copied().unwrap_or_default();
    text.len().wrapping_add(usize::from(last)) % 16
}
