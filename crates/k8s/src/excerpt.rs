//! Short pieces of other people's text, fit to stand in an error.

/// The longest piece of input that is shown whole.
const LIMIT: usize = 60;

/// `text` in quotation marks, escaped so that it cannot steer a terminal, and cut when long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(LIMIT) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

/// A message that may contain input, cut in its middle: what was found tends to stand at its
/// start, what was expected at its end.
pub(crate) fn message(text: &str) -> String {
    let cut = match text.char_indices().nth(2 * LIMIT) {
        None => text.to_owned(),
        Some(_) => {
            let head = text.char_indices().nth(LIMIT).map_or(0, |(at, _)| at);
            let tail = text.char_indices().nth_back(LIMIT / 2).map_or(0, |(at, _)| at);
            format!("{}…{}", &text[..head], &text[tail..])
        }
    };
    cut.replace(char::is_control, " ")
}

/// A name, path or kind: not quoted, because it is nearly always harmless, but cut and cleaned.
pub(crate) fn name(text: &str) -> String {
    let mut cut: String = text.chars().take(LIMIT).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_input_is_cut_and_control_characters_are_tamed() {
        let long = "ä\u{1b}[31m".repeat(1_000_000);
        for cut in [quoted(&long), message(&long), name(&long)] {
            assert!(cut.chars().count() < 400, "{cut}");
            assert!(!cut.contains(char::is_control), "{cut}");
        }
        assert_eq!(quoted("banana"), "\"banana\"");
        assert_eq!(message("short"), "short");
        assert_eq!(name("n1"), "n1");
    }

    #[test]
    fn a_cut_message_keeps_both_ends() {
        let text = format!("invalid type: string \"{}\", expected i32", "x".repeat(5_000));
        let cut = message(&text);
        assert!(
            cut.starts_with("invalid type: string") && cut.ends_with(", expected i32"),
            "{cut}"
        );
    }
}
