//! The form of a reason: a code, its parameters, and one sentence.
//!
//! Reasons are enums with fields, in the crate that decides. They serialise with the tag `code`
//! beside their fields; codes and field names are API, sentences are not. [`WithMessage`] is what leaves
//! the system: all three together.

use std::{borrow::Cow, fmt::Display};

use serde::Serialize;

/// A reason for a decision. `Display` is its sentence: short, without a full stop.
pub trait Reason: Display + Serialize {}

/// A reason with its sentence, as `-o json`, conditions and the dashboard show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithMessage<R> {
    #[serde(flatten)]
    pub reason: R,
    pub message: String,
}

impl<R: Reason> From<R> for WithMessage<R> {
    fn from(reason: R) -> Self {
        let message = harmless(&reason.to_string()).into_owned();
        WithMessage { reason, message }
    }
}

/// Text from a cluster or a file, made harmless for a terminal: control characters, and those that
/// change the direction of writing, are spelled out.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() || turns
    };
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let spelled = |c: char| match c {
        c if is_harmful(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    Cow::Owned(text.chars().map(spelled).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(harmless("plain, zone-ä"), "plain, zone-ä");
        assert_eq!(harmless("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
    }
}
