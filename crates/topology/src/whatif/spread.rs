//! Where a month of traffic goes: the load of each endpoint, and what crosses zones.
//!
//! The same outcome as selecting on every node and adding up, but O(endpoints · zones + nodes): a
//! zone is selected for once, and only nodes with endpoints of their own are looked at singly (a
//! property test compares with the slow way).

use std::collections::BTreeMap;

use evenkeel_model::{
    Endpoint, Id, NodeId, RegionId, Routing, Selectable, Share, TrafficPolicy, Viewpoint, ZoneId,
};

use crate::{Demand, NodeHintRule, Settings, select::select_cluster};

/// Clients: each zone's traffic, and each node's part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clients<'a> {
    pub zones: &'a [ZoneId],
    /// Gigabytes of each zone.
    pub gb: &'a [f64],
    /// By index of the node: its zone, as an index into `zones`, and its part of that traffic.
    pub nodes: &'a [Option<(usize, f64)>],
    /// What consumers go by.
    pub routing: Routing<'a>,
    /// Knows which zone is in which region.
    pub regions: &'a Demand,
}

/// Where traffic went.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    /// Gigabytes for each endpoint.
    pub load: Vec<f64>,
    pub in_zone_gb: f64,
    pub cross_zone_gb: f64,
    /// From or to places without a zone.
    pub unknown_gb: f64,
    /// Where both regions are known.
    pub in_region_gb: f64,
    pub cross_region_gb: f64,
    /// Traffic that finds no endpoint.
    pub unserved_gb: f64,
    /// Traffic by the zones of clients and of endpoints (`None`: it finds none), if it is wanted.
    pub between: Option<Between>,
}

pub(super) type Between = BTreeMap<(ZoneId, Option<ZoneId>), f64>;

/// `between`: empty, if it is to be filled.
pub(super) fn spread(
    clients: Clients<'_>,
    endpoints: &[Endpoint],
    internal: TrafficPolicy,
    settings: &Settings,
    between: Option<Between>,
) -> Spread {
    let mut spread = Spread {
        load: vec![0.0; endpoints.len()],
        in_zone_gb: 0.0,
        cross_zone_gb: 0.0,
        unknown_gb: 0.0,
        in_region_gb: 0.0,
        cross_region_gb: 0.0,
        unserved_gb: 0.0,
        between,
    };
    let mut left = clients.gb.to_vec();
    let own = own_endpoints(endpoints, internal, settings);
    for of_node in own.chunk_by(|a, b| a.0 == b.0) {
        let Some(&Some((zone, part))) = clients.nodes.get(of_node[0].0.index()) else {
            continue;
        };
        if internal != TrafficPolicy::Local && !goes_by_hints(clients.routing, clients.zones[zone])
        {
            continue;
        }
        let gb = clients.gb[zone] * part;
        left[zone] -= gb;
        let shares: Vec<Share> =
            of_node.iter().map(|&(_, endpoint)| Share { endpoint, weight: 1 }).collect();
        spread.send(gb, clients.zones[zone], &shares, endpoints, clients.regions);
    }
    for ((&zone, gb), all) in clients.zones.iter().zip(left).zip(clients.gb) {
        // Rounding may leave a trace when all nodes of the zone have endpoints of their own.
        if gb <= all * 1e-9 {
            continue;
        }
        if internal == TrafficPolicy::Local {
            spread.refuse(gb, zone);
            continue;
        }
        let from = Viewpoint { node: None, zone: Some(zone) };
        let selection = select_cluster(from, endpoints, clients.routing, settings);
        spread.send(gb, zone, &selection.shares, endpoints, clients.regions);
    }
    spread
}

/// Whether hints decide for clients of this zone. Where a table has a row for it, that does.
fn goes_by_hints(routing: Routing<'_>, zone: ZoneId) -> bool {
    match routing {
        Routing::IgnoreHints | Routing::SameZoneOnly => false,
        Routing::Hints | Routing::SharesUnusable(_) => true,
        Routing::Shares(table) => table.row(zone).is_none(),
    }
}

/// The endpoints that clients on a node use for themselves alone, sorted by node.
fn own_endpoints(
    endpoints: &[Endpoint],
    internal: TrafficPolicy,
    settings: &Settings,
) -> Vec<(NodeId, u32)> {
    let ready = || (0u32..).zip(endpoints).filter(|(_, e)| e.ready());
    let mut own: Vec<(NodeId, u32)> = if internal == TrafficPolicy::Local {
        ready().filter_map(|(index, e)| Some((e.node?, index))).collect()
    } else {
        let all_hinted = || ready().all(|(_, e)| e.has_node_hint());
        let rule_holds = settings.node_hint_rule == NodeHintRule::AnyForThisNode || all_hinted();
        if !settings.gates.prefer_same_traffic_distribution || !rule_holds {
            return Vec::new();
        }
        let hinted = ready().flat_map(|(index, e)| e.node_hints().iter().map(move |&n| (n, index)));
        hinted.collect()
    };
    own.sort_unstable();
    own.dedup();
    own
}

impl Spread {
    fn send(
        &mut self,
        gb: f64,
        from: ZoneId,
        shares: &[Share],
        all: &[Endpoint],
        regions: &Demand,
    ) {
        let weights: f64 = shares.iter().map(|share| f64::from(share.weight)).sum();
        if weights == 0.0 {
            self.refuse(gb, from);
            return;
        }
        for share in shares {
            let part = gb * f64::from(share.weight) / weights;
            let endpoint = share.endpoint as usize;
            self.load[endpoint] += part;
            let to = all[endpoint].zone.unwrap_or(ZoneId::EMPTY);
            self.count(part, from, to, regions);
        }
    }

    fn refuse(&mut self, gb: f64, from: ZoneId) {
        self.unserved_gb += gb;
        if let Some(between) = &mut self.between {
            *between.entry((from, None)).or_default() += gb;
        }
    }

    fn count(&mut self, gb: f64, from: ZoneId, to: ZoneId, regions: &Demand) {
        if let Some(between) = &mut self.between {
            *between.entry((from, Some(to))).or_default() += gb;
        }
        if from == ZoneId::EMPTY || to == ZoneId::EMPTY {
            self.unknown_gb += gb;
            return;
        }
        *if from == to { &mut self.in_zone_gb } else { &mut self.cross_zone_gb } += gb;
        let (here, there) = (regions.region_of(from), regions.region_of(to));
        if here != RegionId::EMPTY && there != RegionId::EMPTY {
            *if here == there { &mut self.in_region_gb } else { &mut self.cross_region_gb } += gb;
        }
    }

    pub(super) fn served_gb(&self) -> f64 {
        self.in_zone_gb + self.cross_zone_gb + self.unknown_gb
    }

    /// The most loaded endpoint and its load over `fair`, if there is traffic.
    pub(super) fn worst(&self, fair: f64) -> Option<(usize, f64)> {
        let heavier = |best: usize, i: usize| {
            if self.load[i] > self.load[best] { i } else { best }
        };
        let loaded = fair > 0.0 && self.served_gb() > 0.0;
        let worst = (0..self.load.len()).reduce(heavier).filter(|_| loaded)?;
        Some((worst, self.load[worst] / fair))
    }
}
