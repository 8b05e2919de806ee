//! The greatest flow through a small network: shortest augmenting paths (Edmonds and Karp 1972).
//!
//! O(nodes · edges²) whatever the capacities are. Nodes stand for zones, so there are few.

use std::collections::VecDeque;

/// Capacities from each node to each other.
#[derive(Clone, Debug)]
pub(super) struct Network {
    n_nodes: usize,
    left: Vec<u32>,
}

impl Network {
    pub(super) fn new(n_nodes: usize) -> Self {
        Network { n_nodes, left: vec![0; n_nodes * n_nodes] }
    }

    pub(super) fn set(&mut self, from: usize, to: usize, capacity: u32) {
        self.left[from * self.n_nodes + to] = capacity;
    }

    /// The capacity that is left. From the end of an edge to its start: what flows through it.
    pub(super) fn left(&self, from: usize, to: usize) -> u32 {
        self.left[from * self.n_nodes + to]
    }

    /// Sends as much as possible from `source` to `sink`.
    pub(super) fn saturate(&mut self, source: usize, sink: usize) {
        while let Some(before) = self.shortest_path(source, sink) {
            let path: Vec<(usize, usize)> =
                std::iter::successors(Some(sink), |&node| before[node].filter(|_| node != source))
                    .collect::<Vec<_>>()
                    .windows(2)
                    .map(|pair| (pair[1], pair[0]))
                    .collect();
            let by = path.iter().map(|&(from, to)| self.left(from, to)).min().unwrap_or(0);
            for (from, to) in path {
                self.left[from * self.n_nodes + to] -= by;
                self.left[to * self.n_nodes + from] += by;
            }
        }
    }

    /// The node before each on the way from `source`, if `sink` can be reached.
    fn shortest_path(&self, source: usize, sink: usize) -> Option<Vec<Option<usize>>> {
        let mut before = vec![None; self.n_nodes];
        before[source] = Some(source);
        let mut queue = VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for (next, before) in before.iter_mut().enumerate() {
                if before.is_none() && self.left(node, next) > 0 {
                    *before = Some(node);
                    queue.push_back(next);
                }
            }
        }
        before[sink].is_some().then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The first shortest path takes the edge in the middle; the second has to give it back.
    #[test]
    fn a_path_taken_too_early_is_given_back() {
        let mut network = Network::new(6);
        for (from, to) in [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (3, 5), (4, 5)] {
            network.set(from, to, 1);
        }
        network.saturate(0, 5);
        assert_eq!(network.left(3, 1), 0);
        assert_eq!((network.left(4, 1), network.left(3, 2)), (1, 1));
        assert_eq!(network.left(5, 3) + network.left(5, 4), 2);
    }
}
