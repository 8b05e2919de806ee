//! One copy of what is equal, so that whoever compares or encodes it does so once.

use std::{
    hash::Hash,
    sync::{Arc, Weak},
};

use evenkeel_model::mesh::{Cluster, Listener, RouteTable, Traffic};
use rustc_hash::{FxHashMap, FxHashSet};

/// Values that are held here and by others; those that nobody else holds are dropped from time to
/// time, at a cost in proportion to the insertions since the last time.
#[derive(Debug)]
pub(crate) struct Held<T: ?Sized> {
    values: FxHashSet<Arc<T>>,
    sweep_at: usize,
}

/// Values with a name, found by it and by where they lead: listeners of all services have the same few names.
#[derive(Debug)]
pub(super) struct ByName<T> {
    values: FxHashMap<NameAndTarget, Vec<Weak<T>>>,
    n_values: usize,
    sweep_at: usize,
}

type NameAndTarget = (Arc<str>, Option<Arc<str>>);

pub(super) trait HasName {
    fn name(&self) -> &Arc<str>;

    /// What differs between most values of one name, if there can be many.
    fn target(&self) -> Option<&Arc<str>> {
        None
    }
}

const FIRST_SWEEP: usize = 1024;

impl<T: ?Sized> Default for Held<T> {
    fn default() -> Self {
        Held { values: FxHashSet::default(), sweep_at: FIRST_SWEEP }
    }
}

impl<T: Hash + Eq> Held<T> {
    pub(crate) fn intern(&mut self, value: T) -> Arc<T> {
        match self.values.get(&value) {
            Some(held) => held.clone(),
            None => self.share(Arc::new(value)),
        }
    }
}

impl<T: Hash + Eq + ?Sized> Held<T> {
    /// The one that is equal to this one, which may be this one.
    pub(crate) fn share(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(held) = self.values.get(&value) {
            return held.clone();
        }
        if self.values.len() >= self.sweep_at {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.sweep_at = FIRST_SWEEP.max(self.values.len() * 2);
        }
        self.values.insert(value.clone());
        value
    }
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        ByName { values: FxHashMap::default(), n_values: 0, sweep_at: FIRST_SWEEP }
    }
}

impl<T: HasName + PartialEq> ByName<T> {
    pub(super) fn intern(&mut self, value: T) -> Arc<T> {
        let key = (value.name().clone(), value.target().cloned());
        let known = self.values.get(&key).into_iter().flatten();
        if let Some(held) = known.filter_map(Weak::upgrade).find(|held| **held == value) {
            return held;
        }
        if self.n_values >= self.sweep_at {
            self.values.retain(|_, values| {
                values.retain(|value| value.strong_count() > 0);
                !values.is_empty()
            });
            self.n_values = self.values.values().map(Vec::len).sum();
            self.sweep_at = FIRST_SWEEP.max(self.n_values * 2);
        }
        let value = Arc::new(value);
        let same_name = self.values.entry(key).or_default();
        same_name.retain(|value| value.strong_count() > 0);
        same_name.push(Arc::downgrade(&value));
        self.n_values += 1;
        value
    }
}

impl HasName for Cluster {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl HasName for Listener {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn target(&self) -> Option<&Arc<str>> {
        match &self.traffic {
            Traffic::Http { route_table, .. } => Some(route_table),
            Traffic::Tcp(split) => split.clusters.first().map(|(cluster, _)| cluster),
        }
    }
}

impl HasName for RouteTable {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}
