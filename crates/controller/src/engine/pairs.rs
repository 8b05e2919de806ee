//! Which Services select a Pod, and which Pods a Service selects, without asking each.
//!
//! A Service selects a Pod only if the Pod carries *every* pair of its selector, so it is enough to
//! look it up under one of them: the one that the fewest Services of the namespace are filed under,
//! since pairs like `managed-by: Helm` would bring every Service up for every Pod. The other way
//! round, a Service looks only at the Pods under its rarest pair.
//!
//! A pair is a namespace, a label's key and its value, interned; it is forgotten with its last use.
//! O(labels) for a Pod's change plus the Services filed under them.

use std::sync::Arc;

use evenkeel_model::{PodId, ServiceId};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PairId(u32);

#[derive(Debug, Default)]
pub(super) struct Pairs {
    ids: FxHashMap<Arc<str>, PairId>,
    entries: Vec<Entry>,
    free: Vec<PairId>,
    /// The text of a pair is put together here, so that looking one up allocates nothing.
    text: String,
}

#[derive(Debug, Default)]
struct Entry {
    text: Arc<str>,
    /// Sorted, so that a change is found in O(log n).
    pods: Vec<PodId>,
    /// The Services filed here.
    services: Vec<ServiceId>,
    /// How many selectors have the pair.
    selectors: u32,
}

impl PairId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Pairs {
    /// Takes a Pod in under all its labels.
    pub(super) fn add_pod<'a>(
        &mut self,
        pod: PodId,
        namespace: &str,
        labels: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Box<[PairId]> {
        let mut pairs: Vec<PairId> = Vec::new();
        for (key, value) in labels {
            let id = self.intern(namespace, key, value);
            let pods = &mut self.entries[id.index()].pods;
            if let Err(place) = pods.binary_search(&pod) {
                pods.insert(place, pod);
            }
            pairs.push(id);
        }
        pairs.sort_unstable();
        pairs.into()
    }

    pub(super) fn remove_pod(&mut self, pod: PodId, pairs: &[PairId]) {
        for &id in pairs {
            let pods = &mut self.entries[id.index()].pods;
            if let Ok(place) = pods.binary_search(&pod) {
                pods.remove(place);
            }
            self.forget_if_unused(id);
        }
    }

    /// Files a Service under one pair of its selector.
    pub(super) fn add_service<'a>(
        &mut self,
        service: ServiceId,
        namespace: &str,
        selector: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Box<[PairId]> {
        let mut pairs: Vec<PairId> = Vec::new();
        for (key, value) in selector {
            let id = self.intern(namespace, key, value);
            self.entries[id.index()].selectors += 1;
            pairs.push(id);
        }
        pairs.sort_unstable();
        let rarest = pairs.iter().min_by_key(|id| self.entries[id.index()].services.len());
        if let Some(&rarest) = rarest {
            self.entries[rarest.index()].services.push(service);
        }
        pairs.into()
    }

    pub(super) fn remove_service(&mut self, service: ServiceId, selector: &[PairId]) {
        for &id in selector {
            let entry = &mut self.entries[id.index()];
            entry.services.retain(|filed| *filed != service);
            entry.selectors -= 1;
            self.forget_if_unused(id);
        }
    }

    /// The Services filed under a Pod's labels. Whether they select it is for the caller to check:
    /// see [`selects`].
    pub(super) fn filed_under(&self, pairs: &[PairId]) -> impl Iterator<Item = ServiceId> {
        pairs.iter().flat_map(|id| self.entries[id.index()].services.iter().copied())
    }

    /// The Pods under the rarest pair of a selector, to be checked with [`selects`].
    pub(super) fn candidates(&self, selector: &[PairId]) -> &[PodId] {
        let pods = selector.iter().map(|id| self.entries[id.index()].pods.as_slice());
        pods.min_by_key(|pods| pods.len()).unwrap_or_default()
    }

    fn intern(&mut self, namespace: &str, key: &str, value: &str) -> PairId {
        self.text.clear();
        for part in [namespace, "\0", key, "\0", value] {
            self.text.push_str(part);
        }
        if let Some(&id) = self.ids.get(self.text.as_str()) {
            return id;
        }
        let text: Arc<str> = self.text.as_str().into();
        let entry = Entry { text: Arc::clone(&text), ..Entry::default() };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id.index()] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                let index = u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 pairs");
                PairId(index)
            }
        };
        self.ids.insert(text, id);
        id
    }

    fn forget_if_unused(&mut self, id: PairId) {
        let entry = &mut self.entries[id.index()];
        if entry.pods.is_empty() && entry.selectors == 0 && self.ids.remove(&entry.text).is_some() {
            *entry = Entry::default();
            self.free.push(id);
        }
    }
}

/// Whether a Pod with these pairs has all of a selector's. Both are sorted.
pub(super) fn selects(selector: &[PairId], pod: &[PairId]) -> bool {
    selector.iter().all(|id| pod.binary_search(id).is_ok())
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Id;
    use proptest::prelude::*;

    use super::*;

    type Labels = std::collections::BTreeMap<&'static str, &'static str>;

    fn ids<I: Id>() -> impl Iterator<Item = I> {
        (0..).map(I::from_index)
    }

    fn labels() -> impl Strategy<Value = Labels> {
        let key = prop::sample::select(vec!["a", "b", "c"]);
        let value = prop::sample::select(vec!["1", "2"]);
        prop::collection::btree_map(key, value, 0..3)
    }

    fn pairs(labels: &Labels) -> impl Iterator<Item = (&'static str, &'static str)> {
        labels.iter().map(|(key, value)| (*key, *value))
    }

    proptest! {
        #[test]
        fn the_index_finds_what_asking_each_finds(
            pods in prop::collection::vec((any::<bool>(), labels()), 1..8),
            services in prop::collection::vec((any::<bool>(), labels()), 1..6),
            gone in prop::collection::vec(any::<(bool, bool)>(), 8),
        ) {
            let mut index = Pairs::default();
            let namespace = |first: bool| if first { "x" } else { "y" };
            let mut pod_pairs = Vec::new();
            for (id, (first, labels)) in ids().zip(&pods) {
                pod_pairs.push(index.add_pod(id, namespace(*first), pairs(labels)));
            }
            let mut selectors = Vec::new();
            for (id, (first, selector)) in ids().zip(&services) {
                selectors.push(index.add_service(id, namespace(*first), pairs(selector)));
            }
            for (id, pairs) in ids::<PodId>().zip(&pod_pairs) {
                if gone[id.index()].0 { index.remove_pod(id, pairs) }
            }
            for (id, selector) in ids::<ServiceId>().zip(&selectors) {
                if gone[id.index()].1 { index.remove_service(id, selector) }
            }
            for (service, (s_ns, selector)) in ids::<ServiceId>().zip(&services) {
                for (pod, (p_ns, labels)) in ids::<PodId>().zip(&pods) {
                    let (p, s) = (pod.index(), service.index());
                    let alive = !gone[p].0 && !gone[s].1;
                    let picks = !selector.is_empty() && s_ns == p_ns
                        && selector.iter().all(|(k, v)| labels.get(k) == Some(v));
                    if alive {
                        let filed = index.filed_under(&pod_pairs[p]).any(|id| id == service);
                        prop_assert_eq!(filed && selects(&selectors[s], &pod_pairs[p]), picks);
                        let near = !selectors[s].is_empty()
                            && index.candidates(&selectors[s]).contains(&pod);
                        prop_assert_eq!(near && selects(&selectors[s], &pod_pairs[p]), picks);
                    }
                }
            }
        }

        #[test]
        fn a_pair_is_forgotten_with_its_last_use(pods in prop::collection::vec(labels(), 1..8)) {
            let mut index = Pairs::default();
            let mut kept = Vec::new();
            for (id, labels) in ids().zip(&pods) {
                kept.push(index.add_pod(id, "x", pairs(labels)));
            }
            let service = ServiceId::from_index(0);
            let selector = index.add_service(service, "x", pairs(&pods[0]));
            for (id, pairs) in ids().zip(&kept) {
                index.remove_pod(id, pairs);
            }
            index.remove_service(service, &selector);
            prop_assert!(index.ids.is_empty());
            prop_assert_eq!(index.free.len(), index.entries.len());
        }
    }
}
