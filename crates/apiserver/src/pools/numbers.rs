//! Numbers with reference counts.
//!
//! A number is free if nothing holds it. It is held by each stored Service that has it (two, if a
//! data folder was created that way) and by each write in progress that took it; so no order of
//! commits, failures and cancellations frees a number that is in use.

use rustc_hash::FxHashMap;

use super::runs::Runs;

/// A random number below the given one.
pub(super) type Random<'a> = &'a mut dyn FnMut(u64) -> u64;

/// Numbers from 0 to `last`.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Numbers with a holder.
    used: Runs,
    /// Holders beyond the first.
    more: FxHashMap<u64, u32>,
    /// The holders that are writes in progress.
    pending: FxHashMap<u64, u32>,
    /// The first number of the upper part.
    pub(super) upper: u64,
    /// `None`: the range is empty.
    pub(super) last: Option<u64>,
}

/// Why a requested number is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Outside,
    Taken,
}

impl Numbers {
    pub(super) fn new(upper: u64, last: Option<u64>) -> Numbers {
        let (more, pending) = (FxHashMap::default(), FxHashMap::default());
        Numbers { used: Runs::default(), more, pending, upper, last }
    }

    /// For a write in progress.
    pub(super) fn take(&mut self, number: u64) -> Result<(), Refused> {
        if !self.is_inside(number) {
            return Err(Refused::Outside);
        }
        if !self.used.insert(number) {
            return Err(Refused::Taken);
        }
        *self.pending.entry(number).or_default() += 1;
        Ok(())
    }

    /// Any number, for a write in progress.
    pub(super) fn take_any(&mut self, random: Random<'_>) -> Option<u64> {
        let last = self.last?;
        let mut found = None;
        if self.upper <= last {
            found = self.free_from_random(self.upper, last, random);
        }
        if found.is_none() && self.upper > 0 {
            found = self.free_from_random(0, last.min(self.upper - 1), random);
        }
        let number = found?;
        self.take(number).ok()?;
        Some(number)
    }

    /// The write that took it is decided.
    pub(super) fn give_back(&mut self, number: u64) {
        decrease(&mut self.pending, number);
        self.let_go(number);
    }

    /// One more Service has it. Numbers outside the range are ignored.
    pub(super) fn hold(&mut self, number: u64) {
        if self.is_inside(number) && !self.used.insert(number) {
            *self.more.entry(number).or_default() += 1;
        }
    }

    /// One Service fewer has it.
    pub(super) fn let_go(&mut self, number: u64) {
        if !decrease(&mut self.more, number) {
            self.used.remove(number);
        }
    }

    pub(super) fn is_taken(&self, number: u64) -> bool {
        self.used.contains(number)
    }

    pub(super) fn is_inside(&self, number: u64) -> bool {
        self.last.is_some_and(|last| number <= last)
    }

    /// The recorded number of Services that have it.
    pub(super) fn holders(&self, number: u64) -> u32 {
        let more = self.more.get(&number).copied().unwrap_or_default();
        let all = u32::from(self.is_taken(number)) + more;
        all.saturating_sub(self.pending.get(&number).copied().unwrap_or_default())
    }

    /// All numbers held by Services.
    pub(super) fn held(&self) -> impl Iterator<Item = (u64, u32)> {
        let all = self.used.numbers().map(|number| (number, self.holders(number)));
        all.filter(|(_, holders)| *holders > 0)
    }

    #[cfg(test)]
    pub(super) fn fill(&mut self) {
        self.used = Runs::full(self.last.unwrap());
    }

    #[cfg(test)]
    pub(super) fn n_pending(&self) -> usize {
        self.pending.len()
    }

    #[cfg(test)]
    pub(super) fn n_taken(&self) -> usize {
        self.used.len()
    }

    fn free_from_random(&self, first: u64, last: u64, random: Random<'_>) -> Option<u64> {
        let start = first.saturating_add(random((last - first).saturating_add(1))).min(last);
        self.used.first_free(start, last).or_else(|| self.used.first_free(first, start))
    }
}

/// `false`: there was none.
fn decrease(counts: &mut FxHashMap<u64, u32>, number: u64) -> bool {
    let Some(count) = counts.get_mut(&number) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&number);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Services and writes come and go in any order.
        #[test]
        fn a_number_without_holders_is_free(
            steps in prop::collection::vec((0..4u8, 0..6u64), 0..80)
        ) {
            let mut numbers = Numbers::new(0, Some(4));
            let mut services: BTreeMap<u64, u32> = BTreeMap::new();
            let mut writes: BTreeMap<u64, u32> = BTreeMap::new();
            for (step, number) in steps {
                let service = services.entry(number).or_default();
                let write = writes.entry(number).or_default();
                match step {
                    0 if numbers.take(number).is_ok() => *write += 1,
                    1 if *write > 0 => {
                        numbers.give_back(number);
                        *write -= 1;
                    }
                    2 if number <= 4 => {
                        numbers.hold(number);
                        *service += 1;
                    }
                    3 if *service > 0 => {
                        numbers.let_go(number);
                        *service -= 1;
                    }
                    _ => {}
                }
                for number in 0..6 {
                    let services = services.get(&number).copied().unwrap_or_default();
                    let writes = writes.get(&number).copied().unwrap_or_default();
                    prop_assert_eq!(numbers.is_taken(number), services + writes > 0);
                    prop_assert_eq!(numbers.holders(number), services);
                }
                let held: BTreeMap<u64, u32> = numbers.held().collect();
                services.retain(|_, n| *n > 0);
                prop_assert_eq!(held, services.clone());
            }
        }
    }
}
