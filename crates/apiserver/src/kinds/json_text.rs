//! JSON inside strings of an object: whether it is valid, and if not, the error of Go's
//! `encoding/json`.
//!
//! A scanner with one state and a stack of open brackets, like Go's: time is linear in the text,
//! memory in its depth. Only the first error matters, so no value is built.

const DEEPEST: usize = 10_000;

/// Go's error when decoding this into a `map[string]interface{}`; `None` if it succeeds.
pub(super) fn wrong_map(text: &[u8]) -> Option<String> {
    wrong(text, b'{', "map[string]interface {}")
}

/// Go's error when decoding this into a type that is written with this bracket; `None` if it
/// succeeds, as far as brackets tell.
pub(super) fn wrong(text: &[u8], bracket: u8, type_: &str) -> Option<String> {
    let mut scanner = Scanner { text, next: 0, open: Vec::new() };
    if let Err(words) = scanner.document() {
        return Some(words);
    }
    let kind = match text.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'n' => return None,
        first if *first == bracket => return None,
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    };
    Some(format!("json: cannot unmarshal {kind} into Go value of type {type_}"))
}

struct Scanner<'a> {
    text: &'a [u8],
    next: usize,
    /// `{` or `[`, outermost first.
    open: Vec<u8>,
}

type Scanned = Result<(), String>;

impl Scanner<'_> {
    fn document(&mut self) -> Scanned {
        loop {
            self.value()?;
            if self.open.is_empty() {
                break;
            }
            if self.after_value()? {
                break;
            }
        }
        self.blanks();
        match self.text.get(self.next) {
            None => Ok(()),
            Some(byte) => Err(invalid(*byte, "after top-level value")),
        }
    }

    /// Reads to the end of a scalar, or to the start of the next value.
    fn value(&mut self) -> Scanned {
        loop {
            match self.significant()? {
                b'{' => {
                    self.enter(b'{')?;
                    if self.closes(b'}')? {
                        return Ok(());
                    }
                    self.key()?;
                }
                b'[' => {
                    self.enter(b'[')?;
                    if self.closes(b']')? {
                        return Ok(());
                    }
                }
                b'"' => return self.string(),
                b't' => return self.literal("true"),
                b'f' => return self.literal("false"),
                b'n' => return self.literal("null"),
                byte @ (b'-' | b'0'..=b'9') => return self.number(byte),
                byte => return Err(invalid(byte, "looking for beginning of value")),
            }
        }
    }

    /// Whether the document is complete; if not, the next value must begin.
    fn after_value(&mut self) -> Result<bool, String> {
        while let Some(open) = self.open.last().copied() {
            match (self.significant()?, open) {
                (b',', b'{') => {
                    if self.peek()? != b'"' {
                        return Err(invalid(
                            self.peek()?,
                            "looking for beginning of object key string",
                        ));
                    }
                    self.key()?;
                    return Ok(false);
                }
                (b',', _) => return Ok(false),
                (b'}', b'{') | (b']', b'[') => drop(self.open.pop()),
                (byte, b'{') => return Err(invalid(byte, "after object key:value pair")),
                (byte, _) => return Err(invalid(byte, "after array element")),
            }
        }
        Ok(true)
    }

    fn enter(&mut self, bracket: u8) -> Scanned {
        self.open.push(bracket);
        if self.open.len() > DEEPEST {
            return Err("exceeded max depth".to_owned());
        }
        Ok(())
    }

    /// Consumes the bracket that ends an empty object or array.
    fn closes(&mut self, bracket: u8) -> Result<bool, String> {
        if self.peek()? != bracket {
            return Ok(false);
        }
        self.next += 1;
        self.open.pop();
        Ok(true)
    }

    fn key(&mut self) -> Scanned {
        match self.significant()? {
            b'"' => self.string()?,
            byte => return Err(invalid(byte, "looking for beginning of object key string")),
        }
        match self.significant()? {
            b':' => Ok(()),
            byte => Err(invalid(byte, "after object key")),
        }
    }

    fn string(&mut self) -> Scanned {
        loop {
            match self.take()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                byte if byte < 0x20 => return Err(invalid(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Scanned {
        match self.take()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => (0..4).try_for_each(|_| match self.take()? {
                byte if byte.is_ascii_hexdigit() => Ok(()),
                byte => Err(invalid(byte, "in \\u hexadecimal character escape")),
            }),
            byte => Err(invalid(byte, "in string escape code")),
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        word.bytes().skip(1).try_for_each(|expected| match self.take()? {
            byte if byte == expected => Ok(()),
            byte => {
                let words = format!("in literal {word} (expecting '{}')", char::from(expected));
                Err(invalid(byte, &words))
            }
        })
    }

    fn number(&mut self, first: u8) -> Scanned {
        let lead = match first {
            b'-' => match self.take()? {
                byte if byte.is_ascii_digit() => byte,
                byte => return Err(invalid(byte, "in numeric literal")),
            },
            digit => digit,
        };
        if lead != b'0' {
            self.digits();
        }
        if self.text.get(self.next) == Some(&b'.') {
            self.next += 1;
            self.digit("after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(self.next), Some(b'e' | b'E')) {
            self.next += 1;
            if matches!(self.text.get(self.next), Some(b'+' | b'-')) {
                self.next += 1;
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Scanned {
        match self.take()? {
            byte if byte.is_ascii_digit() => {
                self.digits();
                Ok(())
            }
            byte => Err(invalid(byte, place)),
        }
    }

    fn digits(&mut self) {
        while self.text.get(self.next).is_some_and(u8::is_ascii_digit) {
            self.next += 1;
        }
    }

    fn blanks(&mut self) {
        while matches!(self.text.get(self.next), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.next += 1;
        }
    }

    fn peek(&mut self) -> Result<u8, String> {
        self.blanks();
        self.text.get(self.next).copied().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn significant(&mut self) -> Result<u8, String> {
        self.blanks();
        self.take()
    }

    fn take(&mut self) -> Result<u8, String> {
        let byte = self.text.get(self.next).copied();
        self.next += 1;
        byte.ok_or_else(|| "unexpected end of JSON input".to_owned())
    }
}

fn invalid(byte: u8, place: &str) -> String {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\\' => "\\\\".to_owned(),
        byte if byte < 0x20 || byte == 0x7f => format!("\\x{byte:02x}"),
        byte if (0x80..0xa0).contains(&byte) => format!("\\u{byte:04x}"),
        byte => char::from(byte).to_string(),
    };
    format!("invalid character '{shown}' {place}")
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
            ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (
                "\"a\"",
                "json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
            ("1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ] {
            assert_eq!(wrong_map(text.as_bytes()).as_deref(), Some(words), "{text}");
        }
        for text in ["null", "{}", " {\"a\": [1, {\"b\": [[], {}]}, -0.1e+5, true, null]} \n"] {
            assert_eq!(wrong_map(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(DEEPEST + 1);
        assert_eq!(wrong_map(deep.as_bytes()).as_deref(), Some("exceeded max depth"));
    }

    proptest! {
        /// The oracle is another parser: both accept the same texts.
        #[test]
        fn what_is_json_agrees_with_serde(text in r#"[\[\]{},:"a1.e\- tn\\]{0,12}"#) {
            let mut scanner = Scanner { text: text.as_bytes(), next: 0, open: Vec::new() };
            let ours = scanner.document().is_ok();
            prop_assert_eq!(ours, serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
