//! How likely it is that a small flow, a *mouse*, finds all queues of its hand also in the hands
//! of large ones, of *elephants*.
//!
//! After each elephant the distribution of the number of distinct queues dealt so far follows from
//! that before it: of a further hand of h from n queues, u of them dealt before, k are new with
//! probability C(n−u, k)·C(u, h−k) / C(n, h). A mouse is covered with probability C(u, h) / C(n, h).
//! Hands are taken as independent and uniform, which hashes are nearly.
//!
//! Binomials of large decks overflow, so each probability is multiplied up from ratios, none of
//! which exceeds h; for valid hands (at most 19) that loses no more than the last two or three of
//! 16 digits.
//!
//! Source: the proposal of 2019, "Probability of Collisions". Bound: O(min(n, e·h)·h²) for the
//! e-th elephant.

use crate::shard::Dealer;

/// The queues that a number of elephants use.
#[derive(Clone, Debug, PartialEq)]
pub struct Collisions {
    pub elephants: u32,
    /// At index i, the probability that elephants use i distinct queues.
    pub distribution: Vec<f64>,
    /// The expected number of distinct queues.
    pub expected_queues: f64,
    /// The probability that all queues of a mouse are among them.
    pub collision_probability: f64,
}

/// The collisions with 1, 2, … elephants, until the collision probability is at least `threshold`
/// (the proposal's: 0.01), or there are `max_elephants`.
pub fn collisions(dealer: &Dealer, threshold: f64, max_elephants: u32) -> Vec<Collisions> {
    let mut rows: Vec<Collisions> = Vec::new();
    for elephants in 1..=max_elephants {
        let distribution = match rows.last() {
            None => first_hand(dealer),
            Some(row) => next_hand(dealer, &row.distribution),
        };
        let row = summarize(dealer, elephants, distribution);
        let passed = row.collision_probability >= threshold;
        rows.push(row);
        if passed {
            break;
        }
    }
    rows
}

fn summarize(dealer: &Dealer, elephants: u32, distribution: Vec<f64>) -> Collisions {
    let likely = || (0..).zip(&distribution).filter(|(_, p)| **p > 0.0);
    let expected_queues = likely().map(|(queues, p)| f64::from(queues) * p).sum();
    let collision_probability = likely().map(|(queues, p)| p * covered(dealer, queues)).sum();
    Collisions { elephants, distribution, expected_queues, collision_probability }
}

fn first_hand(dealer: &Dealer) -> Vec<f64> {
    let mut distribution = vec![0.0; dealer.hand_size() as usize];
    distribution.push(1.0);
    distribution
}

fn next_hand(dealer: &Dealer, before: &[f64]) -> Vec<f64> {
    let most = (before.len() + dealer.hand_size() as usize).min(dealer.queues() as usize + 1);
    let mut after = vec![0.0; most];
    for (dealt, p) in (0..).zip(before).filter(|(_, p)| **p > 0.0) {
        for new in 0..=dealer.hand_size().min(dealer.queues() - dealt) {
            after[(dealt + new) as usize] += p * exactly_new(dealer, dealt, new);
        }
    }
    after
}

/// The probability that exactly `new` queues of a hand are not among the `dealt`.
fn exactly_new(dealer: &Dealer, dealt: u32, new: u32) -> f64 {
    let (queues, hand) = (dealer.queues(), dealer.hand_size());
    let old = hand - new;
    if old > dealt {
        return 0.0;
    }
    // The order in which new and old queues come is one of C(hand, new), all equally likely; this
    // is that of all new ones first.
    let left = |i: u32| f64::from(queues - i);
    let news = (0..new).map(|i| f64::from(queues - dealt - i) / left(i));
    let olds = (0..old).map(|i| f64::from(dealt - i) / left(new + i));
    let orders = (0..new).map(|i| f64::from(hand - i) / f64::from(i + 1));
    orders.product::<f64>() * news.product::<f64>() * olds.product::<f64>()
}

/// The probability that all queues of a hand are among the `dealt`.
fn covered(dealer: &Dealer, dealt: u32) -> f64 {
    exactly_new(dealer, dealt, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shard::proposal;

    fn near(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs()
    }

    fn rows(queues: u32, hand: u32, threshold: f64, most: u32) -> Vec<Collisions> {
        collisions(&Dealer::new(queues, hand).unwrap(), threshold, most)
    }

    /// After one elephant a mouse is covered with probability 1 / C(n, h).
    #[test]
    fn one_elephant_covers_one_hand_of_all() {
        let cases = [
            (128, 6, 5_423_611_200.0),
            (256, 7, 13_161_885_792_000.0),
            (1024, 6, 1_577_953_087_760_896.0),
            (4, 2, 6.0),
            (7, 7, 1.0),
            (1, 1, 1.0),
        ];
        for (queues, hand, hands) in cases {
            let first = &rows(queues, hand, 0.0, 1)[0];
            assert!(
                near(first.collision_probability, 1.0 / hands, 1e-12),
                "{queues}/{hand}: {first:?}"
            );
            assert_eq!(first.expected_queues, f64::from(hand));
        }
    }

    /// Worked out in exact fractions.
    #[test]
    fn the_tables_of_the_usual_sizes_are_those_of_exact_arithmetic() {
        let cases = [
            // queues, hand, elephants, expected queues, covered
            (128, 6, 2, 11.71875, 1.4746224850907262e-7),
            (128, 6, 3, 17.16943359375, 2.5668537922647584e-6),
            (128, 6, 13, 59.42620844040824, 0.009031341107153777),
            (128, 6, 14, 62.6406049197641, 0.012544793709965954),
            (256, 7, 2, 13.80859375, 2.365999992609045e-10),
            (256, 7, 26, 131.49583164674434, 0.008931813474328086),
            (256, 7, 27, 134.90024250015367, 0.010721068176551345),
        ];
        for (queues, hand, elephants, expected, covered) in cases {
            let row = &rows(queues, hand, 1.0, elephants)[elephants as usize - 1];
            assert!(near(row.expected_queues, expected, 1e-12), "{row:?}");
            assert!(near(row.collision_probability, covered, 1e-12), "{row:?}");
        }
        assert_eq!(rows(128, 6, 0.01, 1000).len(), 14);
        assert_eq!(rows(256, 7, 0.01, 1000).len(), 27);
    }

    #[test]
    fn it_ends_at_the_most_elephants_asked_for() {
        assert_eq!(rows(1024, 6, 0.01, 3).len(), 3);
        assert_eq!(rows(1024, 6, f64::NAN, 3).len(), 3);
        assert!(rows(1024, 6, 0.01, 0).is_empty());
    }

    /// All hands of `hand` from `queues`, as sets of bits.
    fn all_hands(queues: u32, hand: u32) -> Vec<u32> {
        (0..1_u32 << queues).filter(|set| set.count_ones() == hand).collect()
    }

    #[test]
    fn tiny_decks_agree_with_counting_every_deal() {
        for (queues, hand) in [(3, 1), (4, 2), (5, 2), (5, 3), (6, 3), (4, 4)] {
            let hands = all_hands(queues, hand);
            let mut unions = vec![0];
            for row in rows(queues, hand, 2.0, 3) {
                unions = unions.iter().flat_map(|u| hands.iter().map(move |h| u | h)).collect();
                let n = unions.len() as f64;
                for (distinct, p) in (0_u32..).zip(&row.distribution) {
                    let found = unions.iter().filter(|u| u.count_ones() == distinct).count();
                    assert!((found as f64 / n - p).abs() < 1e-12, "{queues}/{hand} {distinct}");
                }
                let of_mice = |u: &u32| hands.iter().filter(|h| *h & !u == 0).count();
                let covered: usize = unions.iter().map(of_mice).sum();
                let covered = covered as f64 / n / hands.len() as f64;
                assert!(near(row.collision_probability, covered, 1e-12), "{queues}/{hand}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A queue is missed by one hand with probability 1 − h/n, hence by all e with its power.
        #[test]
        fn it_stays_a_distribution_with_the_known_mean(
            (n, h) in (1..=1024_u32).prop_flat_map(|n| (Just(n), 1..=n.min(19)))
                .prop_filter("valid", |(n, h)| proposal(*n, *h)),
        ) {
            let mut last = 0.0;
            for row in rows(n, h, 0.5, 40) {
                let missed = (1.0 - f64::from(h) / f64::from(n)).powf(f64::from(row.elephants));
                prop_assert!(near(row.distribution.iter().sum(), 1.0, 1e-11));
                prop_assert!(near(row.expected_queues, f64::from(n) * (1.0 - missed), 1e-10));
                prop_assert!(row.collision_probability >= last && row.collision_probability <= 1.0 + 1e-11);
                last = row.collision_probability;
            }
        }
    }
}
