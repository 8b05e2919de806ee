//! Errors in a configuration, and where they are.

use std::{fmt, sync::Arc};

use rustc_hash::FxHashMap;

use super::{
    kubernetes::{API_VERSION, FieldErrorKind},
    proposal,
};
use crate::limits::nominal::NoShares;

/// Where an object was found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Location {
    /// The name people know the text by.
    pub file: Arc<str>,
    /// From 1; none where the whole text is meant.
    pub document: Option<usize>,
    /// Its index in a list, from 0.
    pub item: Option<usize>,
    /// Empty where it is not known.
    pub kind: String,
    pub name: String,
}

/// An object, and where it was found.
#[derive(Clone, Debug)]
pub struct Located<T> {
    pub location: Location,
    pub object: T,
}

/// An error because of which an object is ignored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{location}{}: {fault}", Prefixed(.field))]
pub struct Problem {
    pub location: Location,
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
    #[error("more than {limit} objects")]
    TooManyObjects { limit: usize },
    #[error("expected an object, found {found}")]
    NotAnObject { found: &'static str },
    #[error("missing `kind`")]
    NoKind,
    #[error(
        "missing `apiVersion`; use {kubernetes} or {proposal}",
        kubernetes = super::kubernetes::API_VERSION,
        proposal = super::proposal::API_VERSION
    )]
    NoApiVersion,
    #[error(
        "unknown kind {kind} of {api_version}; expected \
         FlowSchema and PriorityLevelConfiguration of {kubernetes}, or FlowSchema and \
         RequestPriority of {proposal}",
        kubernetes = super::kubernetes::API_VERSION,
        proposal = super::proposal::API_VERSION
    )]
    UnknownKind { api_version: String, kind: String },
    #[error(
        "{api_version} is not supported; use {read} if the fields are the same{}",
        ask(.read, .kind)
    )]
    OtherVersion { api_version: String, kind: String, read: &'static str },
    #[error("unknown field")]
    UnknownField,
    #[error("{message}")]
    Decode { message: String },
    #[error("duplicate of the object in {first}")]
    DuplicateName { first: Box<Location> },
    #[error(
        "objects of both dialects: {kubernetes} is Kubernetes', {proposal} is the \
         proposal's; use one of them"
    )]
    MixedDialects { kubernetes: Box<Location>, proposal: Box<Location> },
    #[error(
        "an object of Kubernetes' dialect, which is not read here; write it as {}, or use the other \
         dialect and create it in the API",
        super::proposal::API_VERSION
    )]
    OtherDialect,
    #[error(transparent)]
    NoShares(#[from] NoShares),
    #[error("{kind}{}", Prefixed(.detail))]
    Invalid { kind: FieldErrorKind, detail: String },
    #[error(transparent)]
    Proposal(#[from] proposal::Fault),
}

impl Problem {
    pub(super) fn at(
        location: &Location,
        field: impl Into<String>,
        fault: impl Into<Fault>,
    ) -> Self {
        Problem { location: location.clone(), field: field.into(), fault: fault.into() }
    }
}

impl<T> Located<T> {
    /// Keeps the first of each name.
    pub(super) fn sift_duplicates(objects: &mut Vec<Located<T>>, problems: &mut Vec<Problem>) {
        let mut first: FxHashMap<String, Location> = FxHashMap::default();
        objects.retain(|Located { location, .. }| {
            let Some(first) = first.get(&location.name) else {
                first.insert(location.name.clone(), location.clone());
                return true;
            };
            let fault = Fault::DuplicateName { first: first.clone().into() };
            problems.push(Problem::at(location, "metadata.name", fault));
            false
        });
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { file, document, item, kind, name } = self;
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

/// How to get an object in the supported version; only Kubernetes' API server has several.
fn ask(read: &str, kind: &str) -> String {
    let Some((group, version)) = read.split_once('/').filter(|_| read == API_VERSION) else {
        return String::new();
    };
    format!(
        ", or get it from the API server: `kubectl get {}s.{version}.{group} -o yaml`",
        kind.to_lowercase()
    )
}

struct Prefixed<'a>(&'a str);

impl fmt::Display for Prefixed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", excerpt(self.0)) }
    }
}

/// Input for an error message: truncated, and without control characters. The
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
