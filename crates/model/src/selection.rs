//! What a client ends up with: endpoints with weights.

use crate::{NodeId, ZoneId};

/// From where a Service is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewpoint {
    /// `None`: any node of the zone that has no endpoint and no node hint of its own.
    pub node: Option<NodeId>,
    pub zone: Option<ZoneId>,
}

/// One endpoint in use. Its part of the traffic is its weight over the sum of all weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index into the candidates the selection was made from.
    pub endpoint: u32,
    pub weight: u32,
}

/// Endpoints in use from one viewpoint, in the order of the candidates, with the rule that chose
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection<R> {
    pub shares: Vec<Share>,
    pub rule: R,
}

impl<R> Selection<R> {
    /// The sum of all weights.
    pub fn total_weight(&self) -> u64 {
        self.shares.iter().map(|s| u64::from(s.weight)).sum()
    }
}
