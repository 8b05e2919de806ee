//! Regular expressions of rules.
//!
//! `matches` reads Go's syntax as patterns of schemas do. What `find` and `findAll` find is read in
//! the syntax of the crate `regex`, in which `\d`, `\s` and `\w` are Unicode's.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use crate::schema::Pattern;

/// The memory that a compiled regular expression may take.
const MOST_SIZE: usize = 1 << 20;

/// A regular expression that is compiled at first use.
#[derive(Debug)]
pub(super) struct Expression {
    pattern: Pattern,
    finder: OnceLock<Option<Regex>>,
}

impl Expression {
    /// A regular expression; nothing if the text is none.
    pub(super) fn new(text: &str) -> Option<Expression> {
        let pattern = Pattern::new(text);
        pattern.check().ok()?;
        Some(Expression { pattern, finder: OnceLock::new() })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }

    /// What it matches in a text; nothing if it cannot be compiled.
    pub(super) fn find_all<'t>(&self, text: &'t str, most: usize) -> Option<Vec<&'t str>> {
        let compile = || {
            let mut builder = RegexBuilder::new(self.pattern.as_str());
            builder.size_limit(MOST_SIZE).dfa_size_limit(MOST_SIZE).build().ok()
        };
        let finder = self.finder.get_or_init(compile).as_ref()?;
        Some(finder.find_iter(text).take(most).map(|found| found.as_str()).collect())
    }
}
