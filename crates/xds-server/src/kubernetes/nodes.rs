//! The labels of Nodes that count.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use evenkeel_model::{NodeId, Topology, Watched, label, mesh::Tags};

/// A Node of a watch, with the labels that count.
#[derive(Clone, Debug)]
pub(crate) struct SeenNode {
    id: NodeId,
    tags: Tags,
}

impl SeenNode {
    /// A Node without a label for its host is its own host, so that clients on it can be told from others.
    pub(crate) fn new(id: NodeId, name: &str, tags: Tags) -> Self {
        if tags.contains_key(label::HOSTNAME) {
            return SeenNode { id, tags };
        }
        let mut tags = BTreeMap::clone(&tags);
        tags.insert(label::HOSTNAME.into(), name.into());
        SeenNode { id, tags: Arc::new(tags) }
    }
}

#[derive(Debug)]
pub(super) struct Nodes {
    labels: BTreeSet<Arc<str>>,
    tags: BTreeMap<NodeId, Tags>,
    /// Those that a list under way has not had so far.
    unlisted: BTreeSet<NodeId>,
}

impl Nodes {
    pub(super) fn new(more: &BTreeSet<Arc<str>>) -> Self {
        let always = [label::ZONE, label::REGION, label::HOSTNAME].map(Arc::from);
        let labels = more.iter().cloned().chain(always).collect();
        Nodes { labels, tags: BTreeMap::new(), unlisted: BTreeSet::new() }
    }

    pub(super) fn labels(&self) -> &BTreeSet<Arc<str>> {
        &self.labels
    }

    pub(super) fn tags(&self, node: NodeId) -> Option<&Tags> {
        self.tags.get(&node)
    }

    /// Which Nodes have other labels now.
    pub(super) fn watch(&mut self, seen: Watched<SeenNode>, names: &Topology) -> BTreeSet<NodeId> {
        match seen {
            Watched::Restarted => {
                self.unlisted = self.tags.keys().copied().collect();
                BTreeSet::new()
            }
            Watched::Listed(SeenNode { id, tags }) | Watched::Applied(SeenNode { id, tags }) => {
                self.unlisted.remove(&id);
                let is_same = self.tags.get(&id) == Some(&tags);
                if !is_same {
                    self.tags.insert(id, tags);
                }
                (!is_same).then_some(id).into_iter().collect()
            }
            Watched::Complete => {
                let gone = mem::take(&mut self.unlisted);
                gone.into_iter().filter(|id| self.tags.remove(id).is_some()).collect()
            }
            Watched::Deleted(gone) => {
                let id = names.nodes.find(&gone.name);
                id.filter(|id| self.tags.remove(id).is_some()).into_iter().collect()
            }
        }
    }
}
