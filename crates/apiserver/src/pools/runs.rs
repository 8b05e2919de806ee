//! A set of numbers, stored as runs of neighbours: the first free number after a position is found
//! in O(log n) however full the range is, and a range of 2^64 numbers costs nothing while it is
//! empty.

use std::collections::BTreeMap;

/// First to last number of each run. Runs neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// The last number of the run that contains this one.
    fn end(&self, number: u64) -> Option<u64> {
        let (_, &last) = self.0.range(..=number).next_back()?;
        (last >= number).then_some(last)
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.end(number).is_some()
    }

    /// `false`: it was present already.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let before = self.0.range(..number).next_back().map(|(&first, &last)| (first, last));
        let first = match before {
            Some((first, last)) if last + 1 == number => first,
            _ => number,
        };
        let after = number.checked_add(1).and_then(|next| self.0.remove(&next));
        self.0.insert(first, after.unwrap_or(number));
        true
    }

    pub(super) fn remove(&mut self, number: u64) {
        let Some(last) = self.end(number) else { return };
        let (&first, _) = self.0.range(..=number).next_back().expect("a run ends behind it");
        self.0.remove(&first);
        if first < number {
            self.0.insert(first, number - 1);
        }
        if number < last {
            self.0.insert(number + 1, last);
        }
    }

    /// All of them, in order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// All numbers up to this one.
    #[cfg(test)]
    pub(super) fn full(last: u64) -> Runs {
        Runs(BTreeMap::from([(0, last)]))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| (last - first + 1) as usize).sum()
    }

    /// The first number from `from` to `last`, inclusive, that is not in the set.
    pub(super) fn first_free(&self, from: u64, last: u64) -> Option<u64> {
        let free = match self.end(from) {
            None => from,
            Some(end) => end.checked_add(1)?,
        };
        (free <= last).then_some(free)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..40), 0..200)) {
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for (insert, number) in steps {
                if insert {
                    prop_assert_eq!(runs.insert(number), set.insert(number));
                } else {
                    runs.remove(number);
                    set.remove(&number);
                }
                for from in 0..40 {
                    prop_assert_eq!(runs.contains(from), set.contains(&from));
                    let free = (from..=39).find(|n| !set.contains(n));
                    prop_assert_eq!(runs.first_free(from, 39), free);
                }
                prop_assert_eq!(runs.len(), set.len());
                prop_assert!(runs.numbers().eq(set.iter().copied()));
                let ends: Vec<_> = runs.0.iter().collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].1 + 1 < *pair[1].0));
            }
        }
    }

    #[test]
    fn the_largest_number_has_no_next() {
        let mut runs = Runs::default();
        assert!(runs.insert(u64::MAX));
        assert!(runs.insert(u64::MAX - 1));
        assert_eq!(runs.first_free(u64::MAX - 1, u64::MAX), None);
        runs.remove(u64::MAX);
        assert_eq!(runs.first_free(u64::MAX - 1, u64::MAX), Some(u64::MAX));
    }
}
