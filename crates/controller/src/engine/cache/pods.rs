//! Pods, and which Services select them.

use std::sync::Arc;

use evenkeel_model::{Gone, NodeId, Pod, PodId, SeenPod, ServiceId};

use super::{Cache, PodEntry, ServiceEntry, Slot};
use crate::engine::{
    pairs::{PairId, Pairs, selects},
    table::{Name, Table},
};

impl Cache {
    pub(in crate::engine) fn begin_pods(&mut self) {
        self.pods.begin_list();
    }

    pub(in crate::engine) fn end_pods(&mut self) {
        for name in self.pods.unlisted() {
            self.drop_pod(&name);
        }
    }

    pub(in crate::engine) fn apply_pod(&mut self, seen: SeenPod) {
        let SeenPod { mut pod, labels, ready_since } = seen;
        pod.namespace = self.namespace(&pod.namespace);
        let name = (Arc::clone(&pod.namespace), Arc::clone(&pod.name));
        let (node, namespace) = (pod.node, Arc::clone(&pod.namespace));
        let entry = PodEntry { pod, pairs: Box::default(), ready_since };
        let (id, old) = self.pods.insert(name, entry);
        let labels = labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        // The new pairs come first, so that those which stay are not forgotten in between.
        let pairs = self.pairs.add_pod(id, &namespace, labels);
        let entry = self.pods.get_mut(id).expect("just inserted");
        entry.pairs = pairs;
        let same = old.as_ref().is_some_and(|old| old.pod == entry.pod && old.pairs == entry.pairs);
        if !same {
            touch(&self.pairs, &self.slots, &entry.pairs, &mut self.touched);
        }
        if let Some(old) = old {
            let gone = old.pairs.iter().filter(|id| !entry.pairs.contains(id));
            let gone: Vec<PairId> = gone.copied().collect();
            if !gone.is_empty() {
                touch(&self.pairs, &self.slots, &old.pairs, &mut self.touched);
            }
            self.pairs.remove_pod(id, &gone);
            self.leave_node(id, old.pod.node.filter(|old| Some(*old) != node));
        }
        if let Some(node) = node {
            self.by_node.entry(node).or_default().insert(id);
        }
    }

    pub(in crate::engine) fn delete_pod(&mut self, gone: &Gone) {
        self.drop_pod(&(Arc::clone(&gone.namespace), Arc::clone(&gone.name)));
    }

    pub(super) fn drop_pod(&mut self, name: &Name) {
        let Some((id, old)) = self.pods.remove(name) else { return };
        touch(&self.pairs, &self.slots, &old.pairs, &mut self.touched);
        self.pairs.remove_pod(id, &old.pairs);
        self.leave_node(id, old.pod.node);
    }

    pub(super) fn leave_node(&mut self, pod: PodId, node: Option<NodeId>) {
        let Some(node) = node else { return };
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.remove(&pod);
            if pods.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// The Pods a Service selects, with when they last became ready or unready.
    pub(in crate::engine) fn pods_of(&self, service: &ServiceEntry) -> Vec<(&Pod, Option<i64>)> {
        let Some(selector) = &service.selector else { return Vec::new() };
        let candidates = self.pairs.candidates(selector).iter();
        let entries = candidates.filter_map(|id| self.pods.get(*id));
        let selected = entries.filter(|entry| selects(selector, &entry.pairs));
        selected.map(|entry| (&entry.pod, entry.ready_since)).collect()
    }

    pub(in crate::engine) fn has_node(&self, pod: &Pod) -> bool {
        pod.node.is_some_and(|id| self.nodes.get(id).is_some())
    }

    pub(in crate::engine) fn n_pods(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn namespace(&mut self, name: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.namespaces.get(name) {
            return Arc::clone(known);
        }
        self.namespaces.insert(Arc::clone(name));
        Arc::clone(name)
    }
}

/// Puts the Services that select a Pod with these pairs on the list.
pub(super) fn touch(
    pairs: &Pairs,
    slots: &Table<ServiceId, Slot>,
    pod: &[PairId],
    touched: &mut Vec<ServiceId>,
) {
    for id in pairs.filed_under(pod) {
        let service = slots.get(id).and_then(|slot| slot.service.as_ref());
        let selector = service.and_then(|service| service.selector.as_ref());
        if selector.is_some_and(|selector| selects(selector, pod)) {
            touched.push(id);
        }
    }
}
