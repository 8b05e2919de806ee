//! A delay queue. Each key is queued once, at the earliest requested time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::Part;

pub(super) type Id = (Part, Box<str>);

/// Delay after a conflict, unless a change comes earlier.
pub(super) const SOON: SignedDuration = SignedDuration::from_secs(1);
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(100);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Queue {
    times: BTreeMap<Id, Timestamp>,
    order: BTreeSet<(Timestamp, Id)>,
    /// Keys with actions in progress, and when they are due afterwards.
    busy: BTreeMap<Id, Option<Timestamp>>,
    /// Consecutive failures.
    failures: BTreeMap<Id, u32>,
}

impl Queue {
    pub(super) fn push(&mut self, id: Id, at: Timestamp) {
        if let Some(later) = self.busy.get_mut(&id) {
            *later = Some(later.map_or(at, |known| known.min(at)));
            return;
        }
        if let Some(known) = self.times.get(&id) {
            if *known <= at {
                return;
            }
            self.order.remove(&(*known, id.clone()));
        }
        self.times.insert(id.clone(), at);
        self.order.insert((at, id));
    }

    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Id> {
        if self.next_due()? > now {
            return None;
        }
        let (_, id) = self.order.pop_first()?;
        self.times.remove(&id);
        Some(id)
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }

    /// The key is not handed out until `end`.
    pub(super) fn begin(&mut self, id: &Id) {
        let at = self.times.remove(id);
        if let Some(at) = at {
            self.order.remove(&(at, id.clone()));
        }
        self.busy.insert(id.clone(), at);
    }

    pub(super) fn end(&mut self, id: Id, again: Option<Timestamp>) {
        self.failures.remove(&id);
        self.release(id, again);
    }

    /// Retried after a backoff that doubles each time; changes in the meantime do not shorten it.
    pub(super) fn failed(&mut self, id: Id, now: Timestamp) {
        let failures = self.failures.entry(id.clone()).or_default();
        *failures = failures.saturating_add(1);
        let doubled = FIRST_PAUSE.saturating_mul(1_i32 << (*failures - 1).min(10));
        self.busy.remove(&id);
        self.push(id, now + doubled.min(LONGEST_PAUSE));
    }

    fn release(&mut self, id: Id, again: Option<Timestamp>) {
        let later = self.busy.remove(&id).flatten();
        if let Some(at) = [later, again].into_iter().flatten().min() {
            self.push(id, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    fn pod(key: &str) -> Id {
        (Part::Kubelet, key.into())
    }

    #[test]
    fn a_key_is_queued_once_at_its_earliest_time() {
        let mut queue = Queue::default();
        queue.push(pod("a"), at(30));
        queue.push(pod("b"), at(20));
        queue.push(pod("a"), at(10));
        queue.push(pod("a"), at(40));
        assert_eq!(queue.next_due(), Some(at(10)));
        assert_eq!(queue.pop(at(9)), None);
        assert_eq!(queue.pop(at(100)), Some(pod("a")));
        assert_eq!(queue.pop(at(100)), Some(pod("b")));
        assert_eq!(queue.pop(at(100)), None);
    }

    #[test]
    fn a_key_under_way_waits_for_its_end() {
        let mut queue = Queue::default();
        queue.push(pod("a"), at(10));
        let id = queue.pop(at(10)).unwrap();
        // The step itself asked to be examined again before its actions began.
        queue.push(id.clone(), at(500));
        queue.begin(&id);
        queue.push(pod("a"), at(11));
        assert_eq!(queue.pop(at(1000)), None);
        queue.end(id, None);
        assert_eq!(queue.next_due(), Some(at(11)));
    }

    #[test]
    fn failures_are_tried_again_ever_later_but_not_never() {
        let mut queue = Queue::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            queue.begin(&pod("a"));
            queue.failed(pod("a"), at(0));
            pauses.push(queue.next_due().unwrap().as_millisecond());
            queue.pop(at(1_000_000)).unwrap();
        }
        assert_eq!(pauses[..4], [100, 200, 400, 800]);
        assert_eq!(pauses[9..], [30_000, 30_000, 30_000]);
        queue.begin(&pod("a"));
        queue.end(pod("a"), None);
        queue.begin(&pod("a"));
        queue.failed(pod("a"), at(0));
        assert_eq!(queue.next_due(), Some(at(100)));
    }
}
