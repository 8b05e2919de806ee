//! A fair work queue: keys are taken round-robin from their sources, so that a busy source does not
//! delay the others.
//!
//! A key is queued once. While it is processed it is not handed out again; if it is added
//! meanwhile, it is queued again afterwards. A failed key has its own backoff, which doubles each
//! time. All operations are O(log n).

use std::{
    collections::{BTreeSet, VecDeque},
    hash::Hash,
    time::Duration,
};

use rustc_hash::FxHashMap;
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Queue<K> {
    states: FxHashMap<K, KeyState>,
    /// The sources with ready keys, in round-robin order.
    turns: VecDeque<Source>,
    due: FxHashMap<Source, VecDeque<K>>,
    later: BTreeSet<(Instant, K)>,
    /// Consecutive failures per key.
    failures: FxHashMap<K, u32>,
    n_processing: usize,
}

/// The origin of work.
pub(crate) type Source = Box<str>;

#[derive(Debug)]
enum KeyState {
    Ready,
    Delayed(Instant, Source),
    /// It is queued again at this time, if it was added meanwhile.
    Processing(Source, Option<Instant>),
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// Ready at `at`, or earlier if it already was, except after a failure.
    pub(crate) fn push(&mut self, source: Source, key: K, at: Instant, now: Instant) {
        match self.states.get_mut(&key) {
            None => self.put(source, key, at, now),
            Some(KeyState::Ready) => {}
            Some(KeyState::Delayed(known, _)) => {
                let known = *known;
                if known > at && !self.failures.contains_key(&key) {
                    self.later.remove(&(known, key.clone()));
                    self.put(source, key, at, now);
                }
            }
            Some(KeyState::Processing(_, again)) => {
                *again = Some(again.map_or(at, |known| known.min(at)));
            }
        }
    }

    /// The next key, which is processing from now on.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<K> {
        self.wake(now);
        let source = self.turns.pop_front()?;
        let keys = self.due.get_mut(&source)?;
        let key = keys.pop_front()?;
        if keys.is_empty() {
            self.due.remove(&source);
        } else {
            self.turns.push_back(source.clone());
        }
        self.states.insert(key.clone(), KeyState::Processing(source, None));
        self.n_processing += 1;
        Some(key)
    }

    /// The number of keys being processed.
    pub(crate) fn n_processing(&self) -> usize {
        self.n_processing
    }

    pub(crate) fn done(&mut self, key: &K, now: Instant) {
        self.failures.remove(key);
        if let Some((source, Some(at))) = self.release(key) {
            self.put(source, key.clone(), at, now);
        }
    }

    /// Returns the backoff before the retry.
    pub(crate) fn failed(&mut self, key: K, now: Instant) -> Duration {
        let Some((source, _)) = self.release(&key) else { return Duration::ZERO };
        let failures = self.failures.entry(key.clone()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(*failures)).min(LONGEST_PAUSE);
        *failures = failures.saturating_add(1);
        self.put(source, key, now + pause, now);
        pause
    }

    /// When the next key is ready; in the past: now.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        if !self.turns.is_empty() {
            return Some(now);
        }
        self.later.first().map(|(at, _)| *at)
    }

    fn release(&mut self, key: &K) -> Option<(Source, Option<Instant>)> {
        let Some(KeyState::Processing(source, again)) = self.states.remove(key) else {
            return None;
        };
        self.n_processing -= 1;
        Some((source, again))
    }

    fn put(&mut self, source: Source, key: K, at: Instant, now: Instant) {
        if at > now {
            self.later.insert((at, key.clone()));
            self.states.insert(key, KeyState::Delayed(at, source));
            return;
        }
        self.states.insert(key.clone(), KeyState::Ready);
        let keys = self.due.entry(source.clone()).or_default();
        if keys.is_empty() {
            self.turns.push_back(source);
        }
        keys.push_back(key);
    }

    /// Delayed keys become ready.
    fn wake(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            let Some((at, key)) = self.later.pop_first() else { return };
            if let Some(KeyState::Delayed(_, source)) = self.states.remove(&key) {
                self.put(source, key, at, now);
            }
        }
    }
}

impl<K> Default for Queue<K> {
    fn default() -> Queue<K> {
        Queue {
            states: FxHashMap::default(),
            turns: VecDeque::new(),
            due: FxHashMap::default(),
            later: BTreeSet::new(),
            failures: FxHashMap::default(),
            n_processing: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(
        queue: &mut Queue<u32>,
        source: &str,
        keys: impl IntoIterator<Item = u32>,
        at: Instant,
    ) {
        for key in keys {
            queue.push(source.into(), key, at, at);
        }
    }

    fn taken(queue: &mut Queue<u32>, now: Instant) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(now)).collect()
    }

    #[test]
    fn sources_take_turns() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        push(&mut queue, "bulk", 0..5_000, now);
        push(&mut queue, "other", [9_000, 9_001], now);
        push(&mut queue, "third", [9_500], now);
        let order = taken(&mut queue, now);
        assert_eq!(order[..6], [0, 9_000, 9_500, 1, 9_001, 2]);
        assert_eq!(order.len(), 5_003);
    }

    #[test]
    fn a_key_is_not_handed_out_again_while_processing() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        push(&mut queue, "a", [1, 1], now);
        push(&mut queue, "b", [1], now);
        assert_eq!(taken(&mut queue, now), [1]);
        push(&mut queue, "a", [1, 1], now);
        assert_eq!(queue.next_due(now), None);
        queue.done(&1, now);
        assert_eq!(taken(&mut queue, now), [1]);
        queue.done(&1, now);
        assert_eq!((queue.pop(now), queue.states.len(), queue.n_processing()), (None, 0, 0));
    }

    #[test]
    fn a_failing_key_backs_off_without_delaying_others() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        push(&mut queue, "a", [1], now);
        let mut at = now;
        let mut pauses = Vec::new();
        for _ in 0..12 {
            assert_eq!(queue.pop(at), Some(1));
            pauses.push(queue.failed(1, at).as_millis());
            // A change does not shorten the backoff, and others are not held up.
            push(&mut queue, "a", [1, 2], at);
            assert_eq!(taken(&mut queue, at), [2]);
            queue.done(&2, at);
            at = queue.next_due(at).unwrap();
        }
        assert_eq!(pauses[..4], [100, 200, 400, 800]);
        assert_eq!(pauses[10..], [60_000, 60_000]);
        assert_eq!(queue.pop(at), Some(1));
        queue.done(&1, at);
        push(&mut queue, "a", [1], at);
        assert_eq!(queue.pop(at), Some(1));
        assert_eq!(queue.failed(1, at), FIRST_PAUSE);
    }

    #[test]
    fn what_is_to_wait_waits_and_an_earlier_time_holds() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let after = |ms| now + Duration::from_millis(ms);
        queue.push("a".into(), 1, after(50), now);
        queue.push("a".into(), 1, after(90), now);
        assert_eq!((queue.pop(after(49)), queue.next_due(now)), (None, Some(after(50))));
        queue.push("a".into(), 1, after(20), now);
        assert_eq!(queue.pop(after(20)), Some(1));
        queue.push("a".into(), 1, after(70), after(20));
        queue.push("a".into(), 1, after(60), after(20));
        queue.done(&1, after(30));
        assert_eq!((queue.pop(after(30)), queue.pop(after(60))), (None, Some(1)));
    }
}
