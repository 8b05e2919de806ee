//! What the kubelets of Nodes may do: the Node authorizer over the stored Pods.

use evenkeel_authorization::{
    Attributes, User,
    node::{self, Decision, Graph, PodRefs},
};
use evenkeel_store::{Object, ResourceId};
use rustc_hash::FxHashMap;

use super::followed::{Followed, Index};
use crate::{document, follow::News, kinds::POD, storage::Storage};

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pods: Followed<BoundPods>,
}

/// The graph, and what each Pod adds to it: a change during the first list is reported twice.
#[derive(Debug, Default)]
pub(crate) struct BoundPods {
    graph: Graph,
    known: FxHashMap<Box<str>, PodRefs>,
}

impl Nodes {
    /// Allows, or says why not; `user` is a Node.
    pub(crate) fn authorize(
        &self,
        storage: &Storage,
        user: &User,
        asked: &Attributes<'_>,
    ) -> Result<(), String> {
        // Most of what a kubelet does is allowed whatever its Pods name. The graph is brought up to
        // date only for the rest.
        if node::authorize(user, asked, &Graph::default()) == Decision::Allowed {
            return Ok(());
        }
        match node::authorize(user, asked, &self.pods.read(storage).graph) {
            Decision::Allowed => Ok(()),
            Decision::NoOpinion(why) => Err(why),
        }
    }

    /// Why a write of the Node `name` is refused although it is authorized: it concerns another.
    pub(crate) fn restriction(
        &self,
        storage: &Storage,
        name: &str,
        asked: &Attributes<'_>,
        change: node::Change<'_>,
    ) -> Option<String> {
        // Only tokens depend on the graph, and a Pod without its present version.
        node::restriction(name, asked, change, &Graph::default())?;
        node::restriction(name, asked, change, &self.pods.read(storage).graph)
    }
}

// === impl BoundPods ===

impl Index for BoundPods {
    fn resources() -> Vec<ResourceId> {
        vec![POD.id()]
    }

    fn take(&mut self, news: &News) {
        let Some(of) = news.after.as_ref().or(news.before.as_ref()) else { return };
        let refs = |pod: &Object| document::value(&POD, pod).ok().map(|pod| PodRefs::of(&pod));
        let after = news.after.as_deref().and_then(refs);
        let before = self.known.remove(&of.key);
        self.graph.changed(before.as_ref(), after.as_ref());
        if let Some(after) = after {
            self.known.insert(of.key.clone(), after);
        }
    }
}
