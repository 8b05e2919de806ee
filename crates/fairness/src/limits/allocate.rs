//! Dividing a number of seats in proportion to targets, within bounds.
//!
//! Wanted is the fair proportion f for which the allocations clamp(f·target, lower, upper) sum to
//! the required sum. As a function of f the sum is continuous, piecewise linear and never falls.
//! It bends where f·target meets a bound: from lower/target on it rises by a class's target, from
//! upper/target on no longer. So one pass over the bends, in order, finds the piece in which the
//! required sum lies, and f within it.
//!
//! Source: Kubernetes today, borrowing between priority levels (KEP-1040). Bound: O(n log n) time,
//! exact but for the rounding of floating point.

use thiserror::Error;

/// Targets below this count as this, so that proportions to them exist.
pub const MIN_TARGET: f64 = 0.001;

/// Sums that differ by less are taken as equal.
const SLACK: f64 = 1e-7;

/// One of those among which is divided: `0 <= lower <= target`, `lower <= upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    pub target: f64,
    pub lower: f64,
    pub upper: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Of each class, in order.
    pub allocations: Vec<f64>,
    /// What each class gets of its target, where no bound keeps it from that. Where every class is
    /// at its lower bound: the least proportion at which one would be.
    pub fair_proportion: f64,
}

/// Why there is no such allocation.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum AllocateError {
    #[error("class {class}: {what} is {value}; use a finite number that is not negative")]
    OutOfRange { class: usize, what: &'static str, value: f64 },
    #[error("class {class}: the target {target} is below the lower bound {lower}; raise it")]
    TargetBelowLower { class: usize, target: f64, lower: f64 },
    #[error("class {class}: the upper bound {upper} is below the lower bound {lower}; raise it")]
    UpperBelowLower { class: usize, upper: f64, lower: f64 },
    #[error("the lower bounds sum to {lower}, more than the {required} there are to divide")]
    LowerExceedsSum { lower: f64, required: u64 },
    #[error("the upper bounds sum to {upper}, less than the {required} there are to divide")]
    UpperBelowSum { upper: f64, required: u64 },
}

/// Divides `required` among the classes.
pub fn allocate(required: u64, classes: &[Class]) -> Result<Allocation, AllocateError> {
    (0..).zip(classes).try_for_each(|(number, class)| check(number, class))?;
    let sum = required as f64;
    let lower: f64 = classes.iter().map(|class| class.lower).sum();
    let upper: f64 = classes.iter().map(|class| class.upper).sum();
    if lower - sum > SLACK {
        return Err(AllocateError::LowerExceedsSum { lower, required });
    }
    if sum - upper > SLACK {
        return Err(AllocateError::UpperBelowSum { upper, required });
    }
    if required == 0 {
        return Ok(Allocation { allocations: vec![0.0; classes.len()], fair_proportion: 0.0 });
    }
    let f = fair_proportion(classes, sum, lower, upper);
    let allocations = classes.iter().map(|class| class.at(f)).collect();
    Ok(Allocation { allocations, fair_proportion: f })
}

impl Class {
    fn target(&self) -> f64 {
        self.target.max(MIN_TARGET)
    }

    fn at(&self, proportion: f64) -> f64 {
        (proportion * self.target()).min(self.upper).max(self.lower)
    }
}

fn check(number: usize, class: &Class) -> Result<(), AllocateError> {
    let Class { target, lower, upper } = *class;
    for (what, value) in
        [("the lower bound", lower), ("the target", target), ("the upper bound", upper)]
    {
        if !(value.is_finite() && value >= 0.0) {
            return Err(AllocateError::OutOfRange { class: number, what, value });
        }
    }
    if target < lower {
        return Err(AllocateError::TargetBelowLower { class: number, target, lower });
    }
    if upper < lower {
        return Err(AllocateError::UpperBelowLower { class: number, upper, lower });
    }
    Ok(())
}

/// Where the sum, as a function of the proportion, changes its slope.
struct Bend {
    proportion: f64,
    target: f64,
    /// A class leaves its lower bound here; else it reaches its upper one.
    rises: bool,
}

fn fair_proportion(classes: &[Class], sum: f64, lower: f64, upper: f64) -> f64 {
    let bends = bends(classes);
    let (Some(first), Some(last)) = (bends.first(), bends.last()) else { return 0.0 };
    if sum - lower < SLACK {
        return first.proportion;
    }
    if upper - sum < SLACK {
        return last.proportion;
    }
    let (mut reached, mut at) = (lower, first.proportion);
    let (mut slope, mut rising) = (0.0, 0_usize);
    for bend in &bends {
        let further = reached + slope * (bend.proportion - at);
        if rising > 0 && further >= sum {
            return at + (sum - reached).max(0.0) / slope;
        }
        (reached, at) = (further, bend.proportion);
        rising = if bend.rises { rising + 1 } else { rising - 1 };
        slope += if bend.rises { bend.target } else { -bend.target };
        // Taking away large targets must not leave less than the least, nor something of none.
        slope = if rising == 0 { 0.0 } else { slope.max(MIN_TARGET) };
    }
    at
}

/// In the order of their proportions; a class rises before it stops rising.
fn bends(classes: &[Class]) -> Vec<Bend> {
    let of = |class: &Class| {
        let target = class.target();
        let bend = |bound: f64, rises| Bend { proportion: bound / target, target, rises };
        [bend(class.lower, true), bend(class.upper, false)]
    };
    let mut bends: Vec<Bend> = classes.iter().flat_map(of).collect();
    bends.sort_by(|a, b| a.proportion.total_cmp(&b.proportion).then(b.rises.cmp(&a.rises)));
    bends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn class((lower, target, upper): (f64, f64, f64)) -> Class {
        Class { target, lower, upper }
    }

    #[test]
    fn what_can_be_divided_is_and_what_cannot_is_an_error() {
        type Case<'c> = (u64, &'c [(f64, f64, f64)], Option<(&'c [f64], f64)>);
        let cases: &[Case<'_>] = &[
            (0, &[], Some((&[], 0.0))),
            (1, &[], None),
            (10, &[(1.0, 4.0, 100.0), (1.0, 6.0, 100.0)], Some((&[4.0, 6.0], 1.0))),
            (10, &[(0.0, 0.0, 10.0), (0.0, 0.0, 10.0)], Some((&[5.0, 5.0], 5000.0))),
            // Everyone at a bound.
            (5, &[(2.0, 4.0, 6.0), (3.0, 3.0, 6.0)], Some((&[2.0, 3.0], 0.5))),
            (12, &[(2.0, 2.0, 6.0), (3.0, 3.0, 6.0)], Some((&[6.0, 6.0], 3.0))),
            // The one in the middle is constant between the bends of the others.
            (30, &[(1.0, 10.0, 5.0), (20.0, 20.0, 30.0)], Some((&[5.0, 25.0], 1.25))),
            (3, &[(-1.0, 1.0, 2.0)], None),
            (3, &[(2.0, 1.0, 3.0)], None),
            (3, &[(2.0, 2.0, 1.0)], None),
            (3, &[(4.0, 5.0, 6.0)], None),
            (10, &[(4.0, 5.0, 6.0)], None),
            (3, &[(f64::NAN, 5.0, 6.0)], None),
            (3, &[(0.0, f64::NAN, 6.0)], None),
            (3, &[(0.0, 5.0, f64::INFINITY)], None),
        ];
        for (required, classes, expected) in cases {
            let classes: Vec<Class> = classes.iter().copied().map(class).collect();
            let got = allocate(*required, &classes).ok();
            let got = got.as_ref().map(|a| (a.allocations.as_slice(), a.fair_proportion));
            assert_eq!(got, *expected, "{required} {classes:?}");
        }
    }

    fn classes() -> impl Strategy<Value = Vec<Class>> {
        let one = (0..40_u32, 0..400_u32, 0..60_u32).prop_map(|(lower, above, width)| Class {
            lower: lower.into(),
            target: f64::from(lower) + f64::from(above) / 8.0,
            upper: f64::from(lower + width),
        });
        proptest::collection::vec(one, 1..20)
    }

    /// The sum never falls with the proportion, so halving finds it.
    fn by_halving(classes: &[Class], sum: f64) -> Vec<f64> {
        let at = |f: f64| classes.iter().map(move |class| class.at(f));
        let (mut low, mut high) = (0.0, 1e9);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            *(if at(middle).sum::<f64>() < sum { &mut low } else { &mut high }) = middle;
        }
        at(high).collect()
    }

    proptest! {
        #[test]
        fn it_agrees_with_halving_the_interval(classes in classes(), part in 0.0..=1.0_f64) {
            let lower: f64 = classes.iter().map(|c| c.lower).sum();
            let upper: f64 = classes.iter().map(|c| c.upper).sum();
            let required = (lower + part * (upper - lower)).floor();
            let got = allocate(required as u64, &classes).unwrap();
            prop_assert!((got.allocations.iter().sum::<f64>() - required).abs() < 1e-6);
            for (a, b) in got.allocations.iter().zip(by_halving(&classes, required)) {
                prop_assert!((a - b).abs() < 1e-5, "{got:?}");
            }
        }
    }
}
