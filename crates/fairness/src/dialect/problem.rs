//! What is wrong with a configuration, and where.

use std::{fmt, sync::Arc};

use rustc_hash::FxHashMap;

use super::{
    kubernetes::{API_VERSION, FieldErrorKind},
    proposal,
};

/// Where an object was found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// The name people know the text by.
    pub file: Arc<str>,
    /// From 1; none where the whole text is meant.
    pub document: Option<usize>,
    /// Its place in a list, from 0.
    pub item: Option<usize>,
    /// Empty where it is not known.
    pub kind: String,
    pub name: String,
}

/// An object, and where it was found.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    pub place: Place,
    pub object: T,
}

/// Something that keeps an object out of the configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}{}: {fault}", Prefixed(.field))]
pub struct Problem {
    pub place: Place,
    /// The path of the field; empty where the whole object is meant.
    pub field: String,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("line {line}, column {column}: {message}")]
    Syntax { line: u64, column: u64, message: String },
    #[error("line {line}: {message}")]
    TooMuch { line: u64, message: &'static str },
    #[error("the text is longer than {limit} bytes; split the configuration")]
    TooLong { limit: usize },
    #[error("more than {limit} objects; there can't be that many flow schemas and levels")]
    TooManyObjects { limit: usize },
    #[error("expected an object, found {found}")]
    NotAnObject { found: &'static str },
    #[error("has no `kind`")]
    NoKind,
    #[error(
        "has no `apiVersion`; use {kubernetes} or {proposal}",
        kubernetes = super::kubernetes::API_VERSION,
        proposal = super::proposal::API_VERSION
    )]
    NoApiVersion,
    #[error(
        "{kind} of {api_version} is no kind of a fairness configuration; there are \
         FlowSchema and PriorityLevelConfiguration of {kubernetes}, and FlowSchema and \
         RequestPriority of {proposal}",
        kubernetes = super::kubernetes::API_VERSION,
        proposal = super::proposal::API_VERSION
    )]
    UnknownKind { api_version: String, kind: String },
    #[error(
        "{api_version} is not read, only {read}; write that if the fields are the same{}",
        ask(.read, .kind)
    )]
    OtherVersion { api_version: String, kind: String, read: &'static str },
    #[error("there is no such field")]
    UnknownField,
    #[error("{message}")]
    Decode { message: String },
    #[error("another object of this kind and name is in {first}")]
    SecondOfName { first: Box<Place> },
    #[error(
        "objects of both dialects: {kubernetes} is Kubernetes', {proposal} is the \
         proposal's; a configuration is written in one of them"
    )]
    MixedDialects { kubernetes: Box<Place>, proposal: Box<Place> },
    #[error("{kind}: {detail}")]
    Refused { kind: FieldErrorKind, detail: String },
    #[error(transparent)]
    Proposal(#[from] proposal::Fault),
}

impl Problem {
    pub(super) fn at(place: &Place, field: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Problem { place: place.clone(), field: field.into(), fault: fault.into() }
    }
}

impl<T> Placed<T> {
    /// Keeps the first of each name.
    pub(super) fn sift_duplicates(objects: &mut Vec<Placed<T>>, problems: &mut Vec<Problem>) {
        let mut first: FxHashMap<String, Place> = FxHashMap::default();
        objects.retain(|Placed { place, .. }| {
            let Some(first) = first.get(&place.name) else {
                first.insert(place.name.clone(), place.clone());
                return true;
            };
            let fault = Fault::SecondOfName { first: first.clone().into() };
            problems.push(Problem::at(place, "metadata.name", fault));
            false
        });
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, document, item, kind, name } = self;
        write!(f, "{}", excerpt(file))?;
        if let Some(document) = document {
            write!(f, ", document {document}")?;
        }
        if let Some(item) = item {
            write!(f, ", item {item}")?;
        }
        if !kind.is_empty() {
            write!(f, ", {} {}", excerpt(kind), excerpt(name))?;
        }
        Ok(())
    }
}

/// How to get an object in the version that is read; only Kubernetes' API server has several.
fn ask(read: &str, kind: &str) -> String {
    let Some((group, version)) = read.split_once('/').filter(|_| read == API_VERSION) else {
        return String::new();
    };
    format!(
        ", or ask the API server for it: `kubectl get {}s.{version}.{group} -o yaml`",
        kind.to_lowercase()
    )
}

struct Prefixed<'a>(&'a str);

impl fmt::Display for Prefixed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", excerpt(self.0)) }
    }
}

/// Input fit to stand in an error: cut when long, and without what could steer a terminal. The
/// end is kept, as that is where serde says what it expected.
pub(super) fn excerpt(text: &str) -> String {
    const HEAD: usize = 120;
    const TAIL: usize = 60;
    let n_chars = text.chars().count();
    let cut = if n_chars <= HEAD + TAIL {
        text.to_owned()
    } else {
        let head: String = text.chars().take(HEAD).collect();
        let tail: String = text.chars().skip(n_chars - TAIL).collect();
        format!("{head}…{tail}")
    };
    cut.replace(char::is_control, " ")
}
