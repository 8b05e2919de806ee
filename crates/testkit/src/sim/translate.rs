//! Translates an object's ids to another table of names.

use std::sync::Arc;

use evenkeel_model::{
    Endpoint, Hints, Node, NodeId, SeenPod, SeenSlice, SharesAnnotation, Slice, Topology, ZoneId,
    ZoneShares,
};

#[derive(Debug)]
pub struct Translation<'a> {
    pub from: &'a Topology,
    pub to: &'a mut Topology,
}

impl Translation<'_> {
    pub fn zone(&mut self, id: ZoneId) -> ZoneId {
        self.to.zones.intern(self.from.zones.name(id))
    }

    pub fn node_id(&mut self, id: NodeId) -> NodeId {
        self.to.nodes.intern(self.from.nodes.name(id))
    }

    pub fn node(&mut self, node: &Node) -> Node {
        let zone = node.zone.map(|zone| self.zone(zone));
        let region = node.region.map(|id| self.to.regions.intern(self.from.regions.name(id)));
        Node { id: self.node_id(node.id), zone, region, ..node.clone() }
    }

    pub fn pod(&mut self, seen: &SeenPod) -> SeenPod {
        let mut seen = seen.clone();
        seen.pod.node = seen.pod.node.map(|id| self.node_id(id));
        seen
    }

    pub fn slice(&mut self, slice: &Slice) -> Slice {
        let mut slice = slice.clone();
        for endpoint in &mut slice.endpoints {
            self.endpoint(endpoint);
        }
        if let Some(SharesAnnotation::Valid(shares)) = &slice.shares {
            slice.shares = Some(SharesAnnotation::Valid(Arc::new(self.shares(shares))));
        }
        slice
    }

    fn shares(&mut self, shares: &ZoneShares) -> ZoneShares {
        ZoneShares::new(shares.rows().iter().map(|row| {
            let parts = row.parts.iter().map(|(zone, part)| (self.zone(*zone), *part)).collect();
            (self.zone(row.client), parts)
        }))
    }

    pub fn seen_slice(&mut self, seen: &SeenSlice) -> SeenSlice {
        SeenSlice { slice: self.slice(&seen.slice), ..seen.clone() }
    }

    fn endpoint(&mut self, endpoint: &mut Endpoint) {
        endpoint.node = endpoint.node.map(|id| self.node_id(id));
        endpoint.zone = endpoint.zone.map(|id| self.zone(id));
        if let Some(Hints { zones, nodes }) = &mut endpoint.hints {
            *zones = zones.iter().map(|&id| self.zone(id)).collect();
            *nodes = nodes.iter().map(|&id| self.node_id(id)).collect();
        }
    }
}
