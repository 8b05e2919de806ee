//! Numbers and names as people read them.

use evenkeel_model::harmless;
use serde::Serialize;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// Computed from objects: clients are taken to send in proportion to the CPU of their zone.
    Predicted,
    /// Counted by proxies.
    Measured,
    /// Neither. It is shown as a word, never as zero.
    Unknown,
}

/// A figure with its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    pub value: Option<f64>,
    pub text: String,
    pub basis: Basis,
}

/// The longest name that is shown whole. Names of zones are labels, whatever a hostile object says.
const LONGEST: usize = 120;
/// The longest message of a peer that is shown whole.
const LONGEST_MESSAGE: usize = 400;

/// 0.333 as `33.3 %`, 1 as `100 %`: as `evenkeel explain` prints them.
pub(super) fn percent(ratio: f64) -> String {
    let value = (ratio * 1000.0).round() / 10.0;
    format!("{value} %")
}

/// Text of an object, without what changes the direction of writing, and of bounded length.
pub(super) fn shown(text: &str) -> String {
    cut(text, LONGEST)
}

/// What a peer says, as [`shown`] but longer.
pub(super) fn message(text: &str) -> String {
    cut(text, LONGEST_MESSAGE)
}

/// Of a long text only the beginning is looked at.
fn cut(text: &str, most: usize) -> String {
    let beginning = text.char_indices().nth(most + 1).map_or(text, |(end, _)| &text[..end]);
    let text = harmless(beginning);
    if text.chars().count() <= most {
        return text.into_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The name of a zone; clients and endpoints may have none.
pub(super) fn zone_label(name: &str) -> String {
    match name {
        "" => "no zone".to_owned(),
        name => shown(name),
    }
}

/// `1 endpoint`, `3 endpoints`.
pub(super) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

// === impl Number ===

impl Number {
    pub(super) fn predicted(ratio: f64) -> Number {
        Number { value: Some(ratio), text: percent(ratio), basis: Basis::Predicted }
    }

    /// A part of what was counted; of nothing, it is unknown.
    pub(super) fn measured(part: u64, of: u64) -> Number {
        if of == 0 {
            return Number::unknown();
        }
        let ratio = part as f64 / of as f64;
        Number { value: Some(ratio), text: percent(ratio), basis: Basis::Measured }
    }

    pub(super) fn unknown() -> Number {
        Number { value: None, text: "unknown".to_owned(), basis: Basis::Unknown }
    }

    pub(super) fn maybe(ratio: Option<f64>) -> Number {
        ratio.map_or_else(Number::unknown, Number::predicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_a_word_and_never_zero() {
        assert_eq!(Number::maybe(Some(0.0)).text, "0 %");
        let unknown = Number::maybe(None);
        assert_eq!((unknown.text.as_str(), unknown.value), ("unknown", None));
    }

    #[test]
    fn names_are_bounded_and_keep_their_direction() {
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
        for long in ["x", "\u{202e}", "ä"] {
            assert_eq!(shown(&long.repeat(1 << 20)).chars().count(), LONGEST);
            assert_eq!(message(&long.repeat(1 << 20)).chars().count(), LONGEST_MESSAGE);
        }
    }
}
