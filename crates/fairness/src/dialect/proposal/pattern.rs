//! Patterns, anchored and bounded.
//!
//! The regex crate matches in time linear in the text whatever the pattern is; what a pattern can
//! cost is memory, and that is bounded here. Equal patterns are compiled once.

use regex::{Error, Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use super::fault::PatternFault;
use crate::dialect::problem::excerpt;

const MAX_LEN: usize = 4096;

/// Of a compiled pattern. One Unicode class takes some ten thousand bytes.
const MAX_SIZE: usize = 256 << 10;

/// Of all patterns of a configuration together.
const MAX_TOTAL: usize = 256 << 20;

/// What a pattern took can't be asked, only whether it stayed within a size; it is charged the
/// least of these that it does.
const SIZES: [usize; 3] = [16 << 10, 64 << 10, MAX_SIZE];

/// Of what a matching thread keeps for a pattern; with less the match is slower, not wrong.
const MAX_CACHE: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Patterns {
    compiled: FxHashMap<String, Regex>,
    charged: usize,
}

impl Patterns {
    /// A pattern that matches whole texts only.
    pub(super) fn anchored(&mut self, pattern: &str) -> Result<Regex, PatternFault> {
        if let Some(regex) = self.compiled.get(pattern) {
            return Ok(regex.clone());
        }
        let (regex, size) = compile(pattern)?;
        if self.charged + size > MAX_TOTAL {
            return Err(PatternFault::TooMuch { limit: MAX_TOTAL });
        }
        self.charged += size;
        self.compiled.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }

    /// The same, for what it captures.
    pub(super) fn capturing(&mut self, pattern: &str) -> Result<Regex, PatternFault> {
        let regex = self.anchored(pattern)?;
        if regex.captures_len() < 2 { Err(PatternFault::NoGroup) } else { Ok(regex) }
    }
}

/// With what it is charged.
fn compile(pattern: &str) -> Result<(Regex, usize), PatternFault> {
    if pattern.len() > MAX_LEN {
        return Err(PatternFault::TooLong { limit: MAX_LEN });
    }
    // `a)|(b` is none by itself, though it would be one between our parentheses.
    if pattern.contains(['(', ')']) {
        build(pattern, MAX_SIZE)?;
    }
    let within = |size: &usize| match anchor(pattern, *size) {
        Err(PatternFault::TooBig { .. }) if *size < MAX_SIZE => None,
        outcome => Some(outcome.map(|regex| (regex, *size))),
    };
    SIZES.iter().find_map(within).expect("the outcome with the largest size counts in any case")
}

fn anchor(pattern: &str, size: usize) -> Result<Regex, PatternFault> {
    // In verbose mode a comment at the end would hide our parenthesis, and a line's end is free.
    build(&format!(r"\A(?:{pattern})\z"), size).or_else(|fault| match fault {
        PatternFault::Syntax { .. } if pattern.contains('#') => {
            build(&format!("\\A(?:{pattern}\n)\\z"), size)
        }
        fault => Err(fault),
    })
}

fn build(pattern: &str, size: usize) -> Result<Regex, PatternFault> {
    let built = RegexBuilder::new(pattern).size_limit(size).dfa_size_limit(MAX_CACHE).build();
    built.map_err(|error| match error {
        Error::CompiledTooBig(_) => PatternFault::TooBig { limit: size },
        error => PatternFault::Syntax { message: last_line(&error.to_string()) },
    })
}

/// The lines before draw an arrow at the location; in one line they would only confuse.
fn last_line(message: &str) -> String {
    let line = message.lines().next_back().unwrap_or_default();
    excerpt(line.strip_prefix("error: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_texts_only() {
        let cases = [
            ("a|ab", "ab", true),
            ("a|ab", "abc", false),
            ("system:.*", "system:x", true),
            ("system:.*", "my system:x", false),
            ("", "", true),
            ("", "a", false),
            ("(?x) a b # words", "ab", true),
            ("(?m)^a$", "a\na", false),
        ];
        for (pattern, text, matches) in cases {
            let regex = Patterns::default().anchored(pattern).unwrap();
            assert_eq!(regex.is_match(text), matches, "{pattern:?} on {text:?}");
        }
    }

    #[test]
    fn patterns_that_are_none_or_cost_too_much_are_rejected() {
        let long = "a".repeat(MAX_LEN + 1);
        for pattern in ["(", "a)|(b", "[", "(?P<a", r"\p{Nonsense}", "a{2,1}", "(?<=a)b", &long] {
            assert!(Patterns::default().anchored(pattern).is_err(), "{pattern:?}");
        }
        for pattern in [r"(\w{1000}){1000}", "((a{100}){100}){100}", r"\p{L}{5000}"] {
            let fault = Patterns::default().anchored(pattern).unwrap_err();
            assert_eq!(fault, PatternFault::TooBig { limit: MAX_SIZE }, "{pattern:?}");
        }
        let nested = "(".repeat(1000) + &")".repeat(1000);
        assert!(Patterns::default().anchored(&nested).is_err());
        assert_eq!(Patterns::default().capturing("a.*").unwrap_err(), PatternFault::NoGroup);
        assert_eq!(Patterns::default().capturing("(?:a)").unwrap_err(), PatternFault::NoGroup);
    }

    #[test]
    fn patterns_together_are_bounded_and_equal_ones_count_once() {
        let mut patterns = Patterns::default();
        let of = |i: usize| format!(r"{i}\pL{{6}}");
        let rejected = (0..).find(|i| patterns.anchored(&of(*i)).is_err());
        assert_eq!(rejected, Some(MAX_TOTAL / MAX_SIZE));
        assert!(patterns.anchored(&of(0)).is_ok(), "this one is there already");
        let too_much = PatternFault::TooMuch { limit: MAX_TOTAL };
        assert_eq!(patterns.anchored("one more").unwrap_err(), too_much);
    }

    #[test]
    fn ten_thousand_plain_patterns_are_not_too_much() {
        let mut patterns = Patterns::default();
        for i in 0..10_000 {
            patterns.anchored(&format!("tenant-{i}-(a|b)+-.*")).unwrap();
        }
    }

    #[test]
    fn a_pattern_that_ruins_backtracking_matches_in_linear_time() {
        let regex = Patterns::default().anchored("(a+)+b").unwrap();
        assert!(!regex.is_match(&"a".repeat(100_000)));
    }
}
