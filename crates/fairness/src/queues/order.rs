//! The order of dispatch: the queues with waiting requests, by the virtual finish of their heads.
//!
//! The reference scans all queues once around, starting behind the one served last, and takes the
//! first with the least virtual finish. An ordered set of (virtual finish, queue) gives the same in
//! O(log queues): the least finish is at the front, and of those that share it the first at or
//! behind the start is one more look into the set.

use std::collections::BTreeSet;

use super::work::Work;

#[derive(Debug, Default)]
pub(super) struct Order {
    heads: BTreeSet<(Work, u32)>,
}

impl Order {
    /// The next queue, if any, with the virtual finish of its head; a lap begins at `start`.
    pub(super) fn next(&self, start: u32) -> Option<(Work, u32)> {
        let &(finish, first) = self.heads.first()?;
        if first >= start {
            return Some((finish, first));
        }
        let behind = self.heads.range((finish, start)..=(finish, u32::MAX)).next();
        Some(behind.copied().unwrap_or((finish, first)))
    }

    /// The head of a queue has changed, or its virtual finish has.
    pub(super) fn change(&mut self, queue: u32, from: Option<Work>, to: Option<Work>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.heads.remove(&(from, queue));
        }
        if let Some(to) = to {
            self.heads.insert((to, queue));
        }
    }

    /// Rebuilds the order: queues were renumbered, or R was reset.
    pub(super) fn rebuild(&mut self, heads: impl Iterator<Item = (Work, u32)>) {
        self.heads = heads.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the reference does it.
    fn scan(heads: &[Option<Work>], start: u32) -> Option<u32> {
        let n = heads.len() as u32;
        let lap = (0..n).map(|i| (start + i) % n);
        let waiting = lap.filter_map(|queue| Some((heads[queue as usize]?, queue)));
        waiting.min_by_key(|(finish, _)| *finish).map(|(_, queue)| queue)
    }

    #[test]
    fn the_set_chooses_as_a_scan_does() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let mut heads = vec![None; 1 + random(9) as usize];
            let mut order = Order::default();
            for _ in 0..40 {
                let queue = random(heads.len() as u64) as usize;
                let to = (random(4) > 0).then_some(Work(random(3)));
                order.change(queue as u32, heads[queue], to);
                heads[queue] = to;
                for start in 0..heads.len() as u32 {
                    let next = order.next(start).map(|(_, queue)| queue);
                    assert_eq!(next, scan(&heads, start), "{heads:?} from {start}");
                }
            }
        }
    }
}
