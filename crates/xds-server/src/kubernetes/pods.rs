//! The labels and addresses of Pods.

use core::net::IpAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use evenkeel_model::{NodeId, SeenPod, ServiceKey, Watched, mesh::Tags};
use rustc_hash::FxHashMap;

use super::key;

/// A Pod, as far as its endpoints and its Dataplane need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFacts {
    key: ServiceKey,
    labels: Tags,
    node: Option<NodeId>,
    addresses: Vec<IpAddr>,
}

/// A Pod that changed, with the addresses that it had or has.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) key: ServiceKey,
    pub(super) addresses: Vec<IpAddr>,
}

#[derive(Debug, Default)]
pub(super) struct Pods {
    pods: BTreeMap<ServiceKey, PodFacts>,
    /// Pods in the network of their Node share an address.
    by_address: FxHashMap<IpAddr, BTreeSet<ServiceKey>>,
    unlisted: BTreeSet<ServiceKey>,
}

/// Labels that say nothing about the workload, and those of the mesh, which a Pod does not decide.
fn is_of_workload(label: &str) -> bool {
    const OF_CONTROLLERS: [&str; 3] =
        ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];
    !label.starts_with("kuma.io/") && !OF_CONTROLLERS.contains(&label)
}

// === impl PodFacts ===

impl From<SeenPod> for PodFacts {
    fn from(SeenPod { pod, labels, .. }: SeenPod) -> Self {
        let labels = labels.iter().filter(|(key, _)| is_of_workload(key));
        let labels = labels.map(|(key, value)| (key.as_str().into(), value.as_str().into()));
        // One that has ended has given its addresses back.
        let addresses = if pod.has_endpoint() { pod.ips } else { Vec::new() };
        PodFacts {
            key: ServiceKey { namespace: pod.namespace, name: pod.name },
            labels: Arc::new(labels.collect()),
            node: pod.node,
            addresses,
        }
    }
}

// === impl Pods ===

impl Pods {
    pub(super) fn labels(&self, pod: &ServiceKey) -> Option<&Tags> {
        self.pods.get(pod).map(|facts| &facts.labels)
    }

    /// The Node on which a Pod has this address.
    pub(super) fn node_at(&self, address: IpAddr) -> Option<NodeId> {
        let pods = self.by_address.get(&address)?.iter();
        pods.filter_map(|pod| self.pods.get(pod)?.node).next()
    }

    pub(super) fn addresses_on<'a>(
        &'a self,
        nodes: &'a BTreeSet<NodeId>,
    ) -> impl Iterator<Item = IpAddr> + 'a {
        let is_there = |facts: &&PodFacts| facts.node.is_some_and(|node| nodes.contains(&node));
        let there = self.pods.values().filter(is_there);
        there.flat_map(|facts| facts.addresses.iter().copied())
    }

    pub(super) fn watch(&mut self, seen: Watched<PodFacts>) -> Vec<Changed> {
        match seen {
            Watched::Restarted => {
                self.unlisted = self.pods.keys().cloned().collect();
                Vec::new()
            }
            Watched::Listed(facts) | Watched::Applied(facts) => {
                self.unlisted.remove(&facts.key);
                self.apply(facts).into_iter().collect()
            }
            Watched::Complete => {
                let gone = mem::take(&mut self.unlisted);
                gone.iter().filter_map(|key| self.remove(key)).collect()
            }
            Watched::Deleted(gone) => self.remove(&key(&gone)).into_iter().collect(),
        }
    }

    fn apply(&mut self, facts: PodFacts) -> Option<Changed> {
        if self.pods.get(&facts.key) == Some(&facts) {
            return None;
        }
        let before = self.remove(&facts.key).map(|before| before.addresses);
        let mut addresses = facts.addresses.clone();
        for address in &addresses {
            self.by_address.entry(*address).or_default().insert(facts.key.clone());
        }
        addresses.extend(before.into_iter().flatten());
        let key = facts.key.clone();
        self.pods.insert(key.clone(), facts);
        Some(Changed { key, addresses })
    }

    fn remove(&mut self, key: &ServiceKey) -> Option<Changed> {
        let PodFacts { key, addresses, .. } = self.pods.remove(key)?;
        for address in &addresses {
            if let Some(pods) = self.by_address.get_mut(address) {
                pods.remove(&key);
                if pods.is_empty() {
                    self.by_address.remove(address);
                }
            }
        }
        Some(Changed { key, addresses })
    }
}
