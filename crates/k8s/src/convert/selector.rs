//! The selector in the annotation [`label::SELECTOR`].
//!
//! Only pairs of a key and a value: a Service's selector knows no others, so that such a Service
//! can be given back to Kubernetes by moving its selector to `spec.selector`. Keys and values
//! follow the rules of labels
//! (<https://kubernetes.io/docs/concepts/overview/working-with-objects/labels>).

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::label;

use crate::{convert::FieldError, excerpt};

const EXPECTED: &str =
    "expected pairs of key=value with commas between, such as app=web,tier=front";

pub(super) type Selector = BTreeMap<Arc<str>, Arc<str>>;

/// Reads `app=web,tier=front`, with spaces around anything.
pub(super) fn parse(text: &str) -> Result<Selector, FieldError> {
    let mut selector = Selector::new();
    for pair in text.split(',') {
        let (key, value) = read(pair).map_err(|problem| wrong(pair, problem))?;
        let other = selector.insert(key.into(), value.into());
        if other.is_some_and(|other| *other != *value) {
            return Err(wrong(pair, "asks for another value of the same key"));
        }
    }
    Ok(selector)
}

fn read(pair: &str) -> Result<(&str, &str), &'static str> {
    let (key, value) = pair.split_once('=').ok_or("is not a pair")?;
    let value = value.strip_prefix('=').unwrap_or(value);
    let (key, value) = (key.trim(), value.trim());
    if !is_key(key) {
        return Err("does not start with the key of a label");
    }
    if !value.is_empty() && !is_name(value) {
        return Err("does not end with the value of a label");
    }
    Ok((key, value))
}

fn wrong(pair: &str, problem: &str) -> FieldError {
    let field = format!("metadata.annotations[{}]", label::SELECTOR);
    FieldError::new(field, format!("{} {problem}; {EXPECTED}", excerpt::quoted(pair.trim())))
}

/// A name, with or without the domain of its owner before it.
pub(super) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        None => is_name(key),
        Some((domain, name)) => is_domain(domain) && is_name(name),
    }
}

fn is_name(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_domain(domain: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(is_end)
            && bytes.last().is_some_and(is_end)
            && bytes.iter().all(|byte| is_end(byte) || *byte == b'-')
    };
    domain.len() <= 253 && domain.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_with_spaces_and_double_equals() {
        let long = format!("{}={}", "k".repeat(63), "v".repeat(63));
        let cases = [
            ("app=web", vec![("app", "web")]),
            (" app = web , tier == front ", vec![("app", "web"), ("tier", "front")]),
            ("app=web,app=web", vec![("app", "web")]),
            ("app=", vec![("app", "")]),
            ("app==", vec![("app", "")]),
            ("example.org/App_1=a.b-C", vec![("example.org/App_1", "a.b-C")]),
            (&long, vec![(&long[..63], &long[64..])]),
        ];
        for (text, expected) in cases {
            let read = parse(text).unwrap();
            let read: Vec<_> = read.iter().map(|(key, value)| (&**key, &**value)).collect();
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let long = "a".repeat(64);
        let long_domain = format!("{}/a=b", "a.".repeat(127));
        let cases = [
            "",
            " ",
            ",",
            "app",
            "!app",
            "app!=web",
            "app=web,",
            ",app=web",
            "app in (a,b)",
            "app in (a)",
            "app notin (a)",
            "=web",
            "a b=c",
            "a=b c",
            "app===web",
            "app=-web",
            "app=web_",
            "-app=web",
            "app.=web",
            "app=wäb",
            "a/b/c=d",
            "/a=b",
            "a/=b",
            "A/b=c",
            "a..b/c=d",
            "-a/b=c",
            "app=a,app=b",
            "app>1",
            "app=web\u{0}",
            "{\"app\":\"web\"}",
            &format!("{long}=a"),
            &format!("a={long}"),
            &long_domain,
        ];
        for text in cases {
            let error = parse(text).expect_err(text);
            assert_eq!(error.field, "metadata.annotations[evenkeel.dev/selector]", "{text}");
            assert!(error.problem.ends_with(EXPECTED), "{text}: {error}");
        }
        let shown = parse("app=web, tier in (a)").unwrap_err().to_string();
        let expected =
            "metadata.annotations[evenkeel.dev/selector]: \"tier in (a)\" is not a pair; ";
        assert_eq!(shown, format!("{expected}{EXPECTED}"));
    }
}
