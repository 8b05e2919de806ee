//! What sources may contain.

use crate::{
    rules::{CORE, MACROS_NOT_IN_CORE, MOST_LINES, NOWHERE, PATHS_NOT_IN_CORE},
    workspace::{Finding, Source},
};

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.text.lines().count();
    if lines > MOST_LINES {
        let advice =
            format!("{lines} lines: split it by what a reader looks for, below {MOST_LINES}");
        findings.push(source.finding("files-stay-short", advice));
    }
    for (text, advice) in NOWHERE.iter().filter(|(text, _)| source.text.contains(text)) {
        findings.push(source.finding("finished", format!("has `{text}`: {advice}")));
    }
    if is_core_code(&source.path) {
        findings.extend(check_core(source));
    }
    findings
}

/// In `src/` of a core crate, and not a file of tests.
fn is_core_code(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates")
        && parts.next().is_some_and(|folder| CORE.contains(&folder))
        && parts.next() == Some("src")
        && !parts.any(|part| part == "tests" || part == "tests.rs")
}

fn check_core(source: &Source) -> Vec<Finding> {
    let code = code(&source.text);
    let mut findings = Vec::new();
    for path in std_paths(&code) {
        let rule = PATHS_NOT_IN_CORE.iter().find(|(banned, _)| reaches(&path, banned));
        findings.extend(rule.map(|(_, advice)| {
            source.finding("core-stays-pure", format!("names {path}: {advice}"))
        }));
    }
    let words = || code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '!');
    for name in MACROS_NOT_IN_CORE {
        if words().any(|word| word == *name) {
            let advice = format!("uses {name}: return a value and let the binary print it");
            findings.push(source.finding("core-stays-pure", advice));
        }
    }
    findings
}

/// The text without comments and without the module of tests, which our style puts last.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            let item = lines.find(|line| !line.starts_with("#["));
            if item.is_some_and(|item| item.starts_with("mod ") && item.ends_with('{')) {
                break;
            }
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// Every path that starts at `std`, with braces written out: `std::{fs, io}` is two.
fn std_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, start) in code.match_indices("std::") {
        if !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            expand("std::", &code[at + start.len()..], &mut paths);
        }
    }
    paths
}

/// Reads one use tree from the start of `rest`, and returns what follows it.
fn expand<'a>(prefix: &str, rest: &'a str, paths: &mut Vec<String>) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    let (name, mut rest) = rest.split_at(end.unwrap_or(rest.len()));
    let prefix = format!("{prefix}{name}");
    let Some(inner) = rest.strip_prefix('{') else {
        paths.push(prefix.trim_end_matches("::self").to_owned());
        return rest;
    };
    rest = inner.trim_start();
    while !rest.is_empty() && !rest.starts_with('}') {
        rest = expand(&prefix, rest, paths);
        // Over `as name`, to the next branch of the tree.
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        rest = rest[end..].trim_start_matches(',').trim_start();
    }
    rest.strip_prefix('}').unwrap_or(rest)
}

/// Whether naming `path` gives access to `banned`: it is the same, lies in it, or is the module
/// it lies in.
fn reaches(path: &str, banned: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    within(path, banned) || within(banned, path)
}

// === impl Source ===

impl Source {
    fn finding(&self, rule: &'static str, advice: String) -> Finding {
        Finding { file: self.path.clone(), rule, advice }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_broken(path: &str, text: &str) -> Vec<&'static str> {
        let source = Source { path: path.into(), text: text.into() };
        check(&source).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn core_code_touches_no_outside() {
        for text in [
            "use std::fs;",
            "use std::{fs::File, io};",
            "use std::{\n    collections::{BTreeMap, HashMap},\n    net as n,\n};",
            "let ip: ::std::net::IpAddr;",
            "std::thread::spawn(f);",
            "use std::time::{Duration, Instant};",
            "use std::{sync::Arc, time::{self, Duration}};",
            "let now = std::time::SystemTime::now();",
            "println!(\"x\");",
        ] {
            let text = format!("{text}\n");
            let broken = rules_broken("crates/nft/src/plan.rs", &text);
            assert_eq!(broken, ["core-stays-pure"], "{text}");
            assert!(rules_broken("crates/proxy/src/lib.rs", &text).is_empty());
            assert!(rules_broken("crates/nft/src/plan/tests.rs", &text).is_empty());
            assert!(rules_broken("crates/nft/tests/plan.rs", &text).is_empty());
        }
    }

    #[test]
    fn core_code_may_use_the_rest() {
        for text in [
            "use core::net::IpAddr;",
            "use std::{fmt, time::Duration};",
            "// Unlike std::fs, this cannot fail.",
            "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}",
            "use my_std::fs;",
        ] {
            assert!(rules_broken("crates/nft/src/plan.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn sources_are_finished_and_short() {
        let path = "crates/evenkeel/src/main.rs";
        for (text, _) in NOWHERE {
            assert_eq!(rules_broken(path, text), ["finished"], "{text}");
        }
        assert_eq!(rules_broken(path, &"\n".repeat(801)), ["files-stay-short"]);
        assert!(rules_broken(path, &"\n".repeat(800)).is_empty());
    }
}
