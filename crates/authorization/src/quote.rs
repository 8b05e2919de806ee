//! Text in quotes as Go's `%q` writes it, which Kubernetes' messages use for every name.

use std::fmt::{self, Display, Formatter, Write};

/// One text in quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

/// A list of texts: `["a" "b"]`.
#[derive(Clone, Copy, Debug)]
pub struct QuotedList<'a>(pub &'a [String]);

// === impl Quoted ===

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                c if c < ' ' || c == '\u{7f}' => write!(f, "\\x{:02x}", u32::from(c))?,
                c if is_printed(c) => f.write_char(c)?,
                c if u32::from(c) > 0xffff => write!(f, "\\U{:08x}", u32::from(c))?,
                c => write!(f, "\\u{:04x}", u32::from(c))?,
            }
        }
        f.write_char('"')
    }
}

/// What Go's `strconv.IsPrint` accepts, as far as invisible characters that change how a message
/// reads are concerned: controls, other spaces than the ordinary one, and marks of direction.
fn is_printed(c: char) -> bool {
    !matches!(
        c,
        '\u{80}'..='\u{a0}'
            | '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{1680}'
            | '\u{180e}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{3000}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{10ffff}'
    )
}

// === impl QuotedList ===

impl Display for QuotedList<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (i, text) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_char(' ')?;
            }
            Quoted(text).fmt(f)?;
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_go_does() {
        let cases = [
            ("", r#""""#),
            ("a b", r#""a b""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\u{1}\u{7f}\n\t", r#""\x01\x7f\n\t""#),
            ("é→", "\"é→\""),
            ("\u{a0}\u{202e}\u{e0001}", r#""\u00a0\u202e\U000e0001""#),
        ];
        for (text, expected) in cases {
            assert_eq!(Quoted(text).to_string(), expected);
        }
        assert_eq!(QuotedList(&[]).to_string(), "[]");
        let two = ["a".to_owned(), "b\u{0}".to_owned()];
        assert_eq!(QuotedList(&two).to_string(), r#"["a" "b\x00"]"#);
    }
}
