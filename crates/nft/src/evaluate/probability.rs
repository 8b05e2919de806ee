//! Probabilities as exact fractions.

use std::{cmp::Ordering, fmt, ops};

/// From 0 to 1. Exact: sums and products that don't fit 128 bits panic, which takes more endpoints
/// than a test has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Probability {
    numerator: u128,
    /// Not 0, and without a common factor with the numerator.
    denominator: u128,
}

impl Probability {
    pub const NEVER: Probability = Probability { numerator: 0, denominator: 1 };
    pub const ALWAYS: Probability = Probability { numerator: 1, denominator: 1 };

    /// `numerator / denominator`. Panics: the denominator is 0.
    pub fn new(numerator: u128, denominator: u128) -> Probability {
        assert!(denominator != 0, "a fraction of nothing");
        let common = greatest_common_divisor(numerator, denominator);
        Probability { numerator: numerator / common, denominator: denominator / common }
    }

    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl ops::Mul for Probability {
    type Output = Probability;

    fn mul(self, other: Probability) -> Probability {
        // Crosswise first, so that the products are as small as they can be.
        let left = Probability::new(self.numerator, other.denominator);
        let right = Probability::new(other.numerator, self.denominator);
        Probability {
            numerator: left.numerator * right.numerator,
            denominator: left.denominator * right.denominator,
        }
    }
}

impl ops::Add for Probability {
    type Output = Probability;

    fn add(self, other: Probability) -> Probability {
        let common = greatest_common_divisor(self.denominator, other.denominator);
        let (left, right) = (other.denominator / common, self.denominator / common);
        Probability::new(self.numerator * left + other.numerator * right, self.denominator * left)
    }
}

impl ops::AddAssign for Probability {
    fn add_assign(&mut self, other: Probability) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Probability {
    fn sum<I: Iterator<Item = Probability>>(all: I) -> Probability {
        all.fold(Probability::NEVER, ops::Add::add)
    }
}

impl PartialOrd for Probability {
    fn partial_cmp(&self, other: &Probability) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Probability {
    fn cmp(&self, other: &Probability) -> Ordering {
        let common = greatest_common_divisor(self.denominator, other.denominator);
        let left = self.numerator * (other.denominator / common);
        left.cmp(&(other.numerator * (self.denominator / common)))
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_exact() {
        let third = Probability::new(2, 6);
        assert_eq!(third, Probability::new(1, 3));
        assert_eq!([third; 3].into_iter().sum::<Probability>(), Probability::ALWAYS);
        assert_eq!(third * Probability::new(3, 4), Probability::new(1, 4));
        assert!(third < Probability::new(1, 2) && Probability::NEVER < third);
    }
}
