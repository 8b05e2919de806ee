//! The seats that the configuration assigns to each level.
//!
//! With C the seats of the server and S the sum of the shares of all levels:
//! nominal = ⌈C · shares / S⌉; min = nominal − [nominal · lendable %]; max = nominal + [nominal ·
//! borrowing limit %], or + C without that limit; \[·\] rounds half up. Rounding up lets the sum
//! exceed C by less than one seat a level.
//!
//! A level that queues estimates no request wider than max(1, min(⌈15 % of nominal⌉,
//! ⌊nominal / hand size⌋)), so that one request can't fill a hand.
//!
//! Source: Kubernetes today; the proposal's assured concurrency value (ACV) is `nominal`, given
//! that its exempt levels have no shares. Integers throughout, O(n).

use thiserror::Error;

use super::Limits;
use crate::config::{Handling, Level};

/// No level has shares, so that the division is not defined.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("the shares of all {levels} priority levels are 0; give at least one level shares")]
pub struct NoShares {
    pub levels: usize,
}

/// The limits of each level, in order, for levels that begin: what is in force is what is left
/// when half of the lendable seats are lent. Levels that are still draining count as well.
pub fn limits<'l>(
    levels: impl Iterator<Item = &'l Level> + Clone,
    server_limit: u32,
) -> Result<Vec<Limits>, NoShares> {
    let shares: u64 = levels.clone().map(|level| u64::from(level.shares)).sum();
    if shares == 0 {
        return Err(NoShares { levels: levels.count() });
    }
    Ok(levels.map(|level| limits_of(level, server_limit, shares)).collect())
}

fn limits_of(level: &Level, server_limit: u32, all_shares: u64) -> Limits {
    let seats = u64::from(server_limit) * u64::from(level.shares);
    let nominal = u32::try_from(seats.div_ceil(all_shares))
        .expect("a level's shares are part of all shares, so it gets part of all seats");
    let lendable = percent(nominal, level.lendable_percent).min(nominal);
    let borrowable =
        level.borrowing_limit_percent.map_or(server_limit, |limit| percent(nominal, limit));
    Limits {
        nominal,
        min: nominal - lendable,
        max: nominal.saturating_add(borrowable),
        max_seats: max_seats(nominal, level.handling),
        current: nominal - lendable / 2,
    }
}

fn max_seats(nominal: u32, handling: Handling) -> Option<u32> {
    let Handling::Queue(queuing) = handling else { return None };
    let part = (u64::from(nominal) * 15).div_ceil(100);
    let per_queue = u64::from(nominal / queuing.hand_size.max(1));
    let seats = part.min(per_queue).max(1);
    Some(u32::try_from(seats).expect("part of a number is not greater than it"))
}

/// Rounded half up; what exceeds the range is its end.
fn percent(of: u32, percent: u32) -> u32 {
    let rounded = (u64::from(of) * u64::from(percent) + 50) / 100;
    u32::try_from(rounded).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Queuing;

    fn level(shares: u32, lendable_percent: u32, limit: Option<u32>, handling: Handling) -> Level {
        Level {
            name: "level".into(),
            uid: "".into(),
            shares,
            lendable_percent,
            borrowing_limit_percent: limit,
            handling,
            implied: false,
        }
    }

    fn queue(hand_size: u32) -> Handling {
        Handling::Queue(Queuing { queues: 128, hand_size, queue_length_limit: 50 })
    }

    #[test]
    fn seats_are_divided_by_shares_and_rounded_as_documented() {
        let levels = [
            level(30, 33, None, queue(6)),
            level(100, 90, Some(50), queue(6)),
            level(5, 0, None, Handling::Reject),
            level(0, 0, None, Handling::Exempt),
            level(110, 50, Some(1), queue(200)),
        ];
        let got = limits(levels.iter(), 600).unwrap();
        let table: Vec<_> =
            got.iter().map(|l| (l.nominal, l.min, l.max, l.max_seats, l.current)).collect();
        let expected = [
            (74, 50, 674, Some(12), 62),
            (245, 24, 368, Some(37), 135),
            (13, 13, 613, None, 13),
            (0, 0, 600, None, 0),
            (270, 135, 273, Some(1), 203),
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn levels_without_any_shares_are_an_error() {
        let exempt = level(0, 0, None, Handling::Exempt);
        assert_eq!(limits([&exempt].into_iter(), 600), Err(NoShares { levels: 1 }));
        assert_eq!(limits([].into_iter(), 600), Err(NoShares { levels: 0 }));
    }

    #[test]
    fn the_extremes_of_the_range_saturate() {
        let extreme = level(u32::MAX, u32::MAX, Some(u32::MAX), queue(0));
        let got = limits([&extreme, &extreme].into_iter(), u32::MAX).unwrap()[0];
        let half = 1 << 31;
        assert_eq!((got.nominal, got.min, got.max), (half, 0, u32::MAX));
        assert_eq!((got.max_seats, got.current), (Some(322_122_548), half / 2));
        let unlimited = level(1, 0, None, queue(1));
        let got = limits([&unlimited].into_iter(), u32::MAX).unwrap()[0];
        assert_eq!((got.nominal, got.max), (u32::MAX, u32::MAX));
    }

    fn levels() -> impl Strategy<Value = Vec<Level>> {
        let one = (any::<u32>(), 0..=100_u32, proptest::option::of(0..=400_u32), 1..9_u32);
        let one =
            one.prop_map(|(shares, lend, limit, hand)| level(shares, lend, limit, queue(hand)));
        proptest::collection::vec(one, 1..9)
    }

    proptest! {
        #[test]
        fn the_sum_reaches_the_servers_limit_and_exceeds_it_by_less_than_one_a_level(
            levels in levels(), server_limit: u32,
        ) {
            let Ok(limits) = limits(levels.iter(), server_limit) else { return Ok(()) };
            let sum: u64 = limits.iter().map(|l| u64::from(l.nominal)).sum();
            prop_assert!(sum >= u64::from(server_limit));
            prop_assert!(sum < u64::from(server_limit) + levels.len() as u64);
            for l in limits {
                prop_assert!(l.min <= l.current && l.current <= l.nominal && l.nominal <= l.max);
            }
        }

        /// In floating point, as Kubernetes computes them.
        #[test]
        fn integers_give_what_floating_point_does(
            shares in 0..10_000_u32, others in 1..100_000_u32, server_limit in 0..1_000_000_u32,
            lend in 0..=100_u32, limit in 0..=400_u32, hand in 1..12_u32,
        ) {
            let levels =
                [level(shares, lend, Some(limit), queue(hand)), level(others, 0, None, queue(1))];
            let got = limits(levels.iter(), server_limit).unwrap()[0];
            let sum = f64::from(shares) + f64::from(others);
            let nominal = (f64::from(server_limit) * f64::from(shares) / sum).ceil();
            let min = nominal - (nominal * f64::from(lend) / 100.0).round();
            let max = nominal + (nominal * f64::from(limit) / 100.0).round();
            let per_queue = (nominal / f64::from(hand)).floor();
            let seats = (nominal * 0.15).ceil().min(per_queue).max(1.0);
            let got = [got.nominal, got.min, got.max, got.max_seats.unwrap()].map(f64::from);
            prop_assert_eq!(got, [nominal, min, max, seats]);
        }
    }
}
