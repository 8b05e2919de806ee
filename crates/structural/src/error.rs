//! Errors of a definition or an object, field by field, in Kubernetes' wording.
//!
//! Source of the wording: `k8s.io/apimachinery/pkg/util/validation/field/errors.go`. Kubernetes
//! lists every error; here their texts are bounded, because the errors of a hostile object can be
//! quadratic in its size.

mod print;

use std::{collections::HashSet, fmt, ops::Deref, vec};

use serde_json::Value;

pub(crate) use self::print::{float, json, printed, quoted};
use crate::path::Path;

/// One error of one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldError {
    /// `spec.ports[0].name`; empty for the object itself, which Kubernetes shows as `<nil>`.
    pub path: String,
    /// Its type, with the value.
    pub type_: FieldErrorType,
    /// The text after the fixed words.
    pub detail: String,
}

/// The types of error, with the value printed as Kubernetes prints it; empty if it is left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorType {
    /// A value is missing.
    Required,
    /// A value is malformed.
    Invalid(String),
    /// A value is not of the type of its schema.
    TypeInvalid(String),
    /// A value is not one of those listed.
    NotSupported(String),
    /// A value occurs twice where it must be unique.
    Duplicate(String),
    /// What a value refers to is missing.
    NotFound(String),
    /// A value that is valid as such may not be set.
    Forbidden,
    /// A text is too long; it is not printed.
    TooLong,
    /// A text is too short; it is not printed.
    TooShort,
    /// A list has too many items; with their number.
    TooMany(String),
    /// A list has too few items.
    TooFew(String),
    /// The check itself failed.
    Internal,
}

/// A bounded list of errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    list: Vec<FieldError>,
    size: usize,
}

/// Number of bytes of text from which on further errors are not listed.
const MOST_TEXT: usize = 1 << 20;

// === impl FieldError ===

impl FieldError {
    /// An error with a detail.
    pub fn new(path: &Path<'_>, type_: FieldErrorType, detail: impl Into<String>) -> FieldError {
        FieldError { path: path.to_string(), type_, detail: detail.into() }
    }

    /// `Required value: DETAIL`.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> FieldError {
        FieldError::new(path, FieldErrorType::Required, detail)
    }

    /// `Invalid value: VALUE: DETAIL`.
    pub fn invalid(path: &Path<'_>, value: &Value, detail: impl Into<String>) -> FieldError {
        FieldError::new(path, FieldErrorType::Invalid(printed(value)), detail)
    }

    /// `Invalid value: "TEXT": DETAIL`.
    pub fn invalid_text(path: &Path<'_>, text: &str, detail: impl Into<String>) -> FieldError {
        FieldError::new(path, FieldErrorType::Invalid(quoted(text)), detail)
    }

    /// `Forbidden: DETAIL`.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> FieldError {
        FieldError::new(path, FieldErrorType::Forbidden, detail)
    }

    /// `Duplicate value: VALUE`.
    pub fn duplicate(path: &Path<'_>, value: &Value) -> FieldError {
        FieldError::new(path, FieldErrorType::Duplicate(printed(value)), "")
    }

    /// `Unsupported value: "TEXT": supported values: "a", "b"`.
    pub fn not_supported(path: &Path<'_>, text: &str, supported: &[&str]) -> FieldError {
        let supported: Vec<String> = supported.iter().map(|text| quoted(text)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        FieldError::new(path, FieldErrorType::NotSupported(quoted(text)), detail)
    }

    /// The `reason` of the cause in a Status.
    pub fn reason(&self) -> &'static str {
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
            FieldErrorType::TooMany(_) => "FieldValueTooMany",
            FieldErrorType::TooFew(_) => "FieldValueTooFew",
            FieldErrorType::Internal => "InternalError",
        }
    }

    /// The cause's message: everything but the path.
    pub fn message(&self) -> String {
        let (words, value) = self.type_.words();
        let mut message = words.to_owned();
        for part in value.into_iter().chain(Some(self.detail.as_str()).filter(|d| !d.is_empty())) {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }

    fn size(&self) -> usize {
        let (words, value) = self.type_.words();
        self.path.len() + words.len() + value.map_or(0, str::len) + self.detail.len() + 6
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "<nil>" } else { &self.path };
        write!(f, "{path}: {}", self.message())
    }
}

impl FieldErrorType {
    fn words(&self) -> (&'static str, Option<&str>) {
        let (words, value) = match self {
            FieldErrorType::Required => ("Required value", ""),
            FieldErrorType::Invalid(value) | FieldErrorType::TypeInvalid(value) => {
                ("Invalid value", value.as_str())
            }
            FieldErrorType::NotSupported(value) => ("Unsupported value", value.as_str()),
            FieldErrorType::Duplicate(value) => ("Duplicate value", value.as_str()),
            FieldErrorType::NotFound(value) => ("Not found", value.as_str()),
            FieldErrorType::Forbidden => ("Forbidden", ""),
            FieldErrorType::TooLong => ("Too long", ""),
            FieldErrorType::TooShort => ("Too short", ""),
            FieldErrorType::TooMany(value) => ("Too many", value.as_str()),
            FieldErrorType::TooFew(value) => ("Too few", value.as_str()),
            FieldErrorType::Internal => ("Internal error", ""),
        };
        (words, Some(value).filter(|value| !value.is_empty()))
    }
}

// === impl Errors ===

impl Errors {
    /// No errors.
    pub fn new() -> Errors {
        Errors::default()
    }

    /// Whether further errors are not listed. A check that finds many may stop then.
    pub fn is_full(&self) -> bool {
        self.size >= MOST_TEXT
    }

    /// Lists an error, unless the list is full.
    pub fn push(&mut self, error: FieldError) {
        self.add(|| error);
    }

    /// Makes and lists an error, unless the list is full.
    pub fn add(&mut self, error: impl FnOnce() -> FieldError) {
        if !self.is_full() {
            let error = error();
            self.size += error.size();
            self.list.push(error);
        }
    }

    /// Removes all but the first errors.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.size -= self.list.drain(len..).map(|error| error.size()).sum::<usize>();
    }

    /// Removes repeated errors.
    pub(crate) fn dedup(&mut self) {
        let mut seen = HashSet::with_capacity(self.list.len());
        let first: Vec<bool> = self.list.iter().map(|error| seen.insert(error)).collect();
        let mut first = first.into_iter();
        self.list.retain(|_| first.next().unwrap_or(true));
    }

    /// Sorts by text.
    pub(crate) fn sort(&mut self) {
        self.list.sort_by_cached_key(ToString::to_string);
    }

    /// Lists the errors of another list after these.
    pub fn append(&mut self, other: Errors) {
        other.list.into_iter().for_each(|error| self.push(error));
    }
}

impl Deref for Errors {
    type Target = [FieldError];

    fn deref(&self) -> &[FieldError] {
        &self.list
    }
}

impl IntoIterator for Errors {
    type Item = FieldError;
    type IntoIter = vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_read_as_kubernetes_writes_them() {
        let root = Path::root("spec");
        let port = root.child("port");
        for (error, text) in [
            (FieldError::required(&port, ""), "spec.port: Required value"),
            (FieldError::invalid(&port, &json!(0), "no"), "spec.port: Invalid value: 0: no"),
            (
                FieldError::invalid_text(&port, "a\"\u{0}é\n", "no"),
                "spec.port: Invalid value: \"a\\\"\\x00é\\n\": no",
            ),
            (
                FieldError::duplicate(&port, &json!({"a": "b"})),
                "spec.port: Duplicate value: {\"a\":\"b\"}",
            ),
            (
                FieldError::not_supported(&port, "x", &["TCP", "UDP"]),
                "spec.port: Unsupported value: \"x\": supported values: \"TCP\", \"UDP\"",
            ),
            (
                FieldError::new(
                    &port,
                    FieldErrorType::TooMany("9".into()),
                    "must have at most 8 items",
                ),
                "spec.port: Too many: 9: must have at most 8 items",
            ),
            (FieldError::forbidden(&Path::root(""), "no"), "<nil>: Forbidden: no"),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn the_text_of_all_errors_is_bounded() {
        let mut errors = Errors::new();
        for _ in 0..100_000 {
            errors.add(|| FieldError::required(&Path::root("spec"), "x".repeat(1000)));
        }
        let size: usize = errors.iter().map(|error| error.to_string().len()).sum();
        assert!((MOST_TEXT - 10_000..MOST_TEXT + 2000).contains(&size), "{size}");
    }
}
