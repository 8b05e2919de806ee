//! A flow schema as configured.

use std::sync::Arc;

use regex::Regex;

use super::Predicate;

/// Which requests belong to which level, and how their flows are distinguished.
#[derive(Clone, Debug)]
pub struct Schema {
    pub name: Arc<str>,
    /// The object's UID; empty if it is implied.
    pub uid: Arc<str>,
    /// Matching precedence, or matching priority: less is tried first, ties by name.
    pub precedence: i32,
    /// An index into [`Config::levels`](super::Config::levels).
    pub level: usize,
    pub distinguisher: Option<Distinguisher>,
    pub predicate: Predicate,
    /// Implied, not configured: it exists so that every request has a schema.
    pub implied: bool,
}

/// What distinguishes the flows of one schema.
#[derive(Clone, Debug)]
pub struct Distinguisher {
    pub source: Source,
    pub transform: Option<Transform>,
}

/// A string attribute of a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    User,
    Namespace,
    /// The first of the groups that the transform matches.
    Group,
    /// A header by its name in lower case.
    Header(Arc<str>),
}

/// Matches the whole attribute and yields group 1; what does not match yields the empty string.
#[derive(Clone, Debug)]
pub struct Transform {
    /// As configured, not anchored.
    pub pattern: Arc<str>,
    /// Anchored at both ends; has at least one group.
    pub regex: Regex,
}
