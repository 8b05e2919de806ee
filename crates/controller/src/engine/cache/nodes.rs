//! Nodes, and which Pods are on them.

use std::time::Duration;

use evenkeel_model::{Gone, Node, NodeId};
use rustc_hash::FxHashSet;

use super::{Cache, pods::touch};

impl Cache {
    pub(in crate::engine) fn begin_nodes(&mut self) {
        self.listed_nodes.clear();
    }

    pub(in crate::engine) fn list_node(&mut self, node: Node) {
        self.listed_nodes.insert(node.id);
        self.apply_node(node);
    }

    pub(in crate::engine) fn end_nodes(&mut self) {
        let gone = self.nodes.iter().map(|node| node.id);
        let gone: Vec<NodeId> = gone.filter(|id| !self.listed_nodes.contains(id)).collect();
        for id in gone {
            self.missing_nodes.add(id);
        }
        self.listed_nodes = FxHashSet::default();
        // That there are none is known only now.
        self.nodes_changed = true;
    }

    pub(in crate::engine) fn apply_node(&mut self, node: Node) {
        self.missing_nodes.remove(node.id);
        let old = self.nodes.get(node.id);
        if old == Some(&node) {
            return;
        }
        self.nodes_changed = true;
        let moved = old.is_none_or(|old| old.zone != node.zone);
        let id = node.id;
        self.nodes.set(id, Some(node));
        if moved {
            self.touch_node(id);
        }
    }

    pub(in crate::engine) fn delete_node(&mut self, gone: &Gone) {
        let id = self.topology.nodes.find(&gone.name);
        if let Some(id) = id.filter(|id| self.nodes.get(*id).is_some()) {
            self.missing_nodes.add(id);
        }
    }

    /// Nodes that have been gone for `grace` are so from now on.
    pub(in crate::engine) fn expire_nodes(&mut self, now: Duration, grace: Duration) {
        for id in self.missing_nodes.expire(now, grace) {
            self.drop_node(id);
        }
    }

    /// When [`Cache::expire_nodes`] is to be called.
    pub(in crate::engine) fn nodes_expire(&self) -> Option<Duration> {
        self.missing_nodes.next_due()
    }

    pub(super) fn drop_node(&mut self, id: NodeId) {
        if self.nodes.get(id).is_some() {
            self.nodes.set(id, None);
            self.nodes_changed = true;
            self.touch_node(id);
        }
    }

    /// The Services of the Pods on a node: where they are is part of their endpoints.
    pub(super) fn touch_node(&mut self, id: NodeId) {
        for &pod in self.by_node.get(&id).into_iter().flatten() {
            let Some(entry) = self.pods.get(pod) else { continue };
            touch(&self.pairs, &self.slots, &entry.pairs, &mut self.touched);
        }
    }
}
