//! A number or a percentage: `1`, `25%`.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{names, pod::validate},
};

/// Neither negative nor any text other than a percentage.
pub(crate) fn positive(errors: &mut Errors, value: &Value, path: &Path) {
    match value.as_str() {
        Some(text) => validate::invalid(errors, text, path, names::percent(text)),
        None => validate::nonnegative(errors, value.as_i64().unwrap_or_default(), path),
    }
}

/// At most 100%.
pub(crate) fn at_most_all(errors: &mut Errors, value: &Value, path: &Path) {
    if share(value).is_some_and(|share| share > 100) {
        let message = "must not be greater than 100%";
        errors.push(FieldError::invalid(path.clone(), value, message));
    }
}

/// The number, or the number before the percent sign.
pub(crate) fn amount(value: &Value) -> i64 {
    let plain = || value.as_str().map_or_else(|| value.as_i64(), |text| text.parse().ok());
    share(value).or_else(plain).unwrap_or_default()
}

/// Absent means zero.
pub(crate) fn shown(value: &Value) -> Value {
    if value.is_null() { json!(0) } else { value.clone() }
}

fn share(value: &Value) -> Option<i64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_numbers_are_distinguished() {
        for (value, number) in [
            (json!("25%"), 25),
            (json!(3), 3),
            (json!("7"), 7),
            (json!("x"), 0),
            (json!("%"), 0),
            (Value::Null, 0),
        ] {
            assert_eq!(amount(&value), number, "{value}");
        }
        let mut errors = Errors::new();
        for value in [json!("101%"), json!("100%"), json!(101), json!(-1), json!("1.5%")] {
            positive(&mut errors, &value, &Path::root("x"));
            at_most_all(&mut errors, &value, &Path::root("x"));
        }
        let words = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "x: Invalid value: \"101%\": must not be greater than 100%".to_owned(),
                "x: Invalid value: -1: must be greater than or equal to 0".to_owned(),
                format!("x: Invalid value: \"1.5%\": {words}"),
            ]
        );
    }
}
