//! What a client ends up with: endpoints with weights, and the rule that chose them.

use crate::{NodeId, SharesError, ZoneId, ZoneShares};

/// From where a Service is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewpoint {
    /// `None`: any node of the zone that has no endpoint and no node hint of its own.
    pub node: Option<NodeId>,
    pub zone: Option<ZoneId>,
}

/// A kind of traffic to a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// May leave the node.
    Cluster,
    /// Must stay on the node.
    Local,
}

/// What clients of one Service port go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing<'a> {
    /// Feature gates turn hints off: all endpoints.
    IgnoreHints,
    Hints,
    /// Zone shares replace zone hints.
    Shares(&'a ZoneShares),
    /// The policy writes zone shares, and these can't be used: hints.
    SharesUnusable(SharesUnusable<'a>),
    /// Policy RequireSameZone: endpoints of the client's zone, or none.
    SameZoneOnly,
}

/// Why there are no zone shares to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharesUnusable<'a> {
    /// No slice has the annotation.
    Missing,
    Invalid(&'a SharesError),
}

/// One endpoint in use. Its part of the traffic is its weight over the sum of all weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index into the candidates the selection was made from.
    pub endpoint: u32,
    pub weight: u32,
}

/// The rule that chose the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    SameNode,
    SameZone,
    /// By the zone shares of the client's zone.
    ZoneShares,
    /// Policy RequireSameZone: endpoints of the client's zone.
    RequiredZone,
    /// All ready endpoints, hints not obeyed.
    All(HintsIgnored),
    /// Policy Local: ready endpoints of this node.
    LocalReady,
    /// Nothing is ready, but some endpoints still serve while they terminate.
    ServingTerminating,
    /// Policy RequireSameZone, and the client's zone has no usable endpoint, or the client no zone.
    RequiredZoneEmpty,
    /// There is nothing to use.
    Nothing,
}

/// Why hints are not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintsIgnored {
    /// Feature gates turn hints off for the consumer.
    GateOff,
    /// No ready endpoint has a hint.
    NoHints,
    /// Some ready endpoints lack a zone hint: a transition may be under way (safeguard 4).
    MissingOn { endpoints: u32 },
    /// The client's node has no zone label.
    ClientWithoutZone,
    /// No ready endpoint is hinted for the client's zone (safeguard 5).
    NoneForZone,
    /// No zone that the zone shares name has a ready endpoint.
    NoneInShares,
}

/// Endpoints in use from one viewpoint, in the order of the candidates, with the rule that chose
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub shares: Vec<Share>,
    pub rule: Rule,
}

impl Rule {
    /// As reasons name it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::SameNode => "SameNode",
            Rule::SameZone => "SameZone",
            Rule::ZoneShares => "ZoneShares",
            Rule::RequiredZone => "RequiredZone",
            Rule::All(_) => "All",
            Rule::LocalReady => "LocalReady",
            Rule::ServingTerminating => "ServingTerminating",
            Rule::RequiredZoneEmpty => "RequiredZoneEmpty",
            Rule::Nothing => "Nothing",
        }
    }

    /// The rule leaves clients without an endpoint.
    pub fn is_empty(self) -> bool {
        matches!(self, Rule::Nothing | Rule::RequiredZoneEmpty)
    }
}

impl Selection {
    /// The sum of all weights.
    pub fn total_weight(&self) -> u64 {
        self.shares.iter().map(|s| u64::from(s.weight)).sum()
    }
}
