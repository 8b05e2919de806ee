//! Scans JSON byte by byte, with Go's rules and error messages.
//!
//! Accepts exactly what Go's `encoding/json` accepts: at most 10,000 levels, and invalid UTF-8, in
//! which each bad byte becomes a replacement character. Skipping a value uses no stack. This is the
//! only scanner of JSON; whoever reads a text without building a value calls it step by step.

use std::borrow::Cow;

use super::DecodeError;

/// Go's limit.
const MOST_LEVELS: usize = 10_000;

/// A position in a text.
#[derive(Debug)]
pub struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
    levels: usize,
}

type Result<T> = std::result::Result<T, DecodeError>;

/// Checks that a text is one JSON value.
pub fn check_syntax(json: &[u8]) -> Result<()> {
    let mut scanner = Scanner::new(json);
    scanner.skip()?;
    scanner.end()
}

impl<'a> Scanner<'a> {
    pub fn new(input: &'a [u8]) -> Scanner<'a> {
        Scanner { input, at: 0, levels: 0 }
    }

    /// The next byte that is not whitespace, without consuming it.
    pub fn peek(&mut self) -> Result<u8> {
        while let Some(&byte) = self.input.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(DecodeError::Syntax("unexpected end of JSON input".to_owned()))
    }

    /// The position of the next value.
    pub fn start(&mut self) -> Result<usize> {
        self.peek().map(|_| self.at)
    }

    /// The text from `start` to the current position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.input[start..self.at]
    }

    /// Fails if anything follows.
    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            Ok(byte) => Err(unexpected(byte, "after top-level value")),
            Err(_) => Ok(()),
        }
    }

    /// Consumes the brace or bracket that `peek` returned.
    pub fn open(&mut self) -> Result<()> {
        self.at += 1;
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(DecodeError::Syntax("exceeded max depth".to_owned()));
        }
        Ok(())
    }

    /// The number of open objects and arrays.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The next key of an object, or its end.
    pub fn key(&mut self, first: bool) -> Result<Option<Cow<'a, str>>> {
        let mut byte = self.peek()?;
        if byte == b'}' {
            return self.close();
        }
        if !first {
            if byte != b',' {
                return Err(unexpected(byte, "after object key:value pair"));
            }
            self.at += 1;
            byte = self.peek()?;
        }
        if byte != b'"' {
            return Err(unexpected(byte, "looking for beginning of object key string"));
        }
        let key = self.text()?;
        match self.peek()? {
            b':' => self.at += 1,
            byte => return Err(unexpected(byte, "after object key")),
        }
        Ok(Some(key))
    }

    /// Whether an array has another element.
    pub fn element(&mut self, first: bool) -> Result<bool> {
        match self.peek()? {
            b']' => return self.close::<()>().map(|_| false),
            _ if first => {}
            b',' => self.at += 1,
            byte => return Err(unexpected(byte, "after array element")),
        }
        Ok(true)
    }

    fn close<T>(&mut self) -> Result<Option<T>> {
        self.at += 1;
        self.levels -= 1;
        Ok(None)
    }

    /// A string. Borrowed unless it contains escapes or invalid UTF-8.
    pub fn text(&mut self) -> Result<Cow<'a, str>> {
        let (raw, escaped) = self.raw_text()?;
        match std::str::from_utf8(raw) {
            Ok(text) if !escaped => Ok(Cow::Borrowed(text)),
            _ => Ok(Cow::Owned(unescaped(raw))),
        }
    }

    /// The text between the quotes, and whether it contains escapes.
    fn raw_text(&mut self) -> Result<(&'a [u8], bool)> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain(&self.input[self.at..]);
            match self.next()? {
                b'"' => return Ok((&self.input[start..self.at - 1], escaped)),
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                byte if byte < b' ' => return Err(unexpected(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        match self.next()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => (0..4).try_for_each(|_| match self.next()? {
                byte if byte.is_ascii_hexdigit() => Ok(()),
                byte => Err(unexpected(byte, "in \\u hexadecimal character escape")),
            }),
            byte => Err(unexpected(byte, "in string escape code")),
        }
    }

    fn next(&mut self) -> Result<u8> {
        let byte = self.input.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| DecodeError::Syntax("unexpected end of JSON input".to_owned()))
    }

    /// A number, as written.
    pub fn number(&mut self) -> Result<&'a str> {
        let start = self.at;
        if self.next_is(b'-') {
            self.at += 1;
        }
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            byte => return Err(unexpected(byte, "in numeric literal")),
        }
        if self.next_is(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if self.next_is(b'e') || self.next_is(b'E') {
            self.at += 1;
            if self.next_is(b'+') || self.next_is(b'-') {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(std::str::from_utf8(&self.input[start..self.at]).expect("digits are ASCII"))
    }

    fn next_is(&self, byte: u8) -> bool {
        self.input.get(self.at) == Some(&byte)
    }

    fn digits(&mut self) {
        while self.input.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, context: &str) -> Result<()> {
        match self.next()? {
            b'0'..=b'9' => self.digits(),
            byte => return Err(unexpected(byte, context)),
        }
        Ok(())
    }

    /// `true`, `false` or `null`, whose first letter `peek` returned.
    pub fn literal(&mut self) -> Result<Literal> {
        let (word, literal) = match self.input[self.at] {
            b't' => ("true", Literal::Bool(true)),
            b'f' => ("false", Literal::Bool(false)),
            b'n' => ("null", Literal::Null),
            byte => return Err(unexpected(byte, "looking for beginning of value")),
        };
        self.at += 1;
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                let expecting = char::from(expected);
                let context = format!("in literal {word} (expecting '{expecting}')");
                return Err(unexpected(byte, &context));
            }
        }
        Ok(literal)
    }

    /// Skips a value.
    pub fn skip(&mut self) -> Result<()> {
        let mut open: Vec<u8> = Vec::new();
        let mut first = false;
        loop {
            let inside = match open.last() {
                None => true,
                Some(b'{') => self.key(first)?.is_some(),
                Some(_) => self.element(first)?,
            };
            first = false;
            if !inside {
                open.pop();
            } else {
                match self.peek()? {
                    byte @ (b'{' | b'[') => {
                        self.open()?;
                        open.push(byte);
                        first = true;
                    }
                    b'"' => drop(self.raw_text()?),
                    b'-' | b'0'..=b'9' => drop(self.number()?),
                    _ => drop(self.literal()?),
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

/// The number of leading bytes known to be plain text: no quote, backslash or control character.
/// Checks eight bytes at a time: a byte less than `n` borrows when `n` is subtracted from it.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word;
    let is_plain = |chunk: &&[u8; 8]| {
        let word = u64::from_le_bytes(**chunk);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        (quote | backslash | below(word, 0x20)) & (ONES * 0x80) == 0
    };
    bytes.as_chunks().0.iter().take_while(is_plain).count() * 8
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    Null,
    Bool(bool),
}

fn unexpected(byte: u8, context: &str) -> DecodeError {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        byte => {
            let quoted = quoted(char::from(byte).encode_utf8(&mut [0; 4]));
            quoted[1..quoted.len() - 1].to_owned()
        }
    };
    DecodeError::Syntax(format!("invalid character '{shown}' {context}"))
}

/// The value of a string. The scanner has checked the escapes.
fn unescaped(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        push_lossy(&mut out, &rest[..at]);
        rest = &rest[at + 1..];
        let (c, length) = match rest[0] {
            b'b' => ('\u{8}', 1),
            b'f' => ('\u{c}', 1),
            b'n' => ('\n', 1),
            b'r' => ('\r', 1),
            b't' => ('\t', 1),
            b'u' => unicode(rest),
            byte => (char::from(byte), 1),
        };
        out.push(c);
        rest = &rest[length..];
    }
    push_lossy(&mut out, rest);
    out
}

/// The character of one `uXXXX`, or of a surrogate pair, and its length.
fn unicode(rest: &[u8]) -> (char, usize) {
    let unit = |digits: &[u8]| {
        std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok())
    };
    let first = unit(&rest[1..5]).unwrap_or(0xfffd);
    let second = match rest.get(5..11) {
        Some(next) if next.starts_with(b"\\u") => unit(&next[2..]),
        _ => None,
    };
    if let Ok(c) = char::try_from(u32::from(first)) {
        return (c, 5);
    }
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 5), |c| (c, 11))
}

fn push_lossy(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Go's `strconv.Quote`.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\u{80}'..='\u{a0}' | '\u{ad}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_have_go_s_messages() {
        for (text, words) in [
            ("", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{", "unexpected end of JSON input"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            (r#"{"a" 1"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b""#, "invalid character '\"' after object key:value pair"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("{\"a\nb\":1}", "invalid character '\\n' in string literal"),
            (r#"{"\x":1}"#, "invalid character 'x' in string escape code"),
            (r#"{"\u00g0":1}"#, "invalid character 'g' in \\u hexadecimal character escape"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("01", "invalid character '1' after top-level value"),
        ] {
            let error = check_syntax(text.as_bytes()).expect_err(text);
            assert_eq!(error, DecodeError::Syntax(words.to_owned()), "{text}");
        }
        for text in ["null", "{}", " {\"a\": [1, {\"b\": [[], {}]}, -0.1e+5, true, null]} \n"] {
            assert_eq!(check_syntax(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(MOST_LEVELS + 1);
        let error = check_syntax(deep.as_bytes()).expect_err("too deep");
        assert_eq!(error.to_string(), "exceeded max depth");
    }

    proptest! {
        /// The oracle is another parser: both accept the same texts.
        #[test]
        fn what_is_json_agrees_with_serde(text in r#"[\[\]{},:"a1.e\- tn\\]{0,12}"#) {
            let ours = check_syntax(text.as_bytes()).is_ok();
            prop_assert_eq!(ours, serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
