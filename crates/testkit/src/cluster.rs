//! Nodes and their zones.

use evenkeel_model::{Node, NodeId, Topology, ZoneId};
use evenkeel_topology::{Capacity, Demand, NoHints, Settings, demand, measure, plan::NodeTable};

#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub topology: Topology,
    pub nodes: Vec<Node>,
}

impl Cluster {
    /// One ready worker node per entry: the name of its zone and its cores.
    pub fn of(nodes: &[(&str, u64)]) -> Self {
        let mut cluster = Cluster::default();
        for &(zone, cores) in nodes {
            let number = 1 + cluster.nodes_in(zone).len();
            cluster.add_node(&format!("node-{zone}{number}"), Some(zone), cores);
        }
        cluster
    }

    /// Zones `a`, `b`, `c`, … with one node of 4 cores each.
    pub fn equal_zones(n: u8) -> Self {
        let names: Vec<String> = (0..n).map(|i| char::from(b'a' + i).to_string()).collect();
        let nodes: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 4)).collect();
        Cluster::of(&nodes)
    }

    /// A ready worker node, to be changed through the reference. No cores: it reports none.
    pub fn add_node(&mut self, name: &str, zone: Option<&str>, cores: u64) -> &mut Node {
        self.nodes.push(Node {
            id: self.topology.nodes.intern(name),
            zone: zone.map(|zone| self.topology.zones.intern(zone)),
            region: None,
            cpu_milli: cores * 1000,
            ready: true,
            control_plane: false,
        });
        self.nodes.last_mut().expect("just pushed")
    }

    /// # Panics
    /// If there is no such node.
    pub fn remove_node(&mut self, name: &str) {
        let id = self.node(name).id;
        self.nodes.retain(|node| node.id != id);
    }

    /// # Panics
    /// If there is no such node.
    pub fn node(&self, name: &str) -> &Node {
        let id = self.topology.nodes.find(name);
        let found = self.nodes.iter().find(|node| Some(node.id) == id);
        found.unwrap_or_else(|| panic!("no node {name}"))
    }

    /// The nodes of a zone, whether they count for its capacity or not.
    pub fn nodes_in(&self, zone: &str) -> Vec<NodeId> {
        let zone = self.topology.zones.find(zone);
        let inside = |node: &&Node| zone.is_some() && node.zone == zone;
        self.nodes.iter().filter(inside).map(|n| n.id).collect()
    }

    pub fn table(&self) -> NodeTable {
        self.nodes.iter().cloned().collect()
    }

    pub fn measure(&self, settings: &Settings) -> Result<Capacity, NoHints> {
        measure(&self.nodes, &self.topology, settings)
    }

    pub fn demand(&self) -> Demand {
        demand(&self.nodes, &self.topology)
    }

    /// Puts all nodes of a zone into a region.
    pub fn set_region(&mut self, zone: &str, region: &str) {
        let zone = self.topology.zones.intern(zone);
        let region = self.topology.regions.intern(region);
        for node in self.nodes.iter_mut().filter(|node| node.zone == Some(zone)) {
            node.region = Some(region);
        }
    }

    pub fn zone_name(&self, zone: ZoneId) -> &str {
        self.topology.zones.name(zone)
    }

    pub fn node_name(&self, node: NodeId) -> &str {
        self.topology.nodes.name(node)
    }
}
