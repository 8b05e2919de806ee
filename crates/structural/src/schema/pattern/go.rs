//! Go's syntax of regular expressions, translated to that of the crate `regex`.
//!
//! Source: <https://github.com/google/re2/wiki/Syntax> and Go's `regexp/syntax/parse.go`, whose
//! error texts are used. The differences: `\d`, `\s`, `\w` and `\b` are ASCII in Go; `\Q…\E` and
//! octal escapes exist in Go only; `\<`, nested classes, operators in classes and the flags `x`, `u`
//! and `R` exist in Rust only; a brace that is no repetition is a literal in Go. `\B` is Unicode's
//! here, which differs from Go's next to letters outside ASCII.

use super::class;

pub(super) type Result<T> = std::result::Result<T, String>;

/// Maximum of a counted repetition.
const MOST_REPEATED: u32 = 1000;

/// The translation, and its weight: about how many states it is compiled to.
pub(super) fn translate(pattern: &str) -> Result<(String, usize)> {
    let mut translation = Translation {
        pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        groups: Vec::new(),
        total: 0,
        last: None,
    };
    while !translation.rest.is_empty() {
        translation.item()?;
    }
    if !translation.groups.is_empty() {
        return Err(format!("missing closing ): `{pattern}`"));
    }
    Ok((translation.out, translation.total))
}

struct Translation<'a> {
    pattern: &'a str,
    rest: &'a str,
    out: String,
    /// The weights before each open group.
    groups: Vec<usize>,
    /// The weight so far in the current group.
    total: usize,
    last: Option<Last>,
}

/// What a repetition would apply to.
#[derive(Clone, Copy)]
enum Last {
    Atom {
        weight: usize,
    },
    /// A repetition, which starts where so many bytes remain.
    Repetition {
        remaining: usize,
    },
}

impl Translation<'_> {
    fn item(&mut self) -> Result<()> {
        let Some(c) = self.rest.chars().next() else { return Ok(()) };
        match c {
            '(' => self.open(),
            ')' => self.close(),
            '|' => {
                self.copy(1);
                self.last = None;
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(1, None),
            '{' => match repetition(self.rest) {
                Some((len, least, most)) => {
                    let count = most.unwrap_or(least);
                    if count > MOST_REPEATED || least > count {
                        return Err(format!("invalid repeat count: `{}`", &self.rest[..len]));
                    }
                    self.repeat(len, Some(count.max(1)))
                }
                None => {
                    self.literal('{');
                    self.skip(1);
                    Ok(())
                }
            },
            '[' => {
                let (len, class) = class::translate(self.rest)?;
                self.out.push_str(&class.text);
                self.skip(len);
                self.atom(class.weight);
                Ok(())
            }
            '\\' => self.escape(),
            '^' | '$' => {
                self.copy(1);
                self.atom(1);
                Ok(())
            }
            '.' => {
                self.copy(1);
                self.atom(10);
                Ok(())
            }
            c => {
                self.literal(c);
                self.skip(c.len_utf8());
                Ok(())
            }
        }
    }

    fn open(&mut self) -> Result<()> {
        let len = match self.rest.strip_prefix("(?") {
            Some(rest) => flags(self.rest, rest)?,
            None => 1,
        };
        let is_group = !self.rest[..len].ends_with(')');
        self.copy(len);
        if is_group {
            self.groups.push(self.total);
            self.total = 0;
        }
        self.last = None;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(before) = self.groups.pop() else {
            return Err(format!("unexpected ): `{}`", self.pattern));
        };
        let weight = self.total;
        self.total = before;
        self.copy(1);
        self.atom(weight);
        Ok(())
    }

    /// A repetition operator of so many bytes, which counts to so many if it is counted.
    fn repeat(&mut self, len: usize, count: Option<u32>) -> Result<()> {
        let remaining = self.rest.len();
        let op = &self.rest[..len];
        let weight = match self.last {
            None => return Err(format!("missing argument to repetition operator: `{op}`")),
            Some(Last::Repetition { remaining }) => {
                let start = self.pattern.len() - remaining;
                let end = self.pattern.len() - self.rest.len() + len;
                let ops = &self.pattern[start..end];
                return Err(format!("invalid nested repetition operator: `{ops}`"));
            }
            Some(Last::Atom { weight }) => weight,
        };
        let count = count.map_or(1, |count| count as usize);
        let added = weight.saturating_mul(count - 1);
        self.total = self.total.saturating_add(added);
        self.copy(len);
        if self.rest.starts_with('?') {
            self.copy(1);
        }
        self.last = Some(Last::Repetition { remaining });
        Ok(())
    }

    fn escape(&mut self) -> Result<()> {
        let rest = &self.rest[1..];
        let Some(c) = rest.chars().next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        if c == 'Q' {
            let (quoted, after) = rest[1..].split_once("\\E").unwrap_or((&rest[1..], ""));
            quoted.chars().for_each(|c| self.literal(c));
            self.rest = after;
            return Ok(());
        }
        let assertion = match c {
            'A' | 'z' | 'B' => Some(&self.rest[..2]),
            'b' => Some("(?-u:\\b)"),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.out.push_str(assertion);
            self.skip(2);
            self.atom(1);
            return Ok(());
        }
        let (len, text, weight) = class::escape(self.rest, false)?;
        self.out.push_str(&text);
        self.skip(len);
        self.atom(weight);
        Ok(())
    }

    fn literal(&mut self, c: char) {
        class::push_literal(&mut self.out, c);
        self.atom(1);
    }

    fn atom(&mut self, weight: usize) {
        self.total = self.total.saturating_add(weight);
        self.last = Some(Last::Atom { weight });
    }

    fn copy(&mut self, len: usize) {
        self.out.push_str(&self.rest[..len]);
        self.skip(len);
    }

    fn skip(&mut self, len: usize) {
        self.rest = &self.rest[len..];
    }
}

/// The length of `{n}`, `{n,}` or `{n,m}` and its counts.
fn repetition(text: &str) -> Option<(usize, u32, Option<u32>)> {
    let end = text.find('}')?;
    let inner = &text[1..end];
    let number = |digits: &str| {
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        let fits =
            !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) && !leading_zero;
        // What is too large to hold is too large to be allowed.
        fits.then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let (least, most) = match inner.split_once(',') {
        None => (number(inner)?, Some(number(inner)?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((end + 1, least, most))
}

/// The length of `(?flags)`, `(?flags:`, `(?P<name>` or `(?<name>`.
fn flags(whole: &str, rest: &str) -> Result<usize> {
    let named = rest.strip_prefix("P<").or_else(|| rest.strip_prefix('<'));
    if let Some(name) = named {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = name.find('>').filter(|end| *end > 0 && name[..*end].chars().all(word));
        let start = whole.len() - name.len();
        return match end {
            Some(end) => Ok(start + end + 1),
            None => {
                let shown = name.find('>').map_or(whole, |end| &whole[..=start + end]);
                Err(format!("invalid named capture: `{shown}`"))
            }
        };
    }
    let mut set = false;
    let mut negated = false;
    for (at, c) in rest.char_indices() {
        let end = 2 + at + c.len_utf8();
        match c {
            'i' | 'm' | 's' | 'U' => set = true,
            '-' if !negated => (negated, set) = (true, false),
            ':' | ')' if !negated || set => return Ok(end),
            _ => return Err(format!("invalid or unsupported Perl syntax: `{}`", &whole[..end])),
        }
    }
    Err(format!("missing closing ): `{whole}`"))
}
