//! Selectors by one of their pairs, so that only those are looked at that may select.

use std::{collections::BTreeSet, sync::Arc};

use rustc_hash::FxHashMap;

use crate::resource::Labels;

/// Names of objects with a selector each. Selectors are never empty.
#[derive(Debug, Default)]
pub(super) struct SelectorIndex {
    by_pair: FxHashMap<Pair, BTreeSet<Arc<str>>>,
}

/// A key and its value.
type Pair = (Arc<str>, Arc<str>);

impl SelectorIndex {
    pub(super) fn insert(&mut self, name: &Arc<str>, selector: &Labels) {
        if let Some(pair) = pair(selector) {
            self.by_pair.entry(pair).or_default().insert(name.clone());
        }
    }

    pub(super) fn remove(&mut self, name: &Arc<str>, selector: &Labels) {
        let Some(pair) = pair(selector) else { return };
        if let Some(names) = self.by_pair.get_mut(&pair) {
            names.remove(name);
            if names.is_empty() {
                self.by_pair.remove(&pair);
            }
        }
    }

    /// Those that may select an object with these labels.
    pub(super) fn candidates<'a>(
        &'a self,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a Arc<str>> {
        let any: Arc<str> = "*".into();
        let pairs = labels.iter().flat_map(move |(key, value)| {
            [(key.clone(), value.clone()), (key.clone(), any.clone())]
        });
        pairs.filter_map(|pair| self.by_pair.get(&pair)).flatten()
    }
}

fn pair(selector: &Labels) -> Option<Pair> {
    selector.iter().next().map(|(key, value)| (key.clone(), value.clone()))
}
