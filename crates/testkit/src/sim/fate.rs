//! The fate of a request, decided at random before it is sent.

use std::time::Duration;

use crate::sim::Rng;

/// How long a client waits for a response.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Fault rates, per thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// A write is rejected before anything was done.
    pub refused: u32,
    /// A write is done, and its response is lost.
    pub answer_lost: u32,
    /// A write never arrives.
    pub lost: u32,
    /// A write arrives long after its client has given up.
    pub ghost: u32,
    /// A write takes seconds.
    pub slow: u32,
    /// A write is answered with 429, in addition to those that are rejected.
    pub busy: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 409, although nothing is in conflict.
    Conflict,
    /// 429, with or without Retry-After.
    TooManyRequests { retry_after: Option<Duration> },
    /// 500.
    Internal,
    /// 403.
    Forbidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When it reaches the store, from now; `None`: never.
    pub arrives: Option<Duration>,
    /// Returned by something in front of the store, instead of doing it.
    pub refusal: Option<Refusal>,
    /// When the client gets its response, from now. `None`: it gives up at [`TIMEOUT`].
    pub answered: Option<Duration>,
}

impl Fate {
    pub fn draw(rates: &Rates, rng: &mut Rng) -> Fate {
        let there = rng.millis(1, 20);
        let back = there + rng.millis(1, 20);
        let mut roll = u32::try_from(rng.below(1000)).expect("below 1000");
        let mut falls = |rate: u32| {
            let hit = roll < rate;
            roll = roll.wrapping_sub(rate);
            hit
        };
        let fine = Fate { arrives: Some(there), refusal: None, answered: Some(back) };
        if falls(rates.refused) {
            Fate { refusal: Some(Refusal::draw(rng)), ..fine }
        } else if falls(rates.busy) {
            let retry_after = Some(rng.millis(1, 5) * 1000);
            Fate { refusal: Some(Refusal::TooManyRequests { retry_after }), ..fine }
        } else if falls(rates.answer_lost) {
            Fate { answered: None, ..fine }
        } else if falls(rates.lost) {
            Fate { arrives: None, answered: None, ..fine }
        } else if falls(rates.ghost) {
            Fate { arrives: Some(TIMEOUT + rng.millis(1, 30_000)), answered: None, ..fine }
        } else if falls(rates.slow) {
            let there = rng.millis(20, 5_000);
            let back = there + rng.millis(1, 4_000);
            Fate { arrives: Some(there), answered: Some(back), ..fine }
        } else {
            fine
        }
    }
}

impl Refusal {
    fn draw(rng: &mut Rng) -> Refusal {
        match rng.below(16) {
            0..5 => Refusal::Conflict,
            5..9 => Refusal::TooManyRequests { retry_after: Some(rng.millis(1, 10) * 1000) },
            9 => Refusal::TooManyRequests { retry_after: None },
            10..15 => Refusal::Internal,
            _ => Refusal::Forbidden,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_is_met_and_none_without_its_rate() {
        let mut rng = Rng::new(3);
        let rates =
            Rates { refused: 200, answer_lost: 200, lost: 200, ghost: 200, slow: 100, busy: 0 };
        let fates: Vec<Fate> = (0..500).map(|_| Fate::draw(&rates, &mut rng)).collect();
        let late = |f: &Fate| f.arrives.is_some_and(|there| there > TIMEOUT);
        let soon = |f: &Fate| f.arrives.is_some_and(|there| there <= TIMEOUT);
        let met = [
            fates.iter().filter(|f| f.refusal.is_some()).count(),
            fates.iter().filter(|f| soon(f) && f.answered.is_none()).count(),
            fates.iter().filter(|f| f.arrives.is_none()).count(),
            fates.iter().filter(|f| late(f) && f.answered.is_none()).count(),
            fates.iter().filter(|f| f.answered.is_some()).count(),
        ];
        assert!(met.iter().all(|&n| n > 50), "{met:?}");
        assert!(fates.iter().all(|f| f.answered.is_none_or(|back| back < TIMEOUT)));
        let calm = (0..500).map(|_| Fate::draw(&Rates::default(), &mut rng));
        assert!(calm.into_iter().all(|f| f.answered.is_some() && f.refusal.is_none()));
    }
}
