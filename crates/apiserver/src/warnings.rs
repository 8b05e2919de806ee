//! The warnings of one response: without duplicates, and limited.
//!
//! Beyond 4,096 characters in total, each is cut to 256, and once that is too much as well, further
//! ones are dropped. Code that generates warnings from pairs checks [`Warnings::is_full`] and
//! stops, so that not all pairs are examined. Source:
//! `k8s.io/apiserver/pkg/endpoints/filters/warning.go`.

use std::collections::BTreeSet;

/// Total number of characters beyond which each warning is cut.
const MOST: usize = 4 * 1024;
/// Characters of a cut warning.
const MOST_OF_ONE: usize = 256;

/// Warnings in order.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    recorded: BTreeSet<String>,
    ordered: Vec<String>,
    /// Characters of what is sent.
    written: usize,
    cutting: bool,
}

impl Warnings {
    pub(crate) fn push(&mut self, text: String) {
        if text.is_empty() || self.is_full() || !self.recorded.insert(text.clone()) {
            return;
        }
        let length = self.length(&text);
        self.ordered.push(text);
        self.written += length;
        if self.written > MOST && !self.cutting {
            self.cutting = true;
            self.written = self.ordered.iter().map(|text| self.length(text)).sum();
        }
    }

    pub(crate) fn extend(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.push(text));
    }

    /// Whether all further warnings are dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.cutting && self.written >= MOST
    }

    /// The recorded warnings, uncut: recorded again elsewhere they give the same result.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.ordered
    }

    /// The values of the headers: `299 - "text"`.
    pub(crate) fn headers(&self) -> impl Iterator<Item = String> {
        let sent = self.ordered.iter().filter_map(|text| self.sent(text));
        sent.map(|text| format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    }

    fn length(&self, text: &str) -> usize {
        self.sent(text).map_or(0, |text| text.chars().count())
    }

    /// The part of a text to send; nothing if it has characters that are invalid in a header.
    fn sent<'a>(&self, text: &'a str) -> Option<&'a str> {
        let end = text.char_indices().nth(MOST_OF_ONE).filter(|_| self.cutting);
        let text = end.map_or(text, |(end, _)| &text[..end]);
        (!text.contains(char::is_control)).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(texts: impl IntoIterator<Item = String>) -> Warnings {
        let mut warnings = Warnings::default();
        warnings.extend(texts);
        warnings
    }

    fn lengths(warnings: &Warnings) -> Vec<usize> {
        warnings.headers().map(|value| value.chars().count() - "299 - \"\"".len()).collect()
    }

    #[test]
    fn warnings_are_unique_and_quoted() {
        let texts = ["a", "b \"c\" \\", "", "a", "line\nbreak", "ü"].map(str::to_owned);
        let values: Vec<String> = recorded(texts).headers().collect();
        assert_eq!(values, ["299 - \"a\"", "299 - \"b \\\"c\\\" \\\\\"", "299 - \"ü\""]);
    }

    #[test]
    fn as_long_as_all_fit_none_is_cut() {
        let warnings = recorded(["x".repeat(4000), "y".repeat(96)]);
        assert_eq!((lengths(&warnings), warnings.is_full()), (vec![4000, 96], false));
    }

    #[test]
    fn beyond_that_each_is_cut_and_then_further_ones_are_dropped() {
        let long = |n: usize| format!("{n:05}{}", "ü".repeat(400));
        let warnings = recorded((0..1000).map(long));
        assert_eq!(lengths(&warnings), [256; 16]);
        assert!(warnings.is_full());
        let one = recorded(["x".repeat(5000), "short".to_owned()]);
        assert_eq!((lengths(&one), one.is_full()), (vec![256, 5], false));
    }

    #[test]
    fn what_was_recorded_can_be_recorded_again() {
        for texts in [3, 300] {
            let first = recorded((0..texts).map(|n| format!("{n} {}", "x".repeat(40))));
            let headers: Vec<String> = first.headers().collect();
            let again = recorded(first.into_texts());
            assert_eq!(again.headers().collect::<Vec<_>>(), headers);
        }
    }
}
