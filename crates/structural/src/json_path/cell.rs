//! The cell of a column.

use chrono::DateTime;
use serde_json::Value;

use super::JsonPath;
use crate::error::{float, json};

/// What a column shows of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A value: null if there is none, or none of the type of the column.
    Value(Value),
    /// The age of a timestamp in RFC 3339, which is text that depends on the time.
    Age(String),
}

impl JsonPath {
    /// The cell of a column of this type: `string`, `integer`, `number`, `boolean` or `date`. Of
    /// several values the first is shown, and nothing if the path cannot be evaluated.
    pub fn cell(&self, column_type: &str, object: &Value) -> Cell {
        let found = self.find(object).unwrap_or_default();
        match found.first() {
            Some(value) => cell(column_type, value),
            None => Cell::Value(Value::Null),
        }
    }
}

/// The cell for a value.
#[expect(clippy::cast_possible_truncation, reason = "Kubernetes cuts off the fraction")]
fn cell(column_type: &str, value: &Value) -> Cell {
    let cell = match (column_type, value) {
        ("string", value) => Value::from(text(value)),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default() as i64),
        },
        ("number", Value::Number(number)) => Value::from(number.as_f64()),
        ("boolean", Value::Bool(value)) => Value::from(*value),
        ("date", Value::String(text)) => match &**text {
            "" | "null" => Value::from("<unknown>"),
            time if DateTime::parse_from_rfc3339(time).is_ok() => return Cell::Age(text.clone()),
            _ => Value::from("<invalid>"),
        },
        _ => Value::Null,
    };
    Cell::Value(cell)
}

/// A value as text: Go's for scalars, JSON for the rest.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => float(number.as_f64().unwrap_or_default()),
        },
        Value::Bool(value) => value.to_string(),
        Value::Array(_) | Value::Object(_) => json(value),
    }
}
