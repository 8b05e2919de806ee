//! Turns of phrase that no operator would search for, in what users read: strings of the code that
//! ships, documentation, manifests. CONTRIBUTING.md says what to write instead.

use crate::{
    rules::BANNED_TURNS,
    workspace::{Finding, Source},
};

/// It lists the turns itself.
const EXEMPT: &[&str] = &["CONTRIBUTING.md"];

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    if EXEMPT.contains(&&*source.path) || !ships(&source.path) {
        return Vec::new();
    }
    let text =
        if source.path.ends_with(".rs") { strings(&source.text) } else { source.text.clone() };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = BANNED_TURNS.iter().filter(|(turn, _)| text.contains(turn));
    let finding = |(turn, instead): &(&str, &str)| Finding {
        file: source.path.clone(),
        rule: "plain-words",
        advice: format!("says {turn:?}: write {instead:?} or the like"),
    };
    found.map(finding).collect()
}

/// Text of tests is for developers.
fn ships(path: &str) -> bool {
    !path.ends_with(".rs")
        || path.contains("/src/")
            && !path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The string literals of a source, without its comments and its module of tests. Doc comments of
/// arguments are help texts.
fn strings(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let is_command_line = text.contains("derive(Debug, Args)") || text.contains("Subcommand)");
    let mut found = String::new();
    for line in text.lines() {
        let code = line.trim();
        match code.strip_prefix("///") {
            Some(help) if is_command_line => found.push_str(help),
            Some(_) => {}
            None if code.starts_with("//") => {}
            // A literal that goes on at the next line begins and ends without a quote.
            None => found.push_str(code),
        }
        found.push(' ');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(path: &str, text: &str) -> usize {
        check(&Source { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn turns_are_found_where_users_read_them() {
        let (turn, _) = BANNED_TURNS[0];
        let string = format!("fn f() {{ print(\"hints {turn}\") }}");
        assert_eq!(turns("crates/x/src/a.rs", &string), 1);
        assert_eq!(turns("crates/x/src/tests.rs", &string), 0);
        assert_eq!(turns("crates/x/tests/a.rs", &string), 0);
        assert_eq!(turns("crates/x/src/a.rs", &format!("// {turn}\nfn f() {{}}")), 0);
        assert_eq!(turns("crates/x/src/a.rs", &format!("/// {turn}\nfn f() {{}}")), 0);
        let help = format!("#[derive(Debug, Args)]\nstruct A {{\n    /// {turn}\n    a: u8,\n}}");
        assert_eq!(turns("crates/x/src/a.rs", &help), 1);
        assert_eq!(turns("README.md", &turn.replace(' ', "\n")), 1);
        assert_eq!(turns("CONTRIBUTING.md", turn), 0);
    }
}
