//! Texts with masks.
//!
//! Consecutive blanks count as one, since column widths vary; trailing blanks are ignored. `{age}`,
//! `{uid}`, `{ip}`, `{n}`, `{time}` stand for a value of that type, `{any}` for any text in a line,
//! `{?TEXT}` for a text that may be missing. A line `...` matches any lines, a line that begins
//! with `?` is optional: builds of kubectl differ.

/// Whether `text` matches `pattern`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    lines_match(&lines(pattern), &lines(text))
}

fn lines(text: &str) -> Vec<String> {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_end().lines().map(squeeze).collect()
}

fn lines_match(pattern: &[String], text: &[String]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    if first == "..." {
        return (0..=text.len()).any(|n| lines_match(rest, &text[n..]));
    }
    let (first, is_optional) = match first.strip_prefix('?') {
        Some(line) => (line.trim_start(), true),
        None => (first.as_str(), false),
    };
    let taken = text
        .split_first()
        .is_some_and(|(line, left)| line_matches(first, line) && lines_match(rest, left));
    taken || (is_optional && lines_match(rest, text))
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((before, mask, after)) = first_mask(pattern) else { return pattern == line };
    let Some(line) = line.strip_prefix(before) else { return false };
    if let Some(optional) = mask.strip_prefix('?') {
        let taken = line.strip_prefix(optional).is_some_and(|line| line_matches(after, line));
        return taken || line_matches(after, line);
    }
    let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    ends.any(|end| is_a(mask, &line[..end]) && line_matches(after, &line[end..]))
}

/// The text before the first mask, the mask, and the text after it.
fn first_mask(pattern: &str) -> Option<(&str, &str, &str)> {
    const MASKS: [&str; 6] = ["age", "uid", "ip", "n", "time", "any"];
    let mut starts = pattern.match_indices('{').map(|(at, _)| at);
    starts.find_map(|at| {
        let (mask, after) = pattern[at + 1..].split_once('}')?;
        let known = MASKS.contains(&mask) || mask.starts_with('?');
        known.then_some((&pattern[..at], mask, after))
    })
}

fn is_a(mask: &str, text: &str) -> bool {
    let all = |allowed: &dyn Fn(char) -> bool| !text.is_empty() && text.chars().all(allowed);
    match mask {
        "age" => all(&|c| c.is_ascii_digit() || "smhdy".contains(c)),
        "uid" => text.len() == 36 && all(&|c| c.is_ascii_hexdigit() || c == '-'),
        "ip" => text.parse::<std::net::IpAddr>().is_ok(),
        "n" => all(&|c| c.is_ascii_digit()),
        "time" => all(&|c| c.is_ascii_digit() || "-:TZ.+".contains(c)),
        _ => true,
    }
}

#[test]
fn masks_stand_for_their_values_only() {
    for (pattern, text, expected) in [
        ("a  b\n", "a b", true),
        ("a b", "a b c", false),
        ("web {ip} <none> {age}", "web   10.96.0.1  <none>   2m3s", true),
        ("web {ip}", "web x", false),
        ("a {n}", "a 1x", false),
        ("{\"a\": {n}}", "{\"a\": 12}", true),
        ("x deleted{? from a namespace}", "x deleted", true),
        ("x deleted{? from a namespace}", "x deleted from a namespace", true),
        ("x deleted{? from a namespace}", "x deleted from b", false),
        ("a\n?b\nc", "a\nc", true),
        ("a\n?b\nc", "a\nb\nc", true),
        ("a\n?b\nc", "a\nd\nc", false),
        ("...\nb\n...", "a\nb\nc", true),
        ("...\nb", "a\nb\nc", false),
        ("", "", true),
        ("", "a", false),
        ("<{any}> x", "<a b> x", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
    }
}
