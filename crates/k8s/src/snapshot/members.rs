//! Which Pods a Service selects, and which Services select a Pod, without asking each.
//!
//! A Service selects a Pod only if the Pod carries *every* pair of its selector, so it is enough
//! to look it up under *one* of them. The pair that the fewest have is taken: pairs like
//! `managed-by: Helm` would bring every Service up for every Pod. Pairs are kept as hashes: what is found
//! is compared anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher as _,
    sync::Arc,
};

use evenkeel_model::{Service, ServiceKey};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// The hash of a namespace, of a label's key and of its value.
type Pair = u64;

type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(super) struct Members {
    /// The Pods that carry a pair.
    carriers: FxHashMap<Pair, FxHashSet<ServiceKey>>,
    /// The Services that are looked up under a pair.
    filed: FxHashMap<Pair, FxHashSet<ServiceKey>>,
    /// How many selectors have a pair.
    uses: FxHashMap<Pair, usize>,
    /// Where each Service is filed.
    places: FxHashMap<ServiceKey, Pair>,
    /// By namespace, the names of its Pods.
    namespaces: FxHashMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// By Service, the names of the Pods that it selects.
    pods: FxHashMap<ServiceKey, BTreeSet<Arc<str>>>,
}

// === impl Members ===

impl Members {
    pub(super) fn add_service<'l>(
        &mut self,
        service: &Service,
        labels: impl Fn(&ServiceKey) -> Option<&'l Labels>,
    ) {
        let pairs: Vec<Pair> = pairs_of_selector(service).collect();
        for pair in &pairs {
            *self.uses.entry(*pair).or_default() += 1;
        }
        let Some(place) = pairs.iter().copied().min_by_key(|pair| self.uses[pair]) else { return };
        self.filed.entry(place).or_default().insert(service.key.clone());
        self.places.insert(service.key.clone(), place);
        let carried = |pair: &Pair| self.carriers.get(pair);
        let fewest = pairs.iter().min_by_key(|pair| carried(pair).map_or(0, FxHashSet::len));
        let candidates = fewest.and_then(carried).into_iter().flatten();
        let selected = candidates.filter(|pod| {
            pod.namespace == service.key.namespace
                && labels(pod).is_some_and(|labels| selects(service, labels))
        });
        let selected = selected.map(|pod| Arc::clone(&pod.name)).collect();
        self.pods.insert(service.key.clone(), selected);
    }

    /// `service`: as it was when it was added.
    pub(super) fn remove_service(&mut self, service: &Service) {
        for pair in pairs_of_selector(service) {
            if let Some(uses) = self.uses.get_mut(&pair) {
                *uses -= 1;
                if *uses == 0 {
                    self.uses.remove(&pair);
                }
            }
        }
        if let Some(place) = self.places.remove(&service.key) {
            take_out(&mut self.filed, &place, &service.key);
        }
        self.pods.remove(&service.key);
    }

    /// The Services that select the Pod.
    pub(super) fn add_pod<'s>(
        &mut self,
        pod: &ServiceKey,
        labels: &Labels,
        service: impl Fn(&ServiceKey) -> Option<&'s Service>,
    ) -> Vec<ServiceKey> {
        let names = self.namespaces.entry(Arc::clone(&pod.namespace)).or_default();
        names.insert(Arc::clone(&pod.name));
        for pair in pairs_of_labels(pod, labels) {
            self.carriers.entry(pair).or_default().insert(pod.clone());
        }
        let selecting = self.selecting(pod, labels, service);
        for key in &selecting {
            self.pods.entry(key.clone()).or_default().insert(Arc::clone(&pod.name));
        }
        selecting
    }

    /// The Services that selected the Pod. `labels`: as they were when it was added.
    pub(super) fn remove_pod<'s>(
        &mut self,
        pod: &ServiceKey,
        labels: &Labels,
        service: impl Fn(&ServiceKey) -> Option<&'s Service>,
    ) -> Vec<ServiceKey> {
        if let Some(names) = self.namespaces.get_mut(&pod.namespace) {
            names.remove(&pod.name);
            if names.is_empty() {
                self.namespaces.remove(&pod.namespace);
            }
        }
        for pair in pairs_of_labels(pod, labels) {
            take_out(&mut self.carriers, &pair, pod);
        }
        let selecting = self.selecting(pod, labels, service);
        for key in &selecting {
            if let Some(pods) = self.pods.get_mut(key) {
                pods.remove(&pod.name);
            }
        }
        selecting
    }

    /// The names of the Pods that a Service selects, sorted.
    pub(super) fn pods_of(&self, service: &ServiceKey) -> impl Iterator<Item = &Arc<str>> + Clone {
        self.pods.get(service).into_iter().flatten()
    }

    /// The names of the Pods of a namespace, sorted.
    pub(super) fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.get(namespace).into_iter().flatten()
    }

    fn selecting<'s>(
        &self,
        pod: &ServiceKey,
        labels: &Labels,
        service: impl Fn(&ServiceKey) -> Option<&'s Service>,
    ) -> Vec<ServiceKey> {
        let filed = pairs_of_labels(pod, labels).filter_map(|pair| self.filed.get(&pair));
        let selecting = filed.flatten().filter(|key| {
            key.namespace == pod.namespace
                && service(key).is_some_and(|service| selects(service, labels))
        });
        selecting.cloned().collect()
    }
}

fn selects(service: &Service, labels: &Labels) -> bool {
    service.selects(|key| labels.get(key).map(String::as_str))
}

fn pairs_of_selector(service: &Service) -> impl Iterator<Item = Pair> {
    let namespace = &*service.key.namespace;
    service.selector.iter().flatten().map(move |(key, value)| pair(namespace, key, value))
}

fn pairs_of_labels(pod: &ServiceKey, labels: &Labels) -> impl Iterator<Item = Pair> {
    labels.iter().map(|(key, value)| pair(&pod.namespace, key, value))
}

fn pair(namespace: &str, key: &str, value: &str) -> Pair {
    FxBuildHasher.hash_one((namespace, key, value))
}

fn take_out(from: &mut FxHashMap<Pair, FxHashSet<ServiceKey>>, pair: &Pair, key: &ServiceKey) {
    if let Some(keys) = from.get_mut(pair) {
        keys.remove(key);
        if keys.is_empty() {
            from.remove(pair);
        }
    }
}
