//! Text in a picture: escaped, and no wider than its place.

/// The size of most text, in pixels.
pub(crate) const SIZE: f64 = 12.0;
/// That of names at axes.
pub(crate) const SMALL: f64 = 11.0;
/// Bold text is wider by about this factor.
pub(crate) const BOLD: f64 = 1.2;

/// Text that is safe in XML: no markup, and none of the characters XML has no place for.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// As much of a text as fits, with an ellipsis where some is missing.
pub(crate) fn fitted(text: &str, width: f64, size: f64) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let mut room = width - width_of("…", size);
    let fits = |c: &char| {
        room -= width_of(c.encode_utf8(&mut [0; 4]), size);
        room >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    kept.trim_end().to_owned() + "…"
}

/// How wide a text is at most, roughly: fonts differ.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    let ems = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | '-' | '(' | ')' | '/' => 0.37,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.72,
        c if c.is_ascii() => 0.61,
        '\u{2e80}'.. => 1.1,
        _ => 0.9,
    };
    size * text.chars().map(ems).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escaped("<a&\"'\u{1}>"), "&lt;a&amp;&quot;&apos;\u{fffd}&gt;");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(fitted("short", 100.0, SIZE), "short");
        let cut = fitted(&"long ".repeat(20), 100.0, SIZE);
        assert!(cut.ends_with('…') && width_of(&cut, SIZE) <= 100.0, "{cut}");
        assert_eq!(fitted("x", 1.0, SIZE), "…");
    }
}
