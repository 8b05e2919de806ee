//! The least traffic out of zones, then out of regions: a minimum-cost flow in whole numbers.
//!
//! Successive shortest paths (Bellman-Ford) from client zones to zones with endpoints. Demand is
//! scaled by the number of endpoints and capacity by the sum of the cores, so that both are whole.

use crate::generate::Case;

/// More than any flow: one unit less out of its zone outweighs all that leaves its region.
const OUT_OF_ZONE: i64 = 1 << 32;

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    left: i64,
    cost: i64,
}

/// The parts of all traffic that leave their zone and their region.
pub(crate) fn least_leaving(case: &Case) -> (f64, f64) {
    let cores = case.cores();
    let scale = i64::from(case.n()) * 10;
    let sum: u64 = cores.iter().sum();
    let takes = |endpoints: u32| i64::from(endpoints) * sum as i64 * i64::from(10 + case.tenths);
    // Region 0 is that of all zones without a region, and of endpoints whose zone is not known.
    let known = case.zones.iter().map(|zone| (zone.region, zone.endpoints));
    let sinks: Vec<(u8, u32)> = known.chain([(0, case.unzoned), (0, case.orphans)]).collect();
    let (source, target) = (0, 1 + case.zones.len() + sinks.len());
    let mut edges = Vec::new();
    let mut add = |from, to, left, cost| {
        edges.push(Edge { from, to, left, cost });
        edges.push(Edge { from: to, to: from, left: 0, cost: -cost });
    };
    for (i, zone) in case.zones.iter().enumerate() {
        add(source, 1 + i, cores[i] as i64 * scale, 0);
        for (j, (region, _)) in sinks.iter().enumerate() {
            let cost = match (i == j, zone.region == *region) {
                (true, _) => 0,
                (false, true) => OUT_OF_ZONE,
                (false, false) => OUT_OF_ZONE + 1,
            };
            add(1 + i, 1 + case.zones.len() + j, i64::MAX / 4, cost);
        }
    }
    for (j, (_, endpoints)) in sinks.iter().enumerate() {
        add(1 + case.zones.len() + j, target, takes(*endpoints), 0);
    }
    let total = sum as i64 * scale;
    let cost = least_cost(&mut edges, source, target, total);
    let part = |units: i128| units as f64 / total as f64;
    let unit = i128::from(OUT_OF_ZONE);
    (part(cost / unit), part(cost % unit))
}

fn least_cost(edges: &mut [Edge], source: usize, target: usize, total: i64) -> i128 {
    let (mut sent, mut cost) = (0, 0i128);
    while sent < total {
        let (dist, via) = shortest(edges, source, target);
        let mut amount = total - sent;
        let mut at = target;
        while at != source {
            amount = amount.min(edges[via[at]].left);
            at = edges[via[at]].from;
        }
        at = target;
        while at != source {
            edges[via[at]].left -= amount;
            edges[via[at] ^ 1].left += amount;
            at = edges[via[at]].from;
        }
        sent += amount;
        cost += i128::from(dist[target]) * i128::from(amount);
    }
    cost
}

/// Distances from the source, and the edge by which each vertex is reached.
fn shortest(edges: &[Edge], source: usize, target: usize) -> (Vec<i64>, Vec<usize>) {
    let mut dist = vec![i64::MAX; target + 1];
    let mut via = vec![usize::MAX; target + 1];
    dist[source] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (idx, edge) in edges.iter().enumerate() {
            let reached = edge.left > 0 && dist[edge.from] < i64::MAX;
            if reached && dist[edge.from] + edge.cost < dist[edge.to] {
                dist[edge.to] = dist[edge.from] + edge.cost;
                via[edge.to] = idx;
                changed = true;
            }
        }
    }
    assert!(dist[target] < i64::MAX, "capacity is never less than demand");
    (dist, via)
}
