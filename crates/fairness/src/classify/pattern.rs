//! Patterns that need no regex: most are a literal, or a literal and `.*`.

use regex::Regex;

/// A pattern, anchored at both ends, in the cheapest form that says the same.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Literal(Box<str>),
    /// `literal.*`: the rest is anything but a line feed, for that is what `.` is.
    Prefix(Box<str>),
    Regex(Regex),
}

impl Pattern {
    pub(super) fn new(regex: &Regex) -> Self {
        simple(regex).unwrap_or_else(|| Pattern::Regex(regex.clone()))
    }

    pub(super) fn is_match(&self, value: &str) -> bool {
        match self {
            Pattern::Literal(literal) => value == &**literal,
            Pattern::Prefix(prefix) => {
                value.strip_prefix(&**prefix).is_some_and(|rest| !rest.contains('\n'))
            }
            Pattern::Regex(regex) => regex.is_match(value),
        }
    }
}

fn simple(regex: &Regex) -> Option<Pattern> {
    let text = regex.as_str();
    let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let inner = within("^(?:", ")$").or_else(|| within(r"\A(?:", r")\z"))?;
    let pattern = match inner.strip_suffix(".*") {
        Some(prefix) => Pattern::Prefix(unescape(prefix)?),
        None => Pattern::Literal(unescape(inner)?),
    };
    agrees(&pattern, regex).then_some(pattern)
}

/// The text that a pattern without operators matches.
fn unescape(pattern: &str) -> Option<Box<str>> {
    let mut literal = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => literal.push(rest.next().filter(char::is_ascii_punctuation)?),
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                return None;
            }
            c => literal.push(c),
        }
    }
    Some(literal.into())
}

/// Flags given to a builder (letter case, lines, white space) do not show in the text of a regex,
/// so it is asked about the values on which they would show.
fn agrees(pattern: &Pattern, regex: &Regex) -> bool {
    let (Pattern::Literal(text) | Pattern::Prefix(text)) = pattern else { return false };
    let swapped: String = text.chars().map(swap_case).collect();
    let mut probes = vec![text.to_string(), swapped];
    probes.extend(["x", "\n", "\r", "\r\n", "x\ny"].map(|tail| format!("{text}{tail}")));
    probes.push(format!("\n{text}"));
    probes.iter().all(|probe| pattern.is_match(probe) == regex.is_match(probe))
}

fn swap_case(c: char) -> char {
    let swapped = if c.is_lowercase() { c.to_uppercase().next() } else { c.to_lowercase().next() };
    swapped.unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use regex::RegexBuilder;

    use super::*;

    fn anchored(pattern: &str) -> Regex {
        Regex::new(&format!("^(?:{pattern})$")).unwrap()
    }

    fn kind(regex: &Regex) -> String {
        match Pattern::new(regex) {
            Pattern::Literal(text) => format!("literal {text}"),
            Pattern::Prefix(text) => format!("prefix {text}"),
            Pattern::Regex(_) => "regex".to_owned(),
        }
    }

    #[test]
    fn literals_and_prefixes_need_no_regex() {
        let cases = [
            ("kube-system", "literal kube-system"),
            (r"a\.b\*", "literal a.b*"),
            ("", "literal "),
            ("system:controller:.*", "prefix system:controller:"),
            (".*", "prefix "),
            (r"a\.*", "regex"),
            (r"a\\.*", r"prefix a\"),
            ("a|b", "regex"),
            ("a.b", "regex"),
            (r"\d", "regex"),
            ("(?i)a", "regex"),
            ("a.*b.*", "regex"),
            ("a)|(?:b", "regex"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(kind(&anchored(pattern)), expected, "{pattern}");
        }
        assert_eq!(kind(&Regex::new(r"\A(?:x.*)\z").unwrap()), "prefix x");
        assert_eq!(kind(&Regex::new("^x|y$").unwrap()), "regex");
    }

    #[test]
    fn the_dot_does_not_match_a_line_feed() {
        for value in ["ab", "a", "a\n", "a\nb", "b", "\na", "a\r"] {
            let regex = anchored("a.*");
            assert_eq!(Pattern::new(&regex).is_match(value), regex.is_match(value), "{value:?}");
        }
    }

    #[test]
    fn flags_of_a_builder_are_noticed() {
        let built = |pattern: &str, set: fn(&mut RegexBuilder) -> &mut RegexBuilder| {
            kind(&set(&mut RegexBuilder::new(&format!("^(?:{pattern})$"))).build().unwrap())
        };
        assert_eq!(built("ab", |b| b.case_insensitive(true)), "regex");
        assert_eq!(built("ab.*", |b| b.dot_matches_new_line(true)), "regex");
        assert_eq!(built("ab", |b| b.multi_line(true)), "regex");
        assert_eq!(built("a b", |b| b.ignore_whitespace(true)), "regex");
        assert_eq!(built("ab", |b| b.unicode(true)), "literal ab");
    }
}
