//! The endpoints a Service would have with another number of replicas.
//!
//! Assumes what a scheduler that spreads Pods does: new replicas go to the zone, and there to the
//! node, with the fewest; removed ones come from the zone with the most. Ties go by name.
//! O(replicas · log nodes).

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{
    Address, Conditions, Endpoint, Few, Node, NodeId, ServiceState, Snapshot, ZoneId,
};

use crate::capacity::is_counted;

/// Changes `endpoints` to so many, or as many as find a node.
pub(super) fn scale(
    endpoints: &mut Vec<Endpoint>,
    replicas: usize,
    state: &ServiceState,
    snapshot: &Snapshot,
) {
    if endpoints.len() > replicas {
        remove(endpoints, replicas);
        return;
    }
    // Which nodes a confined Pod may use is not known here. Zones that have some already are near
    // enough to the truth.
    let confined = state.pods.iter().any(|pod| pod.confined);
    let taken: BTreeSet<Option<ZoneId>> = endpoints.iter().map(|e| e.zone).collect();
    let is_home = |n: &&Node| is_counted(n) && (!confined || taken.contains(&n.zone));
    let homes = snapshot.nodes.iter().filter(is_home);
    let mut vacancies = Vacancies::new(homes, endpoints, snapshot);
    while endpoints.len() < replicas {
        let Some((zone, node)) = vacancies.take() else {
            return;
        };
        endpoints.push(replica(zone, node, endpoints.len() + 1));
    }
}

/// Removes the last endpoint of the fullest zone until few enough are left.
fn remove(endpoints: &mut Vec<Endpoint>, replicas: usize) {
    let mut of_zone: BTreeMap<Option<ZoneId>, Vec<usize>> = BTreeMap::new();
    for (index, endpoint) in endpoints.iter().enumerate() {
        of_zone.entry(endpoint.zone).or_default().push(index);
    }
    let mut fullest: BTreeSet<(usize, Vec<usize>)> =
        of_zone.into_values().map(|indexes| (indexes.len(), indexes)).collect();
    let mut goes = vec![false; endpoints.len()];
    for _ in replicas..endpoints.len() {
        let Some((count, mut indexes)) = fullest.pop_last() else {
            break;
        };
        if let Some(index) = indexes.pop() {
            goes[index] = true;
            fullest.insert((count - 1, indexes));
        }
    }
    let mut goes = goes.into_iter();
    endpoints.retain(|_| !goes.next().unwrap_or(false));
}

/// Where the next replica goes: zones and their nodes, those with the fewest endpoints first.
struct Vacancies {
    /// By number of endpoints and position in `homes`.
    zones: BTreeSet<(usize, usize)>,
    homes: Vec<Homes>,
}

/// The nodes of one zone.
struct Homes {
    zone: Option<ZoneId>,
    /// By number of endpoints and position.
    nodes: BTreeSet<(usize, usize, NodeId)>,
}

impl Vacancies {
    fn new<'a>(
        homes: impl Iterator<Item = &'a Node>,
        endpoints: &[Endpoint],
        snapshot: &Snapshot,
    ) -> Self {
        let mut in_zone: BTreeMap<Option<ZoneId>, usize> = BTreeMap::new();
        let mut on_node: BTreeMap<NodeId, usize> = BTreeMap::new();
        for endpoint in endpoints {
            *in_zone.entry(endpoint.zone).or_default() += 1;
            if let Some(node) = endpoint.node {
                *on_node.entry(node).or_default() += 1;
            }
        }
        let names = &snapshot.topology;
        let mut homes: Vec<&Node> = homes.collect();
        homes.sort_by_key(|n| (n.zone.map(|z| names.zones.name(z)), names.nodes.name(n.id)));
        let count = |node: NodeId| on_node.get(&node).copied().unwrap_or(0);
        let homes: Vec<Homes> = homes
            .chunk_by(|a, b| a.zone == b.zone)
            .map(|of_zone| {
                let nodes = of_zone.iter().enumerate().map(|(i, n)| (count(n.id), i, n.id));
                Homes { zone: of_zone[0].zone, nodes: nodes.collect() }
            })
            .collect();
        let endpoints_in = |homes: &Homes| in_zone.get(&homes.zone).copied().unwrap_or(0);
        let zones = homes.iter().enumerate().map(|(i, homes)| (endpoints_in(homes), i)).collect();
        Vacancies { zones, homes }
    }

    fn take(&mut self) -> Option<(Option<ZoneId>, NodeId)> {
        let (in_zone, position) = self.zones.pop_first()?;
        self.zones.insert((in_zone + 1, position));
        let Homes { zone, nodes } = &mut self.homes[position];
        let (on_node, order, node) = nodes.pop_first()?;
        nodes.insert((on_node + 1, order, node));
        Some((*zone, node))
    }
}

fn replica(zone: Option<ZoneId>, node: NodeId, number: usize) -> Endpoint {
    Endpoint {
        addresses: Few::One(Address::Name(format!("new replica {number}").into())),
        conditions: Conditions::READY,
        hostname: None,
        target: None,
        node: Some(node),
        zone,
        hints: None,
    }
}
