//! Validation errors of an object, field by field, in Kubernetes' wording.
//!
//! A validation returns a list of [`FieldError`]; `status` turns it into a 422 with its causes.
//! Source of the wording: `k8s.io/apimachinery/pkg/util/validation/field/errors.go`.

use std::{cell::Cell, collections::BTreeSet, fmt};

pub(crate) use evenkeel_store::schema::quoted;
use serde_json::Value;

/// A field path: `spec.ports[0].nodePort`, `metadata.labels[a/b]`, `data[key]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(String);

/// One error of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub(crate) path: Path,
    pub(crate) type_: FieldErrorType,
    /// The text after the fixed words, or in place of them.
    pub(crate) detail: String,
}

/// The types of error, with the value printed as Kubernetes prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorType {
    Required,
    /// The value, already printed.
    Invalid(String),
    /// The value is not of the type of its schema.
    TypeInvalid(String),
    NotSupported(String),
    Duplicate(String),
    NotFound(String),
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    /// The number of items, if it is shown.
    TooFew(String),
    Internal,
}

pub(crate) type Errors = Vec<FieldError>;

/// Maximum number of bytes in the texts of all errors of one object: further errors are not listed.
/// Kubernetes lists all of them, whose total size can be quadratic in the object.
const MOST_TEXT: usize = 1 << 20;

/// A text that many errors of an object show, such as the whole list that they concern.
#[derive(Debug)]
pub(crate) struct Shown {
    text: String,
    left: Cell<usize>,
}

/// Removes duplicate texts, as far as they are listed.
pub(crate) fn distinct(errors: Errors) -> Errors {
    let mut seen = BTreeSet::new();
    let mut size = 0;
    let mut kept = Errors::new();
    for error in errors {
        let text = error.to_string();
        if size >= MOST_TEXT {
            break;
        }
        size += text.len();
        if seen.insert(text) {
            kept.push(error);
        }
    }
    kept
}

/// The first of them, as far as they are listed.
pub(crate) fn listed(errors: &[FieldError]) -> &[FieldError] {
    let mut size = 0;
    let fits = |error: &&FieldError| {
        let fits = size < MOST_TEXT;
        size += error.to_string().len();
        fits
    };
    &errors[..errors.iter().take_while(fits).count()]
}

/// Several errors as one text, without duplicates.
pub(crate) fn aggregated(errors: &[FieldError]) -> String {
    let texts: Vec<String> = distinct(errors.to_vec()).iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

// === impl Shown ===

impl Shown {
    pub(crate) fn new(text: String) -> Shown {
        Shown { text, left: Cell::new(MOST_TEXT) }
    }

    /// The text, or nothing if its errors are no longer listed.
    pub(crate) fn text(&self) -> String {
        let left = self.left.get();
        self.left.set(left.saturating_sub(self.text.len()));
        if left == 0 { String::new() } else { self.text.clone() }
    }
}

// === impl Path ===

impl Path {
    pub(crate) fn root(name: &str) -> Path {
        Path(name.to_owned())
    }

    /// The empty path, which Kubernetes shows as `<nil>`.
    pub(crate) fn none() -> Path {
        Path::default()
    }

    pub(crate) fn child(&self, name: &str) -> Path {
        if self.0.is_empty() {
            return Path::root(name);
        }
        Path(format!("{}.{name}", self.0))
    }

    pub(crate) fn index(&self, index: usize) -> Path {
        Path(format!("{}[{index}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> Path {
        Path(format!("{}[{key}]", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

// === impl FieldError ===

impl FieldError {
    pub(crate) fn required(path: Path, detail: impl Into<String>) -> FieldError {
        FieldError { path, type_: FieldErrorType::Required, detail: detail.into() }
    }

    pub(crate) fn invalid(path: Path, value: &Value, detail: impl Into<String>) -> FieldError {
        FieldError { path, type_: FieldErrorType::Invalid(printed(value)), detail: detail.into() }
    }

    /// A field that may not change.
    pub(crate) fn immutable(path: Path, value: &Value) -> FieldError {
        FieldError::invalid(path, value, "field is immutable")
    }

    /// `Unsupported value: "x": supported values: "a", "b"`.
    pub(crate) fn not_supported(path: Path, value: &Value, supported: &[&str]) -> FieldError {
        let quoted: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
        let detail = match quoted.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", quoted.join(", ")),
        };
        FieldError { path, type_: FieldErrorType::NotSupported(printed(value)), detail }
    }

    pub(crate) fn duplicate(path: Path, value: &Value) -> FieldError {
        FieldError { path, type_: FieldErrorType::Duplicate(printed(value)), detail: String::new() }
    }

    pub(crate) fn not_found(path: Path, value: &Value) -> FieldError {
        FieldError { path, type_: FieldErrorType::NotFound(printed(value)), detail: String::new() }
    }

    pub(crate) fn forbidden(path: Path, detail: impl Into<String>) -> FieldError {
        FieldError { path, type_: FieldErrorType::Forbidden, detail: detail.into() }
    }

    /// `Too long: may not be more than N bytes`.
    pub(crate) fn too_long(path: Path, most: usize) -> FieldError {
        let detail = format!("may not be more than {most} bytes");
        FieldError { path, type_: FieldErrorType::TooLong, detail }
    }

    /// `Too many: N: must have at most MOST items`.
    pub(crate) fn too_many(path: Path, actual: usize, most: usize) -> FieldError {
        let items = if most == 1 { "item" } else { "items" };
        let detail = format!("{actual}: must have at most {most} {items}");
        FieldError { path, type_: FieldErrorType::TooMany, detail }
    }

    /// The `reason` of the cause in a Status.
    pub(crate) fn reason(&self) -> &'static str {
        match self.type_ {
            FieldErrorType::Required => "FieldValueRequired",
            FieldErrorType::Invalid(_) => "FieldValueInvalid",
            FieldErrorType::TypeInvalid(_) => "FieldValueTypeInvalid",
            FieldErrorType::NotSupported(_) => "FieldValueNotSupported",
            FieldErrorType::Duplicate(_) => "FieldValueDuplicate",
            FieldErrorType::NotFound(_) => "FieldValueNotFound",
            FieldErrorType::Forbidden => "FieldValueForbidden",
            FieldErrorType::TooLong => "FieldValueTooLong",
            FieldErrorType::TooShort => "FieldValueTooShort",
            FieldErrorType::TooMany => "FieldValueTooMany",
            FieldErrorType::TooFew(_) => "FieldValueTooFew",
            FieldErrorType::Internal => "InternalError",
        }
    }

    /// The cause's message: everything but the path.
    pub(crate) fn message(&self) -> String {
        let words = match &self.type_ {
            FieldErrorType::Required => "Required value".to_owned(),
            // A rule about a whole object does not print it.
            FieldErrorType::Invalid(value) if value.is_empty() => "Invalid value".to_owned(),
            FieldErrorType::Invalid(value) | FieldErrorType::TypeInvalid(value) => {
                format!("Invalid value: {value}")
            }
            FieldErrorType::NotSupported(value) => format!("Unsupported value: {value}"),
            FieldErrorType::Duplicate(value) if value.is_empty() => "Duplicate value".to_owned(),
            FieldErrorType::Duplicate(value) => format!("Duplicate value: {value}"),
            FieldErrorType::NotFound(value) => format!("Not found: {value}"),
            FieldErrorType::Forbidden => "Forbidden".to_owned(),
            FieldErrorType::TooLong => "Too long".to_owned(),
            FieldErrorType::TooShort => "Too short".to_owned(),
            FieldErrorType::TooMany => "Too many".to_owned(),
            FieldErrorType::TooFew(n) if n.is_empty() => "Too few".to_owned(),
            FieldErrorType::TooFew(n) => format!("Too few: {n}"),
            FieldErrorType::Internal => "Internal error".to_owned(),
        };
        if self.detail.is_empty() { words } else { format!("{words}: {}", self.detail) }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// A value as Kubernetes prints it: strings quoted, structures as compact JSON, nothing as `null`.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_read_as_kubernetes_writes_them() {
        let port = Path::root("spec").child("ports").index(0).child("port");
        for (error, text) in [
            (FieldError::required(port.clone(), ""), "spec.ports[0].port: Required value"),
            (
                FieldError::invalid(
                    port.clone(),
                    &json!(0),
                    "must be between 1 and 65535, inclusive",
                ),
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            ),
            (
                FieldError::not_supported(port.clone(), &json!("x"), &["TCP", "UDP"]),
                "spec.ports[0].port: Unsupported value: \"x\": supported values: \"TCP\", \"UDP\"",
            ),
            (
                FieldError::too_many(port.clone(), 9, 8),
                "spec.ports[0].port: Too many: 9: must have at most 8 items",
            ),
            (FieldError::forbidden(port, "no"), "spec.ports[0].port: Forbidden: no"),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
