//! The pause after a failure.
//!
//! It doubles with each failure of the same sort. An API server that is away costs nothing to ask
//! and is wanted back soon, so pauses stay short; one that answers with an error has work to do, or
//! will give the same answer for long.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const MOST_AWAY: Duration = Duration::from_secs(2);
const MOST_REFUSED: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// There was no answer.
    Away,
    /// The API server said no.
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct BackOff {
    /// The sort of the last failures, and how many there were.
    last: Option<(Sort, u32)>,
}

impl BackOff {
    /// The pause after one more failure: up to one and a half times as long, by chance, which is
    /// from 0 to 1.
    pub(super) fn next(&mut self, sort: Sort, chance: f64) -> Duration {
        let n = self.last.filter(|(last, _)| *last == sort).map_or(0, |(_, n)| n + 1);
        self.last = Some((sort, n));
        let most = match sort {
            Sort::Away => MOST_AWAY,
            Sort::Refused => MOST_REFUSED,
        };
        let pause = FIRST.saturating_mul(2_u32.saturating_pow(n)).min(most);
        pause.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 2.0)
    }

    pub(super) fn reset(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(back_off: &mut BackOff, sort: Sort, n: usize) -> Vec<u128> {
        (0..n).map(|_| back_off.next(sort, 0.0).as_millis()).collect()
    }

    #[test]
    fn pauses_double_and_stay_short_while_the_server_is_away() {
        let mut back_off = BackOff::default();
        let away = pauses(&mut back_off, Sort::Away, 7);
        assert_eq!(away, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(back_off.next(Sort::Away, 1.0), Duration::from_secs(3));
        let refused = pauses(&mut back_off, Sort::Refused, 11);
        let (first, last) = (&refused[..3], &refused[8..]);
        assert_eq!((first, last), (&[100, 200, 400][..], &[25600, 30000, 30000][..]));
        assert_eq!(
            pauses(&mut back_off, Sort::Away, 1),
            [100],
            "it is away again, for the first time"
        );
        back_off.reset();
        assert_eq!(pauses(&mut back_off, Sort::Away, 1), [100]);
        assert_eq!(pauses(&mut back_off, Sort::Away, 100)[99], 2000);
    }
}
