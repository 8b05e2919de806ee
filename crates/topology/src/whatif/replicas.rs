//! The endpoints a Service would have with another number of replicas.
//!
//! Assumes what a scheduler that spreads Pods does: new replicas go to the zone, and there to the
//! node, with the fewest; removed ones come from the zone with the most. Ties go by name.

use evenkeel_model::{Address, Conditions, Endpoint, Few, Node, Topology};

use crate::capacity::is_counted;

pub(super) fn scale(
    mut endpoints: Vec<Endpoint>,
    replicas: u32,
    nodes: &[Node],
    topology: &Topology,
) -> Vec<Endpoint> {
    let mut homes: Vec<&Node> =
        nodes.iter().filter(|n| is_counted(n) && n.zone.is_some()).collect();
    homes.sort_by_key(|n| (n.zone.map(|z| topology.zones.name(z)), topology.nodes.name(n.id)));
    while endpoints.len() > replicas as usize {
        let count = |e: &Endpoint| endpoints.iter().filter(|o| o.zone == e.zone).count();
        let fullest = (0..endpoints.len()).max_by_key(|&i| (count(&endpoints[i]), i));
        endpoints.remove(fullest.expect("more than wanted, so not empty"));
    }
    while endpoints.len() < replicas as usize {
        let in_zone = |n: &Node| endpoints.iter().filter(|e| e.zone == n.zone).count();
        let on_node = |n: &Node| endpoints.iter().filter(|e| e.node == Some(n.id)).count();
        let Some(home) = homes.iter().min_by_key(|n| (in_zone(n), on_node(n))) else {
            break;
        };
        endpoints.push(replica(home, endpoints.len() + 1));
    }
    endpoints
}

fn replica(home: &Node, number: usize) -> Endpoint {
    Endpoint {
        addresses: Few::One(Address::Name(format!("new replica {number}").into())),
        conditions: Conditions::READY,
        hostname: None,
        target: None,
        node: Some(home.id),
        zone: home.zone,
        hints: None,
    }
}
