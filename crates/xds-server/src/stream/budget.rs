//! How much one client may ask of the server.
//!
//! A token bucket. A request costs one token and one more for each 16 KiB; a response that is sent pays for the
//! answers to it. Envoy stays far below: it answers what it is sent, and subscribes when it changes.

use std::time::Duration;

const REFILL_PER_SECOND: u64 = 200;
const MOST: u64 = 2_000;
const BYTES_PER_TOKEN: u64 = 16 * 1024;
/// Its acknowledgement, and one subscription to what it names.
const PER_RESPONSE: u64 = 2;

/// In millionths of a token.
const ONE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: u64,
    at: Duration,
}

impl Budget {
    pub(super) fn new(now: Duration) -> Self {
        Self { left: MOST * ONE, at: now }
    }

    /// Returns whether a request of this size may be handled.
    pub(super) fn take(&mut self, now: Duration, bytes: usize) -> bool {
        let passed = u64::try_from(now.saturating_sub(self.at).as_micros()).unwrap_or(u64::MAX);
        self.at = now;
        self.add(passed.saturating_mul(REFILL_PER_SECOND));
        let cost = ONE.saturating_mul(1 + bytes as u64 / BYTES_PER_TOKEN);
        let may = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        may
    }

    pub(super) fn responded(&mut self) {
        self.add(PER_RESPONSE * ONE);
    }

    fn add(&mut self, millionths: u64) {
        self.left = self.left.saturating_add(millionths).min(MOST * ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_refused_and_an_honest_client_never() {
        let mut flood = Budget::new(Duration::ZERO);
        let allowed = (0..10_000).filter(|_| flood.take(Duration::ZERO, 100)).count();
        assert_eq!(allowed as u64, MOST);

        let mut honest = Budget::new(Duration::ZERO);
        for _ in 0..100_000 {
            honest.responded();
            assert!(honest.take(Duration::ZERO, 100));
        }
    }

    #[test]
    fn large_requests_cost_more() {
        let mut budget = Budget::new(Duration::ZERO);
        let allowed = (0..100).take_while(|_| budget.take(Duration::ZERO, 4 << 20)).count();
        assert_eq!(allowed, 7);
        assert!(budget.take(Duration::from_secs(10), 4 << 20));
    }
}
