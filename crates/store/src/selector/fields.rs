//! Field selectors: `metadata.name=a,status.phase!=Running`.
//!
//! As `k8s.io/apimachinery/pkg/fields` has them: equality only, `\`, `,` and `=` escaped by `\` in
//! values. The kind defines which fields exist; each object stores their values.

use std::{fmt, sync::Arc};

use crate::object::Object;

/// The requirements of a field selector. Empty: matches everything.
#[derive(Clone, Debug, Default)]
pub struct FieldSelector {
    terms: Vec<Term>,
    reader: Option<FieldReader>,
}

/// Reads the kind's own fields from an object that does not keep them, in the order in which the
/// kind has them.
#[derive(Clone)]
pub struct FieldReader(Arc<ReadFields>);

type ReadFields = dyn Fn(&Object) -> Box<[Box<str>]> + Send + Sync;

/// Why a field selector is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator { selector: String, term: String },
    #[error("invalid field selector: invalid escape sequence: {0}")]
    BadEscape(String),
    /// Go prints the number of the character, and so do we.
    #[error("invalid field selector: unescaped character in value: {0}")]
    Unescaped(u32),
    #[error("{0:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    Unknown(String),
    /// Kinds with their own fields have a different message.
    #[error("field label not supported: {0}")]
    NotSupported(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    equal: bool,
    value: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// An index into the object's fields.
    Own(usize),
}

impl FieldSelector {
    /// `known`: the kind's own fields, in the order in which its objects keep them.
    pub fn parse(text: &str, known: &[&str]) -> Result<FieldSelector, FieldError> {
        let mut terms = Vec::new();
        for term in terms_of(text) {
            let (name, equal, value) = term?;
            let value = unescaped(value)?.into();
            terms.push(Term { field: field(name, known)?, equal, value });
        }
        Ok(FieldSelector { terms, reader: None })
    }

    /// Checks the form of a selector, whatever its fields are.
    pub fn check(text: &str) -> Result<(), FieldError> {
        terms_of(text).try_for_each(|term| {
            let (.., value) = term?;
            unescaped(value).map(drop)
        })
    }

    /// The values, as written, that a selector requires a field to have. None if it is malformed.
    pub fn required<'a>(text: &'a str, field: &str) -> impl Iterator<Item = &'a str> {
        let terms: Result<Vec<_>, FieldError> = terms_of(text).collect();
        let terms = terms.unwrap_or_default().into_iter();
        terms.filter_map(move |(name, equal, value)| (equal && name == field).then_some(value))
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Reads the kind's own fields from the objects themselves.
    #[must_use]
    pub fn reading(mut self, reader: FieldReader) -> FieldSelector {
        self.reader = self.has_own().then_some(reader);
        self
    }

    fn has_own(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.field, Field::Own(_)))
    }

    /// Restricts the selector to one name.
    #[must_use]
    pub fn and_name(mut self, name: &str) -> FieldSelector {
        self.terms.push(Term { field: Field::Name, equal: true, value: name.into() });
        self
    }

    /// Whether it selects by namespace.
    pub fn has_namespace(&self) -> bool {
        self.terms.iter().any(|term| term.field == Field::Namespace)
    }

    /// The name it selects, if it selects one.
    pub fn name(&self) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.equal && term.field == Field::Name)?;
        Some(&term.value)
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        match &self.reader {
            Some(FieldReader(read)) => self.matches_with(object, &read(object)),
            None => self.matches_with(object, &object.fields),
        }
    }

    fn matches_with(&self, object: &Object, fields: &[Box<str>]) -> bool {
        self.terms.iter().all(|term| {
            let there = match term.field {
                Field::Name => object.name(),
                Field::Namespace => object.namespace().unwrap_or_default(),
                Field::Own(index) => fields.get(index).map_or("", |value| &**value),
            };
            (there == &*term.value) == term.equal
        })
    }
}

// === impl FieldReader ===

impl FieldReader {
    /// A reader that is a function.
    pub fn new(read: impl Fn(&Object) -> Box<[Box<str>]> + Send + Sync + 'static) -> FieldReader {
        FieldReader(Arc::new(read))
    }
}

impl fmt::Debug for FieldReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldReader").finish_non_exhaustive()
    }
}

fn field(name: &str, known: &[&str]) -> Result<Field, FieldError> {
    match name {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" => return Ok(Field::Namespace),
        _ => {}
    }
    match known.iter().position(|own| *own == name) {
        Some(index) => Ok(Field::Own(index)),
        None if !known.is_empty() => Err(FieldError::NotSupported(name.to_owned())),
        None => Err(FieldError::Unknown(name.to_owned())),
    }
}

/// The field, whether it must be equal, and the value as written, in the order of the terms' texts.
fn terms_of(text: &str) -> impl Iterator<Item = Result<(&str, bool, &str), FieldError>> {
    let mut parts = split(text);
    parts.sort_unstable();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.map(move |part| {
        let unclear =
            || FieldError::NoOperator { selector: text.to_owned(), term: part.to_owned() };
        operands(part).ok_or_else(unclear)
    })
}

/// Splits at unescaped commas.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The field, whether it must be equal, and the value as written.
fn operands(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find("!=").into_iter().chain(term.find('=')).min()?;
    let (name, rest) = term.split_at(at);
    Some(match rest {
        _ if rest.starts_with("!=") => (name, false, &rest[2..]),
        _ if rest.starts_with("==") => (name, true, &rest[2..]),
        _ => (name, true, &rest[1..]),
    })
}

fn unescaped(value: &str) -> Result<String, FieldError> {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(FieldError::BadEscape(format!("\\{c}"))),
                None => return Err(FieldError::BadEscape("\\".into())),
            },
            ',' | '=' => return Err(FieldError::Unescaped(c.into())),
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(key: &str, fields: &[&str]) -> Object {
        let fields = fields.iter().map(|field| (*field).into()).collect();
        Object {
            key: key.into(),
            revision: 1,
            labels: [].into(),
            fields,
            encoded: Default::default(),
        }
    }

    #[test]
    fn fields_are_compared_for_equality() {
        let pod = object("ns/a", &["n1", "Running"]);
        for (selector, matches) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,metadata.namespace=ns", true),
            ("metadata.name!=a", false),
            ("metadata.namespace!=zz", true),
            ("spec.nodeName=n1,status.phase!=Pending", true),
            ("spec.nodeName=", false),
            ("metadata.name=a\\,b", false),
        ] {
            let known = ["spec.nodeName", "status.phase"];
            let parsed = FieldSelector::parse(selector, &known).unwrap();
            assert_eq!(parsed.matches(&pod), matches, "{selector}");
        }
    }

    #[test]
    fn a_selector_knows_whether_it_selects_by_namespace() {
        for (selector, has) in
            [("", false), ("metadata.name=a", false), ("metadata.namespace!=a", true)]
        {
            assert_eq!(FieldSelector::parse(selector, &[]).unwrap().has_namespace(), has);
        }
    }

    #[test]
    fn what_does_not_parse_says_so_as_kubernetes_does() {
        for (selector, error) in [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
            ("metadata.name=\\x", "invalid field selector: invalid escape sequence: \\x"),
            (
                "data.x=1",
                "\"data.x\" is not a known field selector: only \"metadata.name\", \
                 \"metadata.namespace\"",
            ),
        ] {
            let parsed = FieldSelector::parse(selector, &[]);
            assert_eq!(parsed.unwrap_err().to_string(), error);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_panics(text in "[a-z.=!,\\\\\u{e4} ]{0,40}") {
            let _ = FieldSelector::parse(&text, &["a.b"]);
        }
    }
}
