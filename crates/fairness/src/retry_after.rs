//! After how many seconds a rejected client is asked to retry.
//!
//! It starts at 1. The first drop in a new second looks at the drops of the last `r` seconds, r
//! being what was advised so far: with at least 3·r of them it doubles, up to 32, but not within r
//! seconds of the last time it did; with fewer than r it falls by 1. So it follows the load as TCP
//! follows the capacity of a path, with the signs turned round.
//!
//! Source: Kubernetes today; it keeps one per priority level. Bound: O(r) in the first drop of a
//! second, else O(1); memory for 32 counters.

use crate::Time;

const MAX_SECONDS: u32 = 32;
const SLOTS: u64 = MAX_SECONDS as u64;

/// The advice, and the drops it follows from.
#[derive(Clone, Debug)]
pub struct RetryAfter {
    seconds: u32,
    /// The second of the last drop; none before the first.
    current: Option<u64>,
    raised: Option<u64>,
    /// The drops of `current` and the 31 seconds before it, each at its second modulo 32.
    drops: [u32; SLOTS as usize],
}

impl Default for RetryAfter {
    fn default() -> Self {
        RetryAfter { seconds: 1, current: None, raised: None, drops: [0; SLOTS as usize] }
    }
}

impl RetryAfter {
    /// What a client is advised now.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Counts a dropped request and returns what its client is advised. Where `now` is before an
    /// earlier drop, it counts as being in the second of that.
    pub fn on_drop(&mut self, now: Time) -> u32 {
        let now = now.whole_seconds();
        let second = match self.current {
            Some(current) if now <= current => current,
            Some(current) => {
                self.update(now, current);
                now
            }
            None => now,
        };
        self.current = Some(second);
        let drops = &mut self.drops[(second % SLOTS) as usize];
        *drops = drops.saturating_add(1);
        self.seconds
    }

    fn update(&mut self, now: u64, current: u64) {
        // No slot may show drops of a round before. That of `now` still holds those of 32 seconds
        // ago, which are within the longest window, so its turn comes after the sum.
        for second in (current + 1..now).take(SLOTS as usize) {
            self.drops[(second % SLOTS) as usize] = 0;
        }
        let window = u64::from(self.seconds);
        let recent = (1..=window).map(|ago| now.wrapping_sub(ago));
        let drops: u64 =
            recent.map(|second| u64::from(self.drops[(second % SLOTS) as usize])).sum();
        self.drops[(now % SLOTS) as usize] = 0;
        if drops >= 3 * window && self.raised.is_none_or(|raised| now - raised >= window) {
            self.seconds = (self.seconds * 2).min(MAX_SECONDS);
            self.raised = Some(now);
        } else if drops < window {
            self.seconds = (self.seconds - 1).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn second(second: u64) -> Time {
        Time(second * 1_000_000_000)
    }

    #[test]
    fn it_doubles_under_load_and_falls_back_by_one() {
        let mut advice = RetryAfter::default();
        let mut of_second =
            |s: u64, drops: u32| (0..drops).map(|_| advice.on_drop(second(s))).last().unwrap();
        let rising: Vec<u32> = (0..70).map(|s| of_second(s, 10)).collect();
        for (s, expected) in [(0, 1), (1, 2), (2, 2), (3, 4), (7, 8), (15, 16), (31, 32), (69, 32)]
        {
            assert_eq!(rising[s], expected, "second {s}");
        }
        // 32 seconds ago is within the window; 33 is not.
        assert_eq!(of_second(101, 1), 31);
        assert_eq!(of_second(102, 1), 30);
        assert_eq!(of_second(200, 1), 29);
    }

    #[test]
    fn time_that_runs_backwards_counts_as_now() {
        let mut advice = RetryAfter::default();
        advice.on_drop(second(10));
        advice.on_drop(second(3));
        advice.on_drop(Time(0));
        assert_eq!(advice.on_drop(second(11)), 2);
    }

    #[test]
    fn the_end_of_time_is_no_trouble() {
        let mut advice = RetryAfter::default();
        advice.on_drop(Time(0));
        assert_eq!(advice.on_drop(Time::MAX), 1);
        assert_eq!(advice.on_drop(Time::MAX), 1);
    }

    /// The rule as stated, over a list of all drops.
    fn by_history(seconds: &[(u64, u32)]) -> Vec<u32> {
        let (mut advice, mut raised) = (1_u64, None);
        let mut advices = Vec::new();
        for (i, (now, _)) in seconds.iter().enumerate() {
            let before = seconds[..i].iter().filter(|(s, _)| s + advice >= *now);
            let drops: u64 = before.map(|(_, n)| u64::from(*n)).sum();
            if i > 0 && drops >= 3 * advice && raised.is_none_or(|at| now - at >= advice) {
                advice = (advice * 2).min(32);
                raised = Some(*now);
            } else if i > 0 && drops < advice {
                advice = (advice - 1).max(1);
            }
            advices.push(advice as u32);
        }
        advices
    }

    proptest! {
        #[test]
        fn the_ring_agrees_with_the_whole_history(
            steps in proptest::collection::vec(
                (prop_oneof![9 => 1..4_u64, 1 => 1..80_u64], 1..40_u32), 1..200,
            ),
        ) {
            let mut now = 0;
            let seconds: Vec<(u64, u32)> = steps
                .iter()
                .map(|(gap, n)| {
                    now += gap;
                    (now, *n)
                })
                .collect();
            let mut advice = RetryAfter::default();
            let drops = |(s, n): &(u64, u32)| (0..*n).map(|_| advice.on_drop(second(*s))).last();
            let got: Vec<u32> = seconds.iter().filter_map(drops).collect();
            prop_assert_eq!(got, by_history(&seconds));
        }
    }
}
