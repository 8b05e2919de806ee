//! Errors of fields, with Kubernetes' words.

use std::fmt;

use serde::Serialize;

/// What is wrong with one field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    pub field: String,
    pub kind: FieldErrorKind,
    pub value: BadValue,
    /// Kubernetes' words, without the value. May be empty.
    pub detail: String,
    /// Kubernetes declares this check on the type: its API server reports it after all others, and
    /// without the detail.
    pub declared: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FieldErrorKind {
    Invalid,
    Required,
    NotSupported,
    Forbidden,
}

/// A value as far as Kubernetes shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BadValue {
    /// The error has none.
    None,
    /// A string, which is shown in quotes.
    Text(String),
    /// Anything else, as Go writes it in JSON.
    Json(String),
}

#[derive(Debug, Default)]
pub(super) struct Errors(pub(super) Vec<FieldError>);

// === impl Errors ===

impl Errors {
    pub(super) fn invalid(
        &mut self,
        field: impl Into<String>,
        value: BadValue,
        detail: impl Into<String>,
    ) {
        self.add(field, FieldErrorKind::Invalid, value, detail);
    }

    pub(super) fn required(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(field, FieldErrorKind::Required, BadValue::None, detail);
    }

    pub(super) fn forbidden(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(field, FieldErrorKind::Forbidden, BadValue::None, detail);
    }

    pub(super) fn not_supported(
        &mut self,
        field: impl Into<String>,
        value: BadValue,
        supported: &[&str],
    ) {
        let supported: Vec<String> = supported.iter().map(|name| format!("\"{name}\"")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.add(field, FieldErrorKind::NotSupported, value, detail);
    }

    /// Marks the errors added from this one on.
    pub(super) fn declared_from(&mut self, first: usize) {
        for error in &mut self.0[first..] {
            error.declared = true;
        }
    }

    fn add(
        &mut self,
        field: impl Into<String>,
        kind: FieldErrorKind,
        value: BadValue,
        detail: impl Into<String>,
    ) {
        let (field, detail) = (field.into(), detail.into());
        self.0.push(FieldError { field, kind, value, detail, declared: false });
    }
}

// === impl BadValue ===

impl BadValue {
    pub(super) fn text(text: &str) -> BadValue {
        BadValue::Text(text.to_owned())
    }

    /// Go escapes what HTML would understand.
    pub(super) fn json(value: &(impl Serialize + ?Sized)) -> BadValue {
        let json = serde_json::to_string(value).unwrap_or_default();
        if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            return BadValue::Json(json);
        }
        let mut escaped = String::with_capacity(json.len());
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                other => escaped.push(other),
            }
        }
        BadValue::Json(escaped)
    }
}

// === impl FieldErrorKind ===

impl FieldErrorKind {
    /// As in the causes of an API status.
    pub fn code(self) -> &'static str {
        match self {
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
        }
    }
}

impl fmt::Display for FieldErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldErrorKind::Invalid => "invalid",
            FieldErrorKind::Required => "required",
            FieldErrorKind::NotSupported => "not supported",
            FieldErrorKind::Forbidden => "forbidden",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_go_writes_them() {
        assert_eq!(
            BadValue::json(&["*", "<&>"]),
            BadValue::Json(r#"["*","\u003c\u0026\u003e"]"#.into())
        );
        assert_eq!(BadValue::json(&-1), BadValue::Json("-1".into()));
    }
}
