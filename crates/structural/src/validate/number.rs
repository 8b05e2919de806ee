//! Numbers: ranges, bounds, multiples.
//!
//! An integer is compared with bounds as an integer, a bound without its fraction, as Kubernetes
//! does. A bound that is not of the type of the schema is an error of every value.

use serde_json::{Number, Value};

use super::{Validator, name::Name};
use crate::{
    error::{FieldErrorType, float, printed},
    schema::{Schema, Type},
};

/// Whether a float stands for an integer that JSON numbers can hold, by Go's measure.
pub(super) fn is_integer(value: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    if !(-MOST..=MOST).contains(&value) {
        return false;
    }
    let rounded = value.round();
    let difference = (value - rounded).abs();
    difference == 0.0 || (rounded != 0.0 && difference < 1e-9 * rounded.abs())
}

/// Whether a value is one of an enum. Numbers are converted to the type that the enum has.
pub(super) fn same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) => false,
        (Value::Number(value), Value::Number(allowed)) => {
            match (value.as_i64(), allowed.as_i64()) {
                (Some(value), Some(allowed)) => value == allowed,
                (None, Some(allowed)) => {
                    value.as_f64().is_some_and(|value| value as i64 == allowed)
                }
                _ => value.as_f64() == allowed.as_f64(),
            }
        }
        (value, allowed) => value == allowed,
    }
}

impl Validator<'_> {
    /// Returns how many checks passed.
    pub(super) fn check_number(
        &mut self,
        schema: &Schema,
        number: &Number,
        name: &Name<'_>,
    ) -> usize {
        let values = schema.values();
        let as_float = number.as_f64().unwrap_or_default();
        let integer = number.as_i64();
        self.check_range(schema, integer, as_float, "Checked", name);
        if let Some(factor) = values.multiple_of {
            let native = self.check_range(schema, None, factor, "MultipleOf", name);
            self.check_multiple(integer.filter(|_| native), as_float, factor, number, name);
        }
        if let Some(least) = values.minimum {
            let native = self.check_range(schema, None, least, "Minimum boundary", name);
            let exclusive = values.exclusive_minimum;
            let (wrong, bound) = match integer.filter(|_| native) {
                Some(value) if exclusive => (value <= least as i64, (least as i64).to_string()),
                Some(value) => (value < least as i64, (least as i64).to_string()),
                None if exclusive => (as_float <= least, float(least)),
                None => (as_float < least, float(least)),
            };
            let than = if exclusive { "greater than" } else { "greater than or equal to" };
            self.check_bound(wrong, than, &bound, number, name);
        }
        if let Some(most) = values.maximum {
            let native = self.check_range(schema, None, most, "Maximum boundary", name);
            let exclusive = values.exclusive_maximum;
            let (wrong, bound) = match integer.filter(|_| native) {
                Some(value) if exclusive => (value >= most as i64, (most as i64).to_string()),
                Some(value) => (value > most as i64, (most as i64).to_string()),
                None if exclusive => (as_float >= most, float(most)),
                None => (as_float > most, float(most)),
            };
            let than = if exclusive { "less than" } else { "less than or equal to" };
            self.check_bound(wrong, than, &bound, number, name);
        }
        2
    }

    /// Whether a number is in the range of the type and format of the schema.
    fn check_range(
        &mut self,
        schema: &Schema,
        integer: Option<i64>,
        value: f64,
        what: &str,
        name: &Name<'_>,
    ) -> bool {
        let format = schema.values().format.as_deref();
        let (fits, format) = match schema.type_ {
            _ if schema.int_or_string => return true,
            Type::Integer => {
                let in_64_bits =
                    || value.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&value);
                let integer = integer.or_else(|| in_64_bits().then_some(value as i64));
                let format = format.filter(|format| matches!(*format, "int32" | "int64"));
                let narrow = format == Some("int32");
                let fits = integer.is_some_and(|value| !narrow || i32::try_from(value).is_ok());
                (fits, format)
            }
            Type::Number => {
                let format = format.filter(|format| matches!(*format, "float" | "double"));
                (format != Some("float") || (value as f32).is_finite(), format)
            }
            _ => return true,
        };
        if !fits {
            let type_ = schema.type_.as_str();
            let format = format
                .map_or("(default format)".to_owned(), |format| format!("with format {format}"));
            self.fail_whole(|| format!("{what} value must be of type {type_} {format} in {name}"));
        }
        fits
    }

    fn check_multiple(
        &mut self,
        integer: Option<i64>,
        value: f64,
        factor: f64,
        number: &Number,
        name: &Name<'_>,
    ) {
        let (positive, fits, factor) = match integer {
            Some(value) => {
                let factor = factor as i64;
                (factor > 0, factor > 0 && value % factor == 0, factor.to_string())
            }
            None => {
                let quotient = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
                (factor > 0.0, is_integer(quotient), float(factor))
            }
        };
        if !positive {
            self.fail(name, |text| {
                let detail =
                    format!("factor MultipleOf declared for {text} must be positive: {factor}");
                (FieldErrorType::Invalid(factor), detail)
            });
        } else if !fits {
            self.fail(name, |text| {
                let detail = format!("{text} in body should be a multiple of {factor}");
                (FieldErrorType::Invalid(printed(&Value::Number(number.clone()))), detail)
            });
        }
    }

    fn check_bound(
        &mut self,
        wrong: bool,
        than: &str,
        bound: &str,
        number: &Number,
        name: &Name<'_>,
    ) {
        if wrong {
            self.fail(name, |text| {
                let detail = format!("{text} in body should be {than} {bound}");
                (FieldErrorType::Invalid(printed(&Value::Number(number.clone()))), detail)
            });
        }
    }
}
