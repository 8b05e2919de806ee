//! The query of a request, and the options parsed from it.
//!
//! Kubernetes converts leniently: a boolean is false if it is absent, `0` or `false` in any case,
//! and true otherwise, also if it is empty; unknown parameters are ignored.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::{
    invalid::{FieldError, Path},
    status::{Failure, Result},
};

/// The decoded pairs, in order.
#[derive(Debug, Default)]
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// How to treat fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options of all writes.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
}

impl<'a> Query<'a> {
    pub(crate) fn parse(text: &'a str) -> Query<'a> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        });
        Query(pairs.collect())
    }

    /// The first value of a parameter; `""` if absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        let value = self.all(name).next();
        value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.all(name).next() else { return Ok(None) };
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let wrong = match text.parse() {
            Ok(number) => return Ok(Some(number)),
            Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                "value out of range"
            }
            Err(_) => "invalid syntax",
        };
        Err(Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: {wrong}")))
    }

    /// The options of a create, an update or a patch. `of` is `CreateOptions` and so on.
    pub(crate) fn write_options(&self, of: &str) -> Result<WriteOptions> {
        let mut errors = Vec::new();
        if of == "PatchOptions" && self.has("force") {
            let why = "may not be specified for non-apply patch";
            errors.push(FieldError::forbidden(Path::root("force"), why));
        }
        self.check_field_manager(&mut errors);
        let dry_run = self.dry_run(&mut errors);
        let field_validation = match self.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                let path = Path::root("fieldValidation");
                errors.push(FieldError::not_supported(path, &json!(other), &known));
                FieldValidation::Warn
            }
        };
        refuse(of, &errors)?;
        Ok(WriteOptions { dry_run, field_validation })
    }

    pub(crate) fn dry_run(&self, errors: &mut Vec<FieldError>) -> bool {
        let values: Vec<&str> = self.all("dryRun").collect();
        check_dry_run(&values.iter().map(|value| json!(value)).collect::<Vec<_>>(), errors);
        !values.is_empty()
    }

    /// At most 128 printable characters.
    fn check_field_manager(&self, errors: &mut Vec<FieldError>) {
        let manager = self.text("fieldManager");
        let path = Path::root("fieldManager");
        if manager.len() > 128 {
            errors.push(FieldError::too_long(path.clone(), 128));
        }
        let printable = |c: char| !c.is_control();
        if let Some((position, c)) = manager.char_indices().find(|(_, c)| !printable(*c)) {
            let wrong = format!("invalid character U+{:04X} (at position {position})", c as u32);
            errors.push(FieldError::invalid(path, &json!(manager), wrong));
        }
    }
}

/// `All` or nothing.
pub(crate) fn check_dry_run(values: &[Value], errors: &mut Vec<FieldError>) {
    if values.iter().any(|value| value != "All") {
        let all = Value::Array(values.to_vec());
        errors.push(FieldError::not_supported(Path::root("dryRun"), &all, &["All"]));
    }
}

/// A 422 about options.
pub(crate) fn refuse(of: &str, errors: &[FieldError]) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_as("meta.k8s.io", of, "", errors))
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['+', '%']) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_invalid_write_options_are_reported_in_kubernetes_order() {
        let table = [
            (
                "PatchOptions",
                "force=true",
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified \
                 for non-apply patch",
            ),
            (
                "CreateOptions",
                "fieldValidation=x&dryRun=y&fieldManager=%01",
                "CreateOptions.meta.k8s.io \"\" is invalid: [fieldManager: Invalid value: \
                 \"\\x01\": invalid character U+0001 (at position 0), dryRun: Unsupported value: \
                 [\"y\"]: supported values: \"All\", fieldValidation: Unsupported value: \"x\": \
                 supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"]",
            ),
        ];
        for (of, text, words) in table {
            let failure = Query::parse(text).write_options(of).expect_err(text);
            assert_eq!(failure.message(), words);
        }
        assert!(Query::parse("force=true").write_options("CreateOptions").is_ok());
    }
}
