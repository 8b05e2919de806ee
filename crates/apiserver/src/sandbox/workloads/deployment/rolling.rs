//! The next sizes of ReplicaSets in a rolling update.
//!
//! The new set grows up to the maximum; only when it cannot, the old ones shrink: first by their
//! unavailable Pods, so that these don't block progress, then by the available ones beyond the
//! minimum. Source: `k8s.io/kubernetes/pkg/controller/deployment/rolling.go`.
//!
//! Two rules are stricter than there, so that the limits hold while a ReplicaSet has not yet caught
//! up: Pods beyond the size of their set still count towards the maximum, and don't count towards
//! the minimum. Linear in the number of sets.

use super::limits::Limits;

/// The counts of one ReplicaSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// From its spec.
    pub(super) size: i64,
    /// From its status.
    pub(super) replicas: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) terminating: i64,
}

/// The next sizes; the old ones in the given order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) new: i64,
    pub(super) old: Vec<i64>,
}

impl Count {
    /// Those that remain when the set has its size.
    fn lasting(&self) -> i64 {
        self.available.min(self.size)
    }

    fn present(&self) -> i64 {
        self.size.max(self.replicas)
    }
}

/// `old`: oldest first.
pub(super) fn next(limits: Limits, new: Count, old: &[Count]) -> Sizes {
    let grown = new_size(limits, new, old);
    if grown != new.size {
        return Sizes { new: grown, old: old.iter().map(|count| count.size).collect() };
    }
    Sizes { new: new.size, old: old_sizes(limits, new, old) }
}

/// The allowed size of the new set.
pub(super) fn new_size(limits: Limits, new: Count, old: &[Count]) -> i64 {
    if new.size >= limits.replicas {
        return limits.replicas;
    }
    let present: i64 = old.iter().chain([&new]).map(Count::present).sum();
    let room = (limits.most() - present).max(0);
    new.size + room.min(limits.replicas - new.size)
}

fn old_sizes(limits: Limits, new: Count, old: &[Count]) -> Vec<i64> {
    let mut sizes: Vec<i64> = old.iter().map(|count| count.size).collect();
    let wanted: i64 = sizes.iter().sum::<i64>() + new.size;
    let missing = new.size - new.lasting();
    let spare = wanted - limits.least() - missing;
    if spare <= 0 {
        return sizes;
    }
    let unhealthy = |index: usize, size: i64| size - old[index].lasting();
    shrink(&mut sizes, spare, unhealthy);
    let available: i64 = old.iter().chain([&new]).map(Count::lasting).sum();
    shrink(&mut sizes, available - limits.least(), |_, size| size);
    sizes
}

/// Removes `left` in total, starting with the first, from each at most what `most` returns.
fn shrink(sizes: &mut [i64], mut left: i64, most: impl Fn(usize, i64) -> i64) {
    for (index, size) in sizes.iter_mut().enumerate() {
        let taken = left.min(most(index, *size)).max(0);
        *size -= taken;
        left -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(size: i64, available: i64) -> Count {
        Count { size, replicas: size, ready: available, available, terminating: 0 }
    }

    /// 10 replicas, at most 3 more, at most 2 fewer.
    const LIMITS: Limits = Limits { replicas: 10, surge: 3, unavailable: 2 };

    fn check(new: Count, old: &[Count], expected: (i64, &[i64])) {
        let sizes = next(LIMITS, new, old);
        assert_eq!((sizes.new, &sizes.old[..]), expected, "{new:?} {old:?}");
    }

    #[test]
    fn the_new_set_grows_before_the_old_ones_shrink() {
        check(count(0, 0), &[count(10, 10)], (3, &[10]));
        check(count(3, 0), &[count(10, 10)], (3, &[8]));
        check(count(3, 0), &[count(8, 8)], (5, &[8]));
        check(count(5, 0), &[count(8, 8)], (5, &[8]));
        check(count(5, 2), &[count(8, 8)], (5, &[6]));
        check(count(10, 10), &[count(1, 1)], (10, &[0]));
        check(count(12, 10), &[], (10, &[]));
        check(count(10, 10), &[count(0, 0)], (10, &[0]));
    }

    #[test]
    fn what_is_not_available_goes_first_and_blocks_nothing() {
        // Two old sets, the older with Pods that never became ready.
        check(count(5, 5), &[count(3, 0), count(5, 5)], (5, &[0, 3]));
        // A rollover: the set in the middle never became ready.
        check(count(0, 0), &[count(8, 8), count(5, 0)], (0, &[8, 0]));
        // A rollback: the set that never became ready is an old one now.
        check(count(8, 7), &[count(5, 0)], (8, &[1]));
    }

    #[test]
    fn surplus_pods_count_towards_the_maximum_but_not_the_minimum() {
        let shrinking = Count { size: 8, replicas: 10, ready: 10, available: 10, terminating: 0 };
        check(count(3, 0), &[shrinking], (3, &[8]));
        check(count(5, 1), &[shrinking], (5, &[7]));
    }
}
