//! A regular expression that is compiled at first use.
//!
//! Go's and this crate's engine both search in linear time. The size of a compiled expression is
//! bounded, at the latest when the definition is checked.

mod class;
mod go;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A regular expression in Go's syntax, which matches anywhere in a text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Option<Box<Regex>>>,
}

/// Maximum size of a compiled expression, in bytes.
const MOST_SIZE: usize = 4 << 20;
/// Maximum weight of an expression: about the number of its states.
const MOST_WEIGHT: usize = 1 << 17;

impl Pattern {
    /// A pattern, not compiled yet.
    pub fn new(text: &str) -> Pattern {
        Pattern { text: text.into(), compiled: OnceLock::new() }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in a text; nothing matches what is no regular expression.
    pub fn is_match(&self, text: &str) -> bool {
        let compile = || {
            let (translated, _) = go::translate(&self.text).ok()?;
            Some(Box::new(builder(&translated).build().ok()?))
        };
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Why it is no regular expression, or none that can be used here; its weight otherwise.
    pub(crate) fn check(&self) -> Result<usize, String> {
        let (translated, weight) =
            go::translate(&self.text).map_err(|error| format!("error parsing regexp: {error}"))?;
        if weight > MOST_WEIGHT {
            return Err("expression is too large: not supported by this server".to_owned());
        }
        match builder(&translated).build() {
            Ok(_) => Ok(weight),
            Err(regex::Error::CompiledTooBig(_)) => {
                Err("expression is too large: not supported by this server".to_owned())
            }
            Err(error) => {
                let text = error.to_string();
                let last = text.lines().next_back().unwrap_or_default();
                Err(format!("not supported by this server: {last}"))
            }
        }
    }
}

fn builder(translated: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(translated);
    builder.size_limit(MOST_SIZE).nest_limit(100);
    builder
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests;
