//! Placeholders: stand in a recording for values that differ from run to run.
//!
//! `<KIND:N>` is the N-th distinct value of its kind: bound to the real value at its first
//! occurrence, it must keep that value, and no two numbers of a kind may share one. `<listrv:N>`
//! and `<continue:N>` are numbered by occurrence, so they are bound anew each time. `<KIND>`
//! without a number is any value of the kind. Everything else in angle brackets, such as the
//! `<none>` of a table, is text.

use std::{collections::BTreeMap, net::IpAddr};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    values: BTreeMap<(Kind, u32), String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Uid,
    Rv,
    ListRv,
    Continue,
    Rand,
    Ip,
    Port,
    Time,
    Age,
    Object,
    Hash,
    Masked,
    Seconds,
}

const KINDS: &[(&str, Kind)] = &[
    ("uid", Kind::Uid),
    ("rv", Kind::Rv),
    ("listrv", Kind::ListRv),
    ("continue", Kind::Continue),
    ("rand", Kind::Rand),
    ("ip", Kind::Ip),
    ("port", Kind::Port),
    ("time", Kind::Time),
    ("age", Kind::Age),
    ("object", Kind::Object),
    ("hash", Kind::Hash),
    ("masked", Kind::Masked),
    ("seconds", Kind::Seconds),
];

/// A placeholder, with a number if its values are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    pub(super) kind: Kind,
    pub(super) number: Option<u32>,
}

/// A part of a recorded text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Placeholder(Placeholder),
}

/// The parts of a recorded text, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find('<').map(|at| at + from) {
        match placeholder(&rest[at..]) {
            Some((placeholder, len)) => {
                if at > 0 {
                    found.push(Piece::Text(&rest[..at]));
                }
                found.push(Piece::Placeholder(placeholder));
                (rest, from) = (&rest[at + len..], 0);
            }
            None => from = at + 1,
        }
    }
    if !rest.is_empty() {
        found.push(Piece::Text(rest));
    }
    found
}

/// The placeholder at the start of `text`, and its length.
fn placeholder(text: &str) -> Option<(Placeholder, usize)> {
    let end = text.find('>')?;
    let inner = &text[1..end];
    let (name, number) = match inner.split_once(':') {
        Some((name, number)) => (name, Some(number.parse().ok()?)),
        None => (inner, None),
    };
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    Some((Placeholder { kind: *kind, number }, end + 1))
}

impl Bindings {
    /// Binds the placeholder to `value`, or returns why it can't.
    pub(super) fn bind(&mut self, placeholder: Placeholder, value: &str) -> Result<(), String> {
        let Placeholder { kind, number } = placeholder;
        if !kind.admits(value) {
            return Err(format!("{value:?} is no {kind:?}"));
        }
        let Some(number) = number else { return Ok(()) };
        if !matches!(kind, Kind::ListRv | Kind::Continue) {
            self.is_the_same_as_before(kind, number, value)?;
        }
        self.values.insert((kind, number), value.to_owned());
        Ok(())
    }

    fn is_the_same_as_before(&self, kind: Kind, number: u32, value: &str) -> Result<(), String> {
        match self.values.get(&(kind, number)) {
            Some(bound) if bound == value => Ok(()),
            Some(bound) => Err(format!("{kind:?} {number} was {bound:?}, now {value:?}")),
            None => match self.values.iter().find(|((k, _), v)| *k == kind && *v == value) {
                Some(((_, other), _)) => Err(format!("{value:?} is {kind:?} {other} already")),
                None => Ok(()),
            },
        }
    }

    pub(super) fn value(&self, placeholder: Placeholder) -> Option<&str> {
        self.values.get(&(placeholder.kind, placeholder.number?)).map(String::as_str)
    }

    /// The text with bound values in place of their placeholders.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Placeholder(placeholder) => {
                    let unbound = || format!("{placeholder:?} is sent but not bound");
                    filled.push_str(self.value(placeholder).ok_or_else(unbound)?);
                }
            }
        }
        Ok(filled)
    }

    /// Like [`Bindings::fill`], for the text of a JSON document: a port is a number there.
    pub(super) fn fill_json(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        for ((kind, number), value) in &self.values {
            if *kind == Kind::Port {
                text = text.replace(&format!("\"<port:{number}>\""), value);
            }
        }
        self.fill(&text)
    }

    /// Whether the versions, sorted by value, are in the recorded order of their numbers.
    pub(super) fn check_order(&self, recorded: &[u32]) -> Result<(), String> {
        let versions = self.values.iter().filter(|((kind, _), _)| *kind == Kind::Rv);
        let mut versions: Vec<(u64, u32)> = versions
            .filter_map(|((_, number), value)| Some((value.parse().ok()?, *number)))
            .collect();
        versions.sort_unstable();
        let order: Vec<u32> = versions.iter().map(|(_, number)| *number).collect();
        if order == recorded {
            return Ok(());
        }
        Err(format!("rv_order:\n  - {recorded:?}\n  + {order:?} (versions {versions:?})"))
    }
}

impl Kind {
    fn admits(self, value: &str) -> bool {
        match self {
            Kind::Uid => is_uuid(value),
            Kind::Rv | Kind::ListRv | Kind::Seconds => {
                !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
            }
            Kind::Ip => value.parse::<IpAddr>().is_ok(),
            Kind::Port => value.parse::<u16>().is_ok_and(|port| port > 0),
            Kind::Time => is_recent(value),
            Kind::Age => is_age(value),
            Kind::Continue | Kind::Rand | Kind::Object | Kind::Hash => !value.is_empty(),
            Kind::Masked => true,
        }
    }

    /// How many bytes at the start of `text` belong to the value; `None` if only the following text
    /// can tell.
    pub(super) fn extent(self, text: &str) -> Option<usize> {
        match self {
            Kind::Uid => Some(36),
            Kind::Rv | Kind::ListRv | Kind::Port | Kind::Seconds => {
                Some(text.bytes().take_while(u8::is_ascii_digit).count())
            }
            _ => None,
        }
    }
}

fn is_uuid(value: &str) -> bool {
    let dash = |at| matches!(at, 8 | 13 | 18 | 23);
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    value.len() == 36
        && value.bytes().enumerate().all(|(at, b)| if dash(at) { b == b'-' } else { hex(b) })
}

/// Within two days of now: a recording keeps older times unchanged.
fn is_recent(value: &str) -> bool {
    let Ok(time) = value.parse::<Timestamp>() else { return false };
    time.duration_since(Timestamp::now()).abs() < SignedDuration::from_hours(48)
}

/// `5s`, `2m3s`, `<unknown>`, or `2s (x3 over 5s)`.
fn is_age(value: &str) -> bool {
    let first = value.split(' ').next().unwrap_or_default();
    let ends = first.ends_with(['s', 'm', 'h', 'd', 'y']);
    value == "<unknown>" || (ends && first.starts_with(|c: char| c.is_ascii_digit()))
}

/// A scalar as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(kind: Kind, number: u32) -> Placeholder {
        Placeholder { kind, number: Some(number) }
    }

    #[test]
    fn placeholders_are_found_in_longer_text_and_other_brackets_are_text() {
        let rand = Piece::Placeholder(numbered(Kind::Rand, 1));
        assert_eq!(pieces("gen-<rand:1>"), [Piece::Text("gen-"), rand]);
        assert_eq!(pieces("<none>"), [Piece::Text("<none>")]);
        assert_eq!(pieces("a < b"), [Piece::Text("a < b")]);
        let rv = Piece::Placeholder(Placeholder { kind: Kind::Rv, number: None });
        assert_eq!(pieces("<<rv>>"), [Piece::Text("<"), rv, Piece::Text(">")]);
    }

    #[test]
    fn a_number_means_one_value_and_a_value_one_number() {
        let mut bindings = Bindings::default();
        bindings.bind(numbered(Kind::Rv, 1), "7").unwrap();
        bindings.bind(numbered(Kind::Rv, 1), "7").unwrap();
        bindings.bind(numbered(Kind::Rv, 1), "8").unwrap_err();
        bindings.bind(numbered(Kind::Rv, 2), "7").unwrap_err();
        bindings.bind(numbered(Kind::ListRv, 2), "7").unwrap();
        bindings.bind(numbered(Kind::ListRv, 2), "8").unwrap();
    }

    #[test]
    fn values_are_held_to_the_form_of_their_kind() {
        for (kind, good, bad) in [
            (Kind::Uid, "0f63ee36-9af4-4b26-a1ac-1b67cfa7c8e7", "0f63ee36"),
            (Kind::Rv, "12", "12a"),
            (Kind::Ip, "fd00:10:96::1", "10.96.0"),
            (Kind::Port, "30000", "70000"),
            (Kind::Age, "2m3s", "soon"),
            (Kind::Time, &Timestamp::now().to_string(), "2020-01-01T00:00:00Z"),
        ] {
            assert!(kind.admits(good) && !kind.admits(bad), "{kind:?}");
        }
    }

    #[test]
    fn bound_values_are_sent() {
        let mut bindings = Bindings::default();
        bindings.bind(numbered(Kind::Rand, 1), "x7").unwrap();
        bindings.bind(numbered(Kind::Port, 1), "30001").unwrap();
        assert_eq!(bindings.fill("/a/gen-<rand:1>").unwrap(), "/a/gen-x7");
        let body = r#"{"n":"<port:1>","t":"<rand:1>"}"#;
        assert_eq!(bindings.fill_json(body).unwrap(), r#"{"n":30001,"t":"x7"}"#);
        bindings.fill("<rv:1>").unwrap_err();
    }

    #[test]
    fn versions_must_rise_in_the_recorded_order() {
        let mut bindings = Bindings::default();
        bindings.bind(numbered(Kind::Rv, 1), "9").unwrap();
        bindings.bind(numbered(Kind::Rv, 2), "10").unwrap();
        bindings.check_order(&[1, 2]).unwrap();
        bindings.check_order(&[2, 1]).unwrap_err();
    }
}
