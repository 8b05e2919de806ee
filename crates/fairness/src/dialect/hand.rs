//! Whether hands can be dealt from one 64-bit hash: the two rules there are.
//!
//! Dealing consumes the falling factorial `queues!/(queues-hand)!` of the hash's range. The
//! proposal asks for that product to be below 2^60. Kubernetes estimates it from above by
//! `queues^hand` and asks for `ceil(log2(queues) * hand) <= 60`, which in whole numbers is
//! `queues^hand <= 2^60`; whole numbers leave no doubt at the border.

const RANGE: u128 = 1 << 60;

/// The largest deck that Kubernetes deals from.
const MAX_DECK: u32 = 1 << 26;

/// The rule of Kubernetes' dealer, apart from which its validation allows 10^7 queues only.
pub(super) fn dealable(queues: u32, hand: u32) -> bool {
    (1..=MAX_DECK).contains(&queues) && (1..=queues).contains(&hand) && fits_in_hash(queues, hand)
}

/// Kubernetes' rule for the bits of the hash alone.
pub(super) fn fits_in_hash(queues: u32, hand: u32) -> bool {
    queues <= 1 || within(hand, |_| queues).is_some()
}

/// The proposal's rule. Its decks are bounded too, since queues take memory.
pub(super) fn dealable_by_falling_factorial(queues: u32, hand: u32) -> bool {
    (1..=MAX_DECK).contains(&queues)
        && (1..=queues).contains(&hand)
        && within(hand, |dealt| queues - dealt).is_some_and(|product| product < RANGE)
}

/// The product of the factors, unless it leaves the range on the way, after 60 of them at most.
fn within(hand: u32, factor: impl Fn(u32) -> u32) -> Option<u128> {
    let mut product = 1_u128;
    for dealt in 0..hand {
        product *= u128::from(factor(dealt));
        if product > RANGE {
            return None;
        }
    }
    Some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_at_their_borders() {
        let cases = [
            // queues, hand, Kubernetes, proposal
            (1, 1, true, true),
            (0, 0, false, false),
            (4, 0, false, false),
            (4, 5, false, false),
            (16, 15, true, true),
            (16, 16, false, true),
            (64, 10, true, true),
            (64, 11, false, false),
            (128, 8, true, true),
            (128, 9, false, false),
            (1 << 26, 2, true, true),
            (1 << 26, 3, false, false),
            ((1 << 26) + 1, 1, false, false),
            (u32::MAX, u32::MAX, false, false),
            (20, 19, false, false),
            (19, 19, false, true),
        ];
        for (queues, hand, kubernetes, proposal) in cases {
            assert_eq!(dealable(queues, hand), kubernetes, "{queues}/{hand}");
            assert_eq!(
                dealable_by_falling_factorial(queues, hand),
                proposal,
                "{queues}/{hand}, the proposal's rule"
            );
        }
    }
}
