//! Character classes and escapes of Go's syntax.

use super::go::Result;

/// A translated class.
pub(super) struct Class {
    pub(super) text: String,
    pub(super) weight: usize,
}

/// About how many states a class of a Unicode category is compiled to.
const UNICODE_WEIGHT: usize = 300;

/// The class at the start of a text, which starts with a bracket, and its length.
pub(super) fn translate(text: &str) -> Result<(usize, Class)> {
    let unclosed = || format!("missing closing ]: `{text}`");
    let mut class = Class { text: "[".to_owned(), weight: 1 };
    let mut rest = &text[1..];
    if let Some(negated) = rest.strip_prefix('^') {
        class.text.push('^');
        class.weight = 10;
        rest = negated;
    }
    let mut first = true;
    loop {
        match rest.chars().next() {
            None => return Err(unclosed()),
            Some(']') if !first => break,
            _ => {}
        }
        first = false;
        rest = item(rest, text, &mut class)?;
    }
    class.text.push(']');
    Ok((text.len() - rest.len() + 1, class))
}

/// An item of a class; returns what follows.
fn item<'a>(rest: &'a str, whole: &str, class: &mut Class) -> Result<&'a str> {
    if rest.starts_with("[:")
        && let Some(end) = rest.find(":]")
    {
        let name = &rest[..end + 2];
        if !is_posix(&rest[2..end]) {
            return Err(format!("invalid character class range: `{name}`"));
        }
        class.text.push_str(name);
        return Ok(&rest[end + 2..]);
    }
    if rest.starts_with('\\') && rest[1..].starts_with(['d', 'D', 's', 'S', 'w', 'W', 'p', 'P']) {
        let (len, text, weight) = escape(rest, true)?;
        class.text.push_str(&text);
        class.weight += weight;
        return Ok(&rest[len..]);
    }
    let (low, after) = single(rest, whole)?;
    push_literal(&mut class.text, low);
    let Some(high) = after.strip_prefix('-').filter(|high| !high.starts_with(']')) else {
        class.weight += low.len_utf8() / 2;
        return Ok(after);
    };
    let (high, after) = single(high, whole)?;
    if high < low {
        let range = &rest[..rest.len() - after.len()];
        return Err(format!("invalid character class range: `{range}`"));
    }
    class.text.push('-');
    push_literal(&mut class.text, high);
    class.weight += if high.is_ascii() { 0 } else { 10 };
    Ok(after)
}

fn single<'a>(rest: &'a str, whole: &str) -> Result<(char, &'a str)> {
    match rest.chars().next() {
        None => Err(format!("missing closing ]: `{whole}`")),
        Some('\\') => {
            let (len, c) = escaped_char(rest)?;
            Ok((c, &rest[len..]))
        }
        Some(c) => Ok((c, &rest[c.len_utf8()..])),
    }
}

/// The escape at the start of a text: its length, its translation, its weight.
pub(super) fn escape(text: &str, in_class: bool) -> Result<(usize, String, usize)> {
    let set = match text[1..].chars().next() {
        Some('d') => ("0-9", false),
        Some('D') => ("0-9", true),
        Some('s') => (r"\t\n\x0C\r ", false),
        Some('S') => (r"\t\n\x0C\r ", true),
        Some('w') => ("0-9A-Za-z_", false),
        Some('W') => ("0-9A-Za-z_", true),
        Some('p' | 'P') => {
            let (len, class) = unicode(text)?;
            return Ok((len, class, UNICODE_WEIGHT));
        }
        _ => {
            let (len, c) = escaped_char(text)?;
            let mut literal = String::new();
            push_literal(&mut literal, c);
            return Ok((len, literal, 1));
        }
    };
    Ok(match set {
        (set, false) if in_class => (2, set.to_owned(), 1),
        (set, false) => (2, format!("[{set}]"), 1),
        (set, true) => (2, format!("[^{set}]"), 10),
    })
}

/// `\pL`, `\p{Greek}` or `\p{^Greek}`.
fn unicode(text: &str) -> Result<(usize, String)> {
    let negative = text[1..].starts_with('P');
    let rest = &text[2..];
    let invalid = |len: usize| format!("invalid character class range: `{}`", &text[..len]);
    let (name, len) = match rest.strip_prefix('{') {
        Some(inner) => {
            let end = inner.find('}').ok_or_else(|| invalid(text.len()))?;
            (&inner[..end], 2 + end + 2)
        }
        None => {
            let c = rest.chars().next().ok_or_else(|| invalid(text.len()))?;
            (&rest[..c.len_utf8()], 2 + c.len_utf8())
        }
    };
    let (name, inverted) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(invalid(len));
    }
    let class = if negative == inverted { "p" } else { "P" };
    Ok((len, format!("\\{class}{{{name}}}")))
}

/// An escape that stands for one character.
fn escaped_char(text: &str) -> Result<(usize, char)> {
    let rest = &text[1..];
    let Some(c) = rest.chars().next() else {
        return Err("trailing backslash at end of expression: ``".to_owned());
    };
    let plain = match c {
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return hexadecimal(text),
        '0'..='7' => return octal(text),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        c => return Err(format!("invalid escape sequence: `\\{c}`")),
    };
    Ok((2, plain))
}

/// `\x41` or `\x{10FFFF}`.
fn hexadecimal(text: &str) -> Result<(usize, char)> {
    let rest = &text[2..];
    let (digits, len) = match rest.strip_prefix('{') {
        Some(inner) => {
            let end = inner.find('}').unwrap_or(inner.len());
            (&inner[..end], 2 + end + 2)
        }
        None => (rest.get(..2).unwrap_or_default(), 4),
    };
    let hex =
        !digits.is_empty() && digits.len() <= 8 && digits.bytes().all(|c| c.is_ascii_hexdigit());
    let c = u32::from_str_radix(digits, 16).ok().filter(|_| hex).and_then(char::from_u32);
    let shown = text.get(..len).unwrap_or(text);
    c.map(|c| (len, c)).ok_or_else(|| format!("invalid escape sequence: `{shown}`"))
}

/// `\0`, or two or three octal digits: a single other digit would be a back-reference.
fn octal(text: &str) -> Result<(usize, char)> {
    let digits = text[1..].bytes().take(3).take_while(|c| (b'0'..=b'7').contains(c));
    let (len, value) =
        digits.fold((0, 0), |(len, value), c| (len + 1, value * 8 + u32::from(c - b'0')));
    let c = char::from_u32(value).filter(|_| len > 1 || value == 0);
    c.map(|c| (1 + len, c)).ok_or_else(|| format!("invalid escape sequence: `{}`", &text[..2]))
}

fn is_posix(name: &str) -> bool {
    let name = name.strip_prefix('^').unwrap_or(name);
    matches!(
        name,
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

/// A character that stands for itself, in a class or not.
pub(super) fn push_literal(text: &mut String, c: char) {
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '_') {
        text.push('\\');
    }
    text.push(c);
}
