//! Straight from EndpointSlices to what a decision reads, without building endpoints.
//!
//! [`endpoint_slice`](crate::convert::endpoint_slice) allocates for every address and target. A
//! proxy that selects from 100 000 endpoints, or a controller that checks the hints of all its
//! Services, needs none of that: only states, zones and nodes. These functions read those fields
//! alone. They cannot fail, since names are interned and not parsed.
//!
//! The cost is one hash look-up for each name, and less when the name was asked for just before:
//! of nodes the last one is remembered, of zones the last four.

use evenkeel_model::{Candidate, Conditions, Few, Hints, Id, Names, NodeId, Topology, ZoneId};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointHints, EndpointSlice};

/// What hint allocation needs of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyZone {
    /// As producers of hints count it: unknown is not ready.
    pub ready: bool,
    pub zone: Option<ZoneId>,
    /// The zones it is hinted for now.
    pub hint: Few<ZoneId>,
}

/// The endpoints of `slices` as selection sees them, in their order.
pub fn candidates<'a>(
    slices: impl IntoIterator<Item = &'a EndpointSlice, IntoIter: Clone>,
    topology: &mut Topology,
) -> Vec<Candidate> {
    let mut zones = Zones::new(&mut topology.zones);
    let mut nodes = Nodes::new(&mut topology.nodes);
    collect(slices.into_iter(), |endpoint| {
        let node = endpoint.node_name.as_deref().map(|name| nodes.id(name));
        let hints = Hints {
            zones: zone_hints(endpoint, &mut zones),
            nodes: node_hints(endpoint, &mut nodes),
        };
        let zone = endpoint.zone.as_deref().map(|name| zones.id(name));
        Candidate::new(conditions(endpoint.conditions.as_ref()), node, zone, Some(&hints))
    })
}

/// The readiness, zone and zone hints of the endpoints of `slices`, in their order.
pub fn ready_zones<'a>(
    slices: impl IntoIterator<Item = &'a EndpointSlice, IntoIter: Clone>,
    topology: &mut Topology,
) -> Vec<ReadyZone> {
    let mut zones = Zones::new(&mut topology.zones);
    collect(slices.into_iter(), |endpoint| ReadyZone {
        ready: conditions(endpoint.conditions.as_ref()).is_ready(),
        zone: endpoint.zone.as_deref().map(|name| zones.id(name)),
        hint: zone_hints(endpoint, &mut zones),
    })
}

/// The slices are counted first: growing the list step by step would copy it several times.
#[inline]
fn collect<'a, T>(
    slices: impl Iterator<Item = &'a EndpointSlice> + Clone,
    mut convert: impl FnMut(&'a Endpoint) -> T,
) -> Vec<T> {
    let endpoints = |slice: &'a EndpointSlice| slice.endpoints.as_deref().unwrap_or_default();
    let total = slices.clone().map(|slice| endpoints(slice).len()).sum();
    let mut collected = Vec::with_capacity(total);
    for slice in slices {
        collected.extend(endpoints(slice).iter().map(&mut convert));
    }
    collected
}

/// Most clusters have three zones, and neighbours in a slice tend to be in different ones.
type Zones<'t, 'n> = Memo<'t, 'n, ZoneId, 4>;
type Nodes<'t, 'n> = Memo<'t, 'n, NodeId, 1>;

/// A table that remembers the last `N` names it was asked for.
struct Memo<'t, 'n, I, const N: usize> {
    names: &'t mut Names<I>,
    recent: [(Digest, &'n str, I); N],
    oldest: usize,
}

/// Enough of a name to tell it from most others in a few instructions: its length, its first and
/// its last bytes. Up to 16 bytes, which zones hardly ever exceed, that is all of it.
#[derive(Clone, Copy, PartialEq)]
struct Digest {
    len: usize,
    head: u64,
    tail: u64,
}

// === impl Memo ===

impl<'t, 'n, I: Id, const N: usize> Memo<'t, 'n, I, N> {
    fn new(names: &'t mut Names<I>) -> Self {
        let nothing = (Digest::of(""), "", names.intern(""));
        Memo { names, recent: [nothing; N], oldest: 0 }
    }

    #[inline]
    fn id(&mut self, name: &'n str) -> I {
        let digest = Digest::of(name);
        for (known, text, id) in &self.recent {
            if digest == *known && (digest.is_all() || *text == name) {
                return *id;
            }
        }
        self.intern(digest, name)
    }

    #[inline(never)]
    fn intern(&mut self, digest: Digest, name: &'n str) -> I {
        let id = self.names.intern(name);
        self.recent[self.oldest] = (digest, name, id);
        self.oldest = (self.oldest + 1) % N;
        id
    }
}

// === impl Digest ===

impl Digest {
    #[inline]
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let (head, tail) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => (bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0),
        };
        Digest { len: bytes.len(), head, tail }
    }

    fn is_all(self) -> bool {
        self.len <= 16
    }
}

#[inline]
fn conditions(given: Option<&EndpointConditions>) -> Conditions {
    given.map_or(Conditions::default(), |given| Conditions {
        ready: given.ready,
        serving: given.serving,
        terminating: given.terminating,
    })
}

#[inline]
fn zone_hints<'n>(endpoint: &'n Endpoint, zones: &mut Zones<'_, 'n>) -> Few<ZoneId> {
    let list = |hints: &'n EndpointHints| hints.for_zones.as_deref();
    match endpoint.hints.as_ref().and_then(list) {
        None | Some([]) => Few::None,
        Some([zone]) => Few::One(zones.id(&zone.name)),
        Some(many) => many.iter().map(|zone| zones.id(&zone.name)).collect(),
    }
}

#[inline]
fn node_hints<'n>(endpoint: &'n Endpoint, nodes: &mut Nodes<'_, 'n>) -> Few<NodeId> {
    let list = |hints: &'n EndpointHints| hints.for_nodes.as_deref();
    match endpoint.hints.as_ref().and_then(list) {
        None | Some([]) => Few::None,
        Some([node]) => Few::One(nodes.id(&node.name)),
        Some(many) => many.iter().map(|node| nodes.id(&node.name)).collect(),
    }
}
