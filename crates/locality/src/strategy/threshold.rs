//! From the failover threshold to Envoy's overprovisioning factor.
//!
//! Envoy keeps all traffic in a priority as long as `factor · healthy / all ≥ 100`. For traffic to
//! stay at exactly the threshold the factor must be at least `10000 / threshold`: it is rounded up.
//! Kuma multiplies the whole part of `100 / threshold` by 100 instead, so that most thresholds act
//! as a higher one: 70 becomes factor 100, and traffic leaves at the first unhealthy endpoint.

use std::num::NonZeroU32;

use super::{IntOrText, decimal::Decimal};
use crate::Compat;

/// Below this part of healthy endpoints traffic leaves, if the policy says nothing.
pub(crate) const DEFAULT_PERCENTAGE: u32 = 50;

const DEFAULT_FACTOR: NonZeroU32 = match NonZeroU32::new(10_000 / DEFAULT_PERCENTAGE) {
    Some(factor) => factor,
    None => NonZeroU32::MIN,
};

/// Why a percentage can't be a threshold. The first three sentences are Kuma's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThresholdError {
    #[error("string must be a valid number")]
    NotANumber,
    #[error("must be in inclusive range [0.0, 100.0]")]
    OutOfRange,
    #[error("must be greater than 0")]
    Zero,
    #[error("must have at most 16 decimals")]
    TooManyDecimals,
    #[error("is too small: Envoy has no overprovisioning factor for it")]
    TooSmall,
}

/// The factor for a threshold, 200 without one. With [`Compat::Kuma`] what is no threshold means
/// 200 too, as it does there after validation was bypassed.
pub fn overprovisioning_factor(
    percentage: Option<&IntOrText>,
    compat: Compat,
) -> Result<NonZeroU32, ThresholdError> {
    let Some(percentage) = percentage else { return Ok(DEFAULT_FACTOR) };
    match compat {
        Compat::Record => inverse(&check(percentage)?),
        Compat::Kuma => {
            let percentage = check(percentage).ok();
            Ok(percentage.and_then(|percentage| truncated(&percentage)).unwrap_or(DEFAULT_FACTOR))
        }
    }
}

/// Kuma's rules for a percentage that must not be 0.
pub(super) fn check(percentage: &IntOrText) -> Result<Decimal, ThresholdError> {
    let number = Decimal::read(percentage).map_err(|_| ThresholdError::NotANumber)?;
    if number.is_negative() || number.is_above(100) {
        Err(ThresholdError::OutOfRange)
    } else if number.is_zero() {
        Err(ThresholdError::Zero)
    } else {
        Ok(number)
    }
}

fn inverse(percentage: &Decimal) -> Result<NonZeroU32, ThresholdError> {
    let factor = percentage.divide_up(10_000).ok_or(ThresholdError::TooManyDecimals)?;
    let factor = u32::try_from(factor).ok().and_then(NonZeroU32::new);
    factor.ok_or(ThresholdError::TooSmall)
}

fn truncated(percentage: &Decimal) -> Option<NonZeroU32> {
    let factor = percentage.divide_down(100)?.saturating_mul(100);
    NonZeroU32::new(u32::try_from(factor).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(percentage: &str, compat: Compat) -> Result<u32, ThresholdError> {
        let percentage = IntOrText::Text(percentage.into());
        overprovisioning_factor(Some(&percentage), compat).map(NonZeroU32::get)
    }

    #[test]
    fn the_record_rounds_up_and_kuma_truncates() {
        let table = [
            ("100", 100, 100),
            ("70", 143, 100),
            ("66.7", 150, 100),
            ("50", 200, 200),
            ("49.9", 201, 200),
            ("33.3333333333333333", 301, 300),
            ("0.5", 20_000, 20_000),
            ("0.00001", 1_000_000_000, 1_000_000_000),
        ];
        for (percentage, record, kuma) in table {
            assert_eq!(factor(percentage, Compat::Record), Ok(record), "{percentage}");
            assert_eq!(factor(percentage, Compat::Kuma), Ok(kuma), "{percentage}");
        }
        assert_eq!(overprovisioning_factor(None, Compat::Record).unwrap().get(), 200);
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_its_reason() {
        let nines = "9".repeat(1_000_000);
        let long = format!("50.{}1", "0".repeat(1_000_000));
        let table = [
            ("0", ThresholdError::Zero),
            ("-0.00", ThresholdError::Zero),
            ("101", ThresholdError::OutOfRange),
            ("-1", ThresholdError::OutOfRange),
            (nines.as_str(), ThresholdError::OutOfRange),
            ("banana", ThresholdError::NotANumber),
            ("NaN", ThresholdError::NotANumber),
            ("1e3", ThresholdError::NotANumber),
            ("", ThresholdError::NotANumber),
            (long.as_str(), ThresholdError::TooManyDecimals),
            ("0.000001", ThresholdError::TooSmall),
        ];
        for (percentage, error) in table {
            assert_eq!(factor(percentage, Compat::Record), Err(error), "{percentage:.20}");
        }
        assert_eq!(factor("banana", Compat::Kuma), Ok(200));
    }
}
