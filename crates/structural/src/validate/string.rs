//! Strings: lengths in characters, patterns, formats.

use super::{Validator, format_of, name::Name};
use crate::{
    error::{FieldErrorType, quoted},
    format::Format,
    schema::{Schema, Type, ValueValidation},
};

impl Validator<'_> {
    /// Returns how many checks passed.
    pub(super) fn check_string(&mut self, schema: &Schema, text: &str, name: &Name<'_>) -> usize {
        let values = schema.values();
        self.check_text(values, text, name);
        let Some(format) =
            format_of(schema).filter(|_| !matches!(schema.type_, Type::Integer | Type::Number))
        else {
            return 1;
        };
        if Format::of(format).is_some_and(|format| !format.accepts(text)) {
            self.fail(name, |name| {
                let detail = format!("{name} in body must be of type {format}: {}", quoted(text));
                (FieldErrorType::TypeInvalid(quoted(text)), detail)
            });
        }
        2
    }

    /// Only the first of these errors is listed.
    fn check_text(&mut self, values: &ValueValidation, text: &str, name: &Name<'_>) {
        if let Some(most) = values.max_length.filter(|most| is_longer(text, *most)) {
            let bytes = if most == 1 { "byte" } else { "bytes" };
            let detail = match most {
                ..0 => "value is too long".to_owned(),
                most => format!("may not be more than {most} {bytes}"),
            };
            return self.fail(name, |_| (FieldErrorType::TooLong, detail));
        }
        if let Some(least) = values.min_length.filter(|least| !is_longer(text, least - 1)) {
            return self.fail(name, |name| {
                let detail = format!("{name} in body should be at least {least} chars long");
                (FieldErrorType::Invalid(quoted(text)), detail)
            });
        }
        if let Some(pattern) = values.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            self.fail(name, |name| {
                let detail = format!("{name} in body should match '{}'", pattern.as_str());
                (FieldErrorType::Invalid(quoted(text)), detail)
            });
        }
    }
}

/// Whether a text has more characters than that.
fn is_longer(text: &str, most: i64) -> bool {
    let Ok(most) = usize::try_from(most) else { return true };
    // A character has at most four bytes.
    text.len() > most && (text.len() / 4 > most || text.chars().count() > most)
}
