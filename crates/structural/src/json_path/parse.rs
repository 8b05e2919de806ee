//! The parser, in client-go's steps: what it accepts is what that accepts.

use std::str::Chars;

use super::{Filter, JsonPath, Operator, Slice, Step};

/// Filters within filters.
const MOST_NESTING: usize = 16;

impl JsonPath {
    /// Parses the path of a column, which stands between braces in client-go's language. Text and
    /// further actions after a closing brace are parsed, but have no part in a column.
    pub fn parse(text: &str) -> Result<JsonPath, String> {
        let template = format!("{{{text}}}");
        let mut parser = Parser { rest: &template[1..], nesting: 0 };
        let steps = parser.action()?;
        while let Some(start) = parser.rest.find('{') {
            parser.rest = &parser.rest[start + 1..];
            parser.action()?;
        }
        Ok(JsonPath { steps })
    }
}

struct Parser<'a> {
    rest: &'a str,
    nesting: usize,
}

impl<'a> Parser<'a> {
    /// The steps up to the closing brace, which is consumed.
    fn action(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(steps);
            }
            if self.rest.starts_with("[?(") {
                steps.push(self.filter()?);
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.recursive(rest, &mut steps)?;
                continue;
            }
            let Some(first) = self.rest.chars().next() else {
                return Err("unclosed action".into());
            };
            match first {
                '\r' | '\n' => return Err("unclosed action".into()),
                ' ' | '@' | '$' => self.rest = &self.rest[1..],
                '[' => self.array(&mut steps)?,
                '"' | '\'' => steps.push(self.quote(first)?),
                '.' => {
                    self.rest = &self.rest[1..];
                    steps.push(self.field());
                }
                c if c == '+' || c == '-' || c.is_numeric() => steps.push(self.number()?),
                c if is_alphanumeric(c) => steps.push(self.identifier()),
                c => {
                    let code = u32::from(c);
                    return Err(format!("unrecognized character in action: U+{code:04X} '{c}'"));
                }
            }
        }
    }

    /// The text up to a character, which is not consumed.
    fn take(&mut self, end: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    fn recursive(&mut self, rest: &'a str, steps: &mut Vec<Step>) -> Result<(), String> {
        if steps.last() == Some(&Step::Recursive) {
            return Err("invalid multiple recursive descent".into());
        }
        self.rest = rest;
        steps.push(Step::Recursive);
        if rest.starts_with(is_alphanumeric) {
            steps.push(self.field());
        }
        Ok(())
    }

    /// A field up to a terminator that is not escaped.
    fn field(&mut self) -> Step {
        let mut characters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = characters.next() {
            if c == '\\' {
                characters.next();
            } else if is_terminator(c) {
                end = at;
                break;
            }
        }
        match self.take(end) {
            "*" => Step::Wildcard,
            name => Step::Field(name.replace('\\', "")),
        }
    }

    fn identifier(&mut self) -> Step {
        let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        match self.take(end) {
            "true" => Step::Bool(true),
            "false" => Step::Bool(false),
            name => Step::Identifier(name.to_owned()),
        }
    }

    fn number(&mut self) -> Result<Step, String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = |c: char| c == '.' || c.is_numeric();
        let length = self.rest[sign..].find(|c| !digits(c)).unwrap_or(self.rest.len() - sign);
        let text = self.take(sign + length);
        if let Ok(number) = text.parse() {
            return Ok(Step::Int(number));
        }
        text.parse().map(Step::Float).map_err(|_| format!("cannot parse number {text}"))
    }

    fn quote(&mut self, quote: char) -> Result<Step, String> {
        let unterminated = || "unterminated quoted string".to_owned();
        let end = closing(self.rest, quote).ok_or_else(unterminated)?;
        let text = self.take(end);
        match unquoted(text, quote) {
            Some(value) => Ok(Step::Text(value)),
            None => Err(format!("unquote string {text} error invalid syntax")),
        }
    }

    /// `[…]`: an index, a slice, a quoted field, or a union of them.
    fn array(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'));
        let end = end.ok_or("unterminated array")?;
        let text = &self.take(end + 1)[1..end];
        if text.contains(',') {
            let mut union = Vec::new();
            for part in text.split(',') {
                let mut steps = Vec::new();
                element(part.trim_matches(' '), &mut steps)?;
                union.push(steps);
            }
            steps.push(Step::Union(union));
            return Ok(());
        }
        element(text, steps)
    }

    fn filter(&mut self) -> Result<Step, String> {
        if self.nesting >= MOST_NESTING {
            return Err(format!("filters are nested more than {MOST_NESTING} levels deep"));
        }
        self.rest = &self.rest["[?(".len()..];
        let end = end_of_filter(self.rest).ok_or("unterminated filter")?;
        let text = self.take(end);
        self.rest = match self.rest[1..].strip_prefix(']') {
            Some(rest) => rest,
            None => return Err("unclosed array expect ]".into()),
        };
        let nesting = self.nesting + 1;
        let side = |text: &str| Parser { rest: &format!("{text}}}"), nesting }.action();
        let (left, operator, right) = match compared(text) {
            Some((left, operator, right)) => (side(left)?, operator, side(right)?),
            None => (side(text)?, Operator::Exists, Vec::new()),
        };
        Ok(Step::Filter(Box::new(Filter { left, operator, right })))
    }
}

/// The offset of the closing parenthesis: one outside of the quoted text, of which there is one.
fn end_of_filter(text: &str) -> Option<usize> {
    let (mut opened, mut closed, mut previous) = (None, false, '(');
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            '"' | '\'' => match opened {
                None => opened = Some(c),
                Some(quote) => closed |= quote == c && previous != '\\',
            },
            ')' if opened.is_some() == closed => return Some(at),
            _ => {}
        }
        previous = c;
    }
    None
}

/// `left op right`: a run of `!<>=` with something on both sides.
fn compared(text: &str) -> Option<(&str, Operator, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|start| *start > 0)?;
    let rest = &text[start..];
    let mut length = rest.find(|c| !is_operator(c)).unwrap_or(rest.len());
    if length == rest.len() {
        // The right side takes what it needs.
        length = rest.len().checked_sub(1).filter(|length| *length > 0)?;
    }
    let operator = match &rest[..length] {
        "<" => Operator::Less,
        "<=" => Operator::LessEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterEqual,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        other => Operator::Unknown(other.to_owned()),
    };
    Some((&text[..start], operator, &rest[length..]))
}

/// What is between brackets, without commas.
fn element(text: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    if let Some(name) = quoted.filter(|name| !name.contains('\'')) {
        steps.extend(Parser { rest: &format!(".{name}}}"), nesting: 0 }.action()?);
        return Ok(());
    }
    let text = if text == "*" { ":" } else { text };
    let is_slice = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':'));
    let mut parts = text.split(':');
    let mut part = || match parts.next() {
        None | Some("") => Ok(None),
        Some(number) if number.rfind('-').is_some_and(|at| at > 0) || !is_slice => {
            Err(format!("invalid array index {text}"))
        }
        Some(number) => number
            .parse::<i32>()
            .map(|number| Some(i64::from(number)))
            .map_err(|_| format!("array index {number} is not a number")),
    };
    let slice =
        Slice { start: part()?, end: part()?, is_index: !text.contains(':'), step: part()? };
    if !is_slice || parts.next().is_some() {
        return Err(format!("invalid array index {text}"));
    }
    steps.push(Step::Slice(slice));
    Ok(())
}

/// The offset after the closing quote of a quoted text.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut previous = quote;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            c if c == quote && previous != '\\' => return Some(at + 1),
            c => previous = c,
        }
    }
    None
}

/// Go's `strconv.Unquote`, for both kinds of quotes.
fn unquoted(text: &str, quote: char) -> Option<String> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut value = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        value.push(if c == '\\' { escape(&mut characters, quote)? } else { c });
    }
    Some(value)
}

/// The character of an escape, after its backslash.
fn escape(characters: &mut Chars<'_>, quote: char) -> Option<char> {
    let digits = match characters.next()? {
        'a' => return Some('\u{7}'),
        'b' => return Some('\u{8}'),
        'f' => return Some('\u{c}'),
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        'v' => return Some('\u{b}'),
        '\\' => return Some('\\'),
        c if c == quote => return Some(c),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let text: String = characters.by_ref().take(digits).collect();
    let code = u32::from_str_radix(&text, 16).ok().filter(|_| text.len() == digits)?;
    char::from_u32(code)
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
