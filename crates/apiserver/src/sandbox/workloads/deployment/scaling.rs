//! Sizes of ReplicaSets after the Deployment was scaled, or while it is paused.
//!
//! A single set takes the whole size. During a rollout every set gets a share of the difference in
//! proportion to its size, the largest first and the remainder to the largest, so that scaling does
//! not speed up the rollout. Source: `k8s.io/kubernetes/pkg/controller/deployment/sync.go`,
//! `scale`. Linear except for sorting.

use super::limits::Limits;

/// A ReplicaSet as seen by scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    pub(super) size: i64,
    /// The Deployment's maximum when the set was last scaled, from its annotation.
    pub(super) most_before: Option<i64>,
    /// It has the current template, the Deployment's full size, and all its Pods are available.
    pub(super) is_saturated_new: bool,
}

/// The next sizes in the order of `sets`, which is oldest first. `new`: the set with the current
/// template. `replicas_before`: from the Deployment's status.
pub(super) fn sizes(
    limits: Limits,
    sets: &[Scaled],
    new: Option<usize>,
    replicas_before: i64,
    is_recreate: bool,
) -> Vec<i64> {
    let mut sizes: Vec<i64> = sets.iter().map(|set| set.size).collect();
    let active: Vec<usize> = (0..sets.len()).filter(|index| sets[*index].size > 0).collect();
    match active[..] {
        [] => {
            if let Some(newest) = new.or_else(|| sets.len().checked_sub(1)) {
                sizes[newest] = limits.replicas;
            }
        }
        [only] => sizes[only] = limits.replicas,
        _ if new.is_some_and(|new| sets[new].is_saturated_new) => {
            for index in active.into_iter().filter(|index| Some(*index) != new) {
                sizes[index] = 0;
            }
        }
        _ if is_recreate => {}
        _ => share_out(limits, sets, active, replicas_before, &mut sizes),
    }
    sizes
}

fn share_out(
    limits: Limits,
    sets: &[Scaled],
    mut active: Vec<usize>,
    replicas_before: i64,
    sizes: &mut [i64],
) {
    let allowed = if limits.replicas > 0 { limits.most() } else { 0 };
    let to_add = allowed - active.iter().map(|index| sets[*index].size).sum::<i64>();
    // Of two with the same size the newer grows first, the older shrinks first.
    active.sort_by_key(|index| {
        let age = i64::try_from(*index).unwrap_or(i64::MAX);
        (-sets[*index].size, if to_add > 0 { -age } else { age })
    });
    let mut left = to_add;
    for index in &active {
        let share = match share(limits, sets[*index], replicas_before) {
            _ if left == 0 => break,
            share if to_add > 0 => share.min(left),
            share => share.max(left),
        };
        sizes[*index] += share;
        left -= share;
    }
    if let Some(largest) = active.first() {
        sizes[*largest] = (sizes[*largest] + left).max(0);
    }
}

/// The change of a set that keeps its share of the total.
fn share(limits: Limits, set: Scaled, replicas_before: i64) -> i64 {
    if limits.replicas == 0 {
        return -set.size;
    }
    let before = set.most_before.filter(|most| *most > 0).unwrap_or(replicas_before);
    if before <= 0 {
        return 0;
    }
    // Half is rounded up.
    let next = (2 * set.size * limits.most() + before) / (2 * before);
    next - set.size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: i64, after: Limits, old: &[i64], new: i64, expected: &[i64]) {
        let scaled =
            |size: &i64| Scaled { size: *size, most_before: Some(before), is_saturated_new: false };
        let sets: Vec<Scaled> = old.iter().chain([&new]).map(scaled).collect();
        let new = Some(sets.len() - 1);
        assert_eq!(sizes(after, &sets, new, 0, false), expected, "{sets:?} {after:?}");
    }

    fn limits(replicas: i64, surge: i64) -> Limits {
        Limits { replicas, surge, unavailable: 0 }
    }

    #[test]
    fn sets_are_scaled_in_proportion() {
        // The cases of Kubernetes' own table for `scale`.
        check(10, limits(12, 0), &[], 10, &[12]);
        check(10, limits(5, 0), &[], 10, &[5]);
        check(5, limits(10, 0), &[3], 2, &[6, 4]);
        check(5, limits(3, 0), &[3], 2, &[2, 1]);
        check(9, limits(4, 0), &[1], 8, &[0, 4]);
        check(7, limits(10, 0), &[2, 3], 2, &[3, 4, 3]);
        check(13, limits(8, 0), &[3, 8], 2, &[2, 5, 1]);
        check(3, limits(4, 0), &[1, 1], 1, &[1, 1, 2]);
        check(3, limits(2, 0), &[1, 1], 1, &[0, 1, 1]);
        check(4, limits(5, 0), &[2], 2, &[2, 3]);
        check(6, limits(0, 0), &[1, 2], 3, &[0, 0, 0]);
        check(12, limits(20, 2), &[6], 6, &[11, 11]);
        check(13, limits(50, 6), &[8], 5, &[34, 22]);
        check(10, limits(14, 0), &[3], 7, &[4, 10]);
    }

    #[test]
    fn the_newest_set_is_scaled_when_none_is_active() {
        let idle = Scaled { size: 0, most_before: Some(0), is_saturated_new: false };
        assert_eq!(sizes(limits(3, 0), &[idle, idle], Some(0), 0, false), [3, 0]);
        assert_eq!(sizes(limits(3, 0), &[idle, idle], None, 0, false), [0, 3]);
        assert!(sizes(limits(3, 0), &[], None, 0, false).is_empty());
    }

    #[test]
    fn old_sets_shrink_to_zero_when_the_new_one_is_saturated() {
        let old = Scaled { size: 2, most_before: None, is_saturated_new: false };
        let new = Scaled { size: 5, most_before: None, is_saturated_new: true };
        assert_eq!(sizes(limits(5, 0), &[old, new], Some(1), 7, false), [0, 5]);
    }

    #[test]
    fn without_the_annotation_the_present_number_is_the_measure() {
        let set = |size| Scaled { size, most_before: None, is_saturated_new: false };
        assert_eq!(sizes(limits(20, 0), &[set(4), set(6)], Some(1), 10, false), [8, 12]);
        assert_eq!(sizes(limits(20, 0), &[set(4), set(6)], Some(1), 0, false), [4, 16]);
    }

    #[test]
    fn recreate_does_not_share_out() {
        let set = |size| Scaled { size, most_before: Some(5), is_saturated_new: false };
        assert_eq!(sizes(limits(9, 0), &[set(2), set(3)], Some(1), 5, true), [2, 3]);
    }
}
