//! Sentences in lines of 80 columns.

use super::WIDTH;

/// `head`, then the words of `text`; lines after the first are indented as far as `head`. Styles
/// take no columns.
pub(super) fn wrapped(head: &str, text: &str) -> String {
    let indent = columns(head);
    let mut lines = head.to_owned();
    let mut at = indent;
    let mut is_first = true;
    // A number stays with its percent sign.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        let width = columns(word);
        if !is_first && at + 1 + width > WIDTH {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            at = indent;
        } else if !is_first {
            lines.push(' ');
            at += 1;
        }
        lines.push_str(&word.replace('\u{a0}', " "));
        at += width;
        is_first = false;
    }
    lines.push('\n');
    lines
}

fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let text = wrapped("  note: ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("        word")), "{text}");
        assert_eq!(wrapped("a: ", "b"), "a: b\n");
        let split = wrapped("", &format!("{} 50 %, x", "y".repeat(76)));
        assert_eq!(split, format!("{}\n50 %, x\n", "y".repeat(76)));
    }
}
