//! What a process was shown, and since when it knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use evenkeel_model::{Node, SeenPod, SeenService, Watched};
use evenkeel_testkit::sim::Key;

#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) nodes: Known<Node>,
    /// When each Node that is no more was last seen to go, by the process's clock.
    pub(crate) gone_nodes: BTreeMap<Key, Duration>,
    pub(crate) pods: Known<SeenPod>,
    pub(crate) services: Known<SeenService>,
}

/// Objects with the step of the run in which they became what they are.
#[derive(Debug)]
pub(crate) struct Known<T> {
    objects: BTreeMap<Key, (Arc<T>, u64)>,
    /// Keys of a list under way.
    listed: BTreeSet<Key>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known { objects: BTreeMap::new(), listed: BTreeSet::new() }
    }
}

impl<T> Known<T> {
    pub(crate) fn keys(&self) -> BTreeSet<Key> {
        self.objects.keys().cloned().collect()
    }

    /// The object, if it has been so since before `step`.
    pub(crate) fn before(&self, key: &Key, step: u64) -> Option<&T> {
        let (value, since) = self.objects.get(key)?;
        (*since < step).then_some(value)
    }

    /// `same`: as far as the listing of endpoints depends on it.
    pub(crate) fn see(
        &mut self,
        shown: &Watched<Arc<T>>,
        step: u64,
        key: impl Fn(&T) -> Key,
        same: impl Fn(&T, &T) -> bool,
    ) {
        match shown {
            Watched::Restarted => self.listed.clear(),
            Watched::Complete => {
                let listed = std::mem::take(&mut self.listed);
                self.objects.retain(|key, _| listed.contains(key));
            }
            Watched::Deleted(gone) => {
                let key = Key::new(Arc::clone(&gone.namespace), Arc::clone(&gone.name));
                self.objects.remove(&key);
            }
            Watched::Listed(value) | Watched::Applied(value) => {
                let key = key(value);
                self.listed.insert(key.clone());
                let known = self.objects.get(&key).filter(|(old, _)| same(old, value));
                let since = known.map_or(step, |(_, since)| *since);
                self.objects.insert(key, (Arc::clone(value), since));
            }
        }
    }
}

pub(crate) fn same_pod(a: &SeenPod, b: &SeenPod) -> bool {
    let (a_pod, b_pod) = (&a.pod, &b.pod);
    a.labels == b.labels
        && a_pod.uid == b_pod.uid
        && a_pod.ips == b_pod.ips
        && a_pod.node == b_pod.node
        && a_pod.has_endpoint() == b_pod.has_endpoint()
        && a_pod.ports == b_pod.ports
}
