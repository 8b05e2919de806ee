//! Which schema matches a request, and which flow it belongs to.
//!
//! The first schema that matches is used. Trying one after the other costs time in
//! proportion to their number, so schemas are found by what the request has, as a search engine
//! finds documents by their rarest word:
//!
//! 1. Each predicate is taken apart into conjunctions: those of the proposal's form as they are, a
//!    rule of Kubernetes' form into one for each subject, or for each of its resource or
//!    non-resource rules. There is an index for requests for resources and one for all others, so a
//!    rule is only found by requests of the sort it is for.
//! 2. From each conjunction one test is chosen as its *anchor*: a value, or a few, of which the
//!    request must have one (this user, that group, one of these namespaces). Of the tests that can
//!    be one, it is that whose values fewest other conjunctions have. The conjunction is entered in
//!    the list of each of these values, with what is left to check: often nothing. Conjunctions
//!    that no value can be an anchor for (wildcards, inverses, patterns with no literal beginning)
//!    are entered in one list of those that are always candidates.
//! 3. A request looks up its user, groups, namespace and so on, skipping attributes no anchor is on,
//!    and goes through the lists found, each in the order of schemas, up to the first entry that
//!    matches or that is behind the best match so far. The list without anchors comes last, when
//!    the best match is likely to cut it short.
//!
//! Lists need not be merged: the least of their first matches is the first match of all, and the
//! bound on checks, the total length of the lists found, is the same. So a request with `g` groups
//! costs at most `g + 10` lookups, one for each slash of its path that a configured prefix could
//! reach to, one for each of its headers, and a check for each candidate. It does not depend on
//! the number of schemas, only on how many share the request's values. Nothing is allocated.
//!
//! The maps hash with a function that is not keyed. That is safe here: their keys come from the
//! configuration, which is trusted; requests only look up, and can't make a bucket longer.

mod anchor;
mod check;
mod compile;
mod explain;
mod index;
mod miss;
mod pattern;
mod words;

use std::sync::Arc;

use self::index::Index;
pub use self::{
    explain::{Explanation, Tried, Verdict},
    miss::Miss,
};
use crate::{
    Request,
    config::{Config, Distinguisher, Schema},
    flow::{Flow, FlowHash, FlowHasher, Slots, distinguish},
};

/// A configuration compiled for classifying requests.
#[derive(Debug)]
pub struct Classifier {
    resource: Index,
    others: Index,
    targets: Box<[Target]>,
    fallback: usize,
    hasher: FlowHasher,
}

/// The result of classifying a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Match {
    /// An index into [`Config::schemas`].
    pub schema: usize,
    /// An index into [`Config::levels`].
    pub level: usize,
    /// No schema matched.
    pub fallback: bool,
}

/// What is needed of a schema after it matched a request.
#[derive(Debug)]
struct Target {
    name: Arc<str>,
    level: usize,
    flows: Flows,
}

#[derive(Debug)]
enum Flows {
    /// All requests are one flow, whose hash is not used.
    One,
    Apart(Option<(Distinguisher, Option<Slots>)>),
}

impl Classifier {
    /// One that hashes flows as Kubernetes does.
    pub fn new(config: &Config) -> Self {
        Classifier::with_hash(config, FlowHash::Unkeyed)
    }

    pub fn with_hash(config: &Config, hash: FlowHash) -> Self {
        Classifier {
            resource: compile::index(&config.schemas, true),
            others: compile::index(&config.schemas, false),
            targets: config.schemas.iter().map(|schema| Target::new(config, schema)).collect(),
            fallback: config.fallback,
            hasher: FlowHasher::new(hash),
        }
    }

    /// The first schema that matches, else the fallback.
    pub fn classify(&self, request: &Request<'_>) -> Match {
        let index = if request.is_resource { &self.resource } else { &self.others };
        let found = index.first_match(request);
        let schema = found.unwrap_or(self.fallback);
        Match { schema, level: self.targets[schema].level, fallback: found.is_none() }
    }

    /// The flow of a request that was classified. Where the level does not tell flows apart, it is
    /// not computed: no distinguisher, hash 0.
    pub fn flow<'r>(&self, matched: Match, request: &Request<'r>) -> Flow<'r> {
        let Target { name, flows, .. } = &self.targets[matched.schema];
        let Flows::Apart(by) = flows else { return Flow::default() };
        let distinguisher = match by {
            Some((by, slots)) => distinguish(by, slots.as_ref(), request),
            None => "",
        };
        Flow { distinguisher, hash: self.hasher.hash(name, distinguisher) }
    }
}

// === impl Target ===

impl Target {
    fn new(config: &Config, schema: &Schema) -> Self {
        let flows = if config.level_of(schema).tells_flows_apart() {
            let slots = |by: &Distinguisher| by.transform.as_ref().map(Slots::new);
            Flows::Apart(schema.distinguisher.as_ref().map(|by| (by.clone(), slots(by))))
        } else {
            Flows::One
        };
        Target { name: schema.name.clone(), level: schema.level, flows }
    }
}
