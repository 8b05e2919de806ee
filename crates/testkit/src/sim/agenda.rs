//! Virtual time, and events in chronological order.

use std::{collections::BTreeMap, time::Duration};

#[derive(Clone, Debug)]
pub struct Agenda<E> {
    now: Duration,
    sequence: u64,
    events: BTreeMap<(Duration, u64), E>,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Agenda { now: Duration::ZERO, sequence: 0, events: BTreeMap::new() }
    }
}

impl<E> Agenda<E> {
    pub fn now(&self) -> Duration {
        self.now
    }

    pub fn after(&mut self, delay: Duration, event: E) {
        self.at(self.now + delay, event);
    }

    /// At `moment`, or now if that is past. Events of one moment keep their order.
    pub fn at(&mut self, moment: Duration, event: E) {
        self.sequence += 1;
        self.events.insert((moment.max(self.now), self.sequence), event);
    }

    /// Advances to the next event, unless that is later than `end`.
    pub fn next_until(&mut self, end: Duration) -> Option<E> {
        let entry = self.events.first_entry()?;
        let &(moment, _) = entry.key();
        if moment > end {
            return None;
        }
        self.now = moment;
        Some(entry.remove())
    }

    /// Advances the time to `moment`. Events before it are due now.
    pub fn pass(&mut self, moment: Duration) {
        self.now = self.now.max(moment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_moments() {
        let mut agenda = Agenda::default();
        let second = Duration::from_secs(1);
        for (delay, name) in [(2, "c"), (1, "a"), (1, "b"), (9, "late")] {
            agenda.after(second * delay, name);
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.next_until(second * 5)).collect();
        assert_eq!(order, ["a", "b", "c"]);
        assert_eq!(agenda.now(), second * 2);
        agenda.at(second, "past");
        assert_eq!(agenda.next_until(second * 5), Some("past"));
        assert_eq!(agenda.now(), second * 2);
    }
}
