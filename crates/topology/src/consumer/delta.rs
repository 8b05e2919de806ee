//! How a selection changed.

use evenkeel_model::{Rule, ZoneId};

use super::Backend;

/// How the endpoints that a node uses for one Service port changed. Kept and filled again, it needs
/// memory only where it is larger than before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// For traffic that may leave the node.
    pub cluster: PathDelta,
    /// For traffic that must stay on the node.
    pub local: PathDelta,
    /// There is a usable endpoint somewhere, though perhaps not for this node.
    pub any_in_cluster: bool,
}

/// The change for one kind of traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathDelta {
    /// The rule that holds now; `None` if there is no such traffic.
    pub rule: Option<Rule>,
    pub removed: Vec<Backend>,
    /// Those that were not used before, and those that are in another zone than before.
    pub added: Vec<Member>,
    /// Under [`Rule::ZoneShares`] the zones in use with the weight of each endpoint in them, sorted by
    /// zone; otherwise empty, and each endpoint has weight 1.
    pub weights: Vec<ZoneWeight>,
    /// The weights are not as before: endpoints that stayed may have others.
    pub reweighted: bool,
}

/// An endpoint in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub backend: Backend,
    pub zone: ZoneId,
}

/// A zone of the row of zone shares that is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneWeight {
    pub zone: ZoneId,
    /// Its part of 1,000, by the table. Where zones have no ready endpoint, the others get more.
    pub part: u16,
    pub ready: u32,
    /// The weight of each of its ready endpoints; 0 if it has none.
    pub weight: u32,
}

// === impl Delta ===

impl Delta {
    /// Nothing has to be done.
    pub fn is_empty(&self) -> bool {
        self.cluster.is_empty() && self.local.is_empty()
    }
}

// === impl PathDelta ===

impl PathDelta {
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && !self.reweighted
    }

    /// The weight of an endpoint in `zone`.
    pub fn weight(&self, zone: ZoneId) -> u32 {
        let found = self.weights.binary_search_by_key(&zone, |weight| weight.zone);
        found.map_or(1, |at| self.weights[at].weight)
    }

    pub(super) fn clear(&mut self) {
        let PathDelta { rule, removed, added, weights, reweighted } = self;
        (*rule, *reweighted) = (None, false);
        removed.clear();
        added.clear();
        weights.clear();
    }
}
