//! What can be wrong with a manifest, said so that people find the place.

use std::fmt;

use kube::Resource;

use crate::{FieldError, Origin, excerpt};

/// One problem in one place. Shows at most a few dozen characters of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ManifestError {
    pub origin: Origin,
    /// `Node/n1` or `Service/default/web`, as far as the object's name could be read.
    pub object: Option<Box<str>>,
    /// The path from the object's root, such as `spec.ports[0].port`.
    pub field: Option<Box<str>>,
    pub problem: Box<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("not {format}: {message} at line {line}, column {column}")]
    Syntax { format: &'static str, line: u64, column: u64, message: String },
    /// Nested too deep, or grown beyond bounds by aliases.
    #[error("refused: {message} at line {line}, column {column}")]
    TooMuch { line: u64, column: u64, message: String },
    #[error("expected a Kubernetes object, found {found}")]
    NotAnObject { found: String },
    #[error("no kind")]
    NoKind,
    #[error("no apiVersion")]
    NoApiVersion,
    #[error("no name")]
    NoName,
    /// A field holds a value of another type than Kubernetes' schema says.
    #[error("{message}")]
    WrongType { message: String },
    /// A field holds a value of the right type that makes no sense.
    #[error("{problem}")]
    WrongValue { problem: String },
    #[error("differs from the one in {other}")]
    Conflict { other: Origin },
}

/// A problem before it is known where the object stands.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) object: Option<Box<str>>,
    pub(super) field: Option<Box<str>>,
    pub(super) problem: Problem,
}

// === impl ManifestError ===

impl ManifestError {
    pub(crate) fn new(origin: Origin, problem: Problem) -> Self {
        ManifestError { origin, object: None, field: None, problem: Box::new(problem) }
    }

    /// A problem with `object` as a whole.
    pub(crate) fn about<T>(origin: Origin, object: &T, problem: Problem) -> Self
    where
        T: Resource<DynamicType = ()>,
    {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref();
        let name = object_name(&T::kind(&()), namespace, meta.name.as_deref());
        ManifestError { object: Some(name), ..ManifestError::new(origin, problem) }
    }

    /// A field of `object` that could not be converted.
    pub(crate) fn in_field<T>(origin: Origin, object: &T, error: FieldError) -> Self
    where
        T: Resource<DynamicType = ()>,
    {
        let FieldError { field, problem } = error;
        let problem = Problem::WrongValue { problem };
        ManifestError { field: Some(field.into()), ..ManifestError::about(origin, object, problem) }
    }

    pub(super) fn from_trouble(origin: Origin, trouble: Trouble) -> Self {
        let Trouble { object, field, problem } = trouble;
        ManifestError { object, field, ..ManifestError::new(origin, problem) }
    }

    /// What to do about it, where that is not plain from the problem itself.
    pub fn help(&self) -> Option<&'static str> {
        Some(match &*self.problem {
            Problem::Syntax { format: "JSON", .. } => {
                "text that starts like JSON is read as JSON, all other text as YAML"
            }
            Problem::Syntax { .. } | Problem::NotAnObject { .. } => {
                "give manifests as `kubectl get -o yaml` or `-o json` prints them"
            }
            Problem::TooMuch { .. } => {
                "write repeated parts out instead of using aliases, and nest less deep"
            }
            Problem::NoKind => "add a kind, for example `kind: Service`",
            Problem::NoApiVersion => "add an apiVersion, for example `apiVersion: v1`",
            Problem::NoName => "add a name under metadata",
            Problem::Conflict { .. } => {
                "keep one of them, or give all objects as they were at one moment"
            }
            Problem::WrongType { .. } | Problem::WrongValue { .. } => return None,
        })
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ManifestError { origin, object, field, problem } = self;
        write!(f, "{origin}: ")?;
        if let Some(object) = object {
            write!(f, "{object}: ")?;
        }
        if let Some(field) = field {
            write!(f, "{field}: ")?;
        }
        problem.fmt(f)
    }
}

/// How an object is called in messages.
pub(super) fn object_name(kind: &str, namespace: Option<&str>, name: Option<&str>) -> Box<str> {
    let parts = [Some(kind), namespace, Some(name.unwrap_or("?"))];
    let parts: Vec<String> = parts.into_iter().flatten().map(excerpt::name).collect();
    parts.join("/").into()
}
