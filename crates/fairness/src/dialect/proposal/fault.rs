//! What is wrong with an object of this dialect, beyond its form.

use std::fmt;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("must not be empty")]
    EmptyName,
    #[error("needed for a level that is not exempt")]
    NeededUnlessExempt,
    #[error("an exempt level has no limits, and so no such field")]
    NotOfExempt,
    #[error("must be positive")]
    NotPositive,
    #[error("needed for more than one queue")]
    HandNeeded,
    #[error(
        "hands of {hand_size} can't be dealt from {queues} queues: \
         queues!/(queues-handSize)! must be below 2^60, and handSize at most queues"
    )]
    Undealable { queues: u32, hand_size: u32 },
    #[error("{queues} are more than the {limit} that a level can have")]
    TooManyQueues { queues: u32, limit: u32 },
    #[error("level {first} is exempt already; there is at most one")]
    SecondExempt { first: String },
    #[error("a schema points at a level")]
    NoLevel,
    #[error("there is no level {level}")]
    UnknownLevel { level: String },
    #[error("level {level} is left out, as something is wrong with it")]
    BrokenLevel { level: String },
    #[error("level {level} {why}, so flows can't be told apart there; leave it out")]
    DistinguisherWithoutUse { level: String, why: Meaningless },
    #[error(
        "match[{conjunction}] accepts requests that are not for a resource, and they have no \
         namespace; test for a resource or a namespace there"
    )]
    NamespaceWithoutResource { conjunction: usize },
    #[error("no source {source_name:?}; there are user, namespace, group and header:<name>")]
    UnknownSource { source_name: String },
    #[error("a user has many groups; a transformation says which of them counts")]
    GroupWithoutTransformation,
    #[error("given twice, here and as `transformation`")]
    TwoTransformations,
    #[error(transparent)]
    Pattern(#[from] PatternFault),
}

/// Why a distinguisher has no use.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaningless {
    Exempt,
    OneQueue,
    /// Kubernetes only.
    Reject,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatternFault {
    #[error("not a regular expression: {message}")]
    Syntax { message: String },
    #[error("the expression is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the expression takes more than {limit} bytes of memory; make repetitions smaller")]
    TooBig { limit: usize },
    #[error(
        "all expressions together take more than {limit} bytes of memory; use fewer or simpler ones"
    )]
    TooMuch { limit: usize },
    #[error("has no capturing group; what it captures is what tells flows apart")]
    NoGroup,
}

impl fmt::Display for Meaningless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Meaningless::Exempt => "is exempt",
            Meaningless::OneQueue => "has one queue",
            Meaningless::Reject => "has no queues",
        })
    }
}
