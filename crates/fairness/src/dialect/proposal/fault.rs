//! Errors in objects of this dialect, beyond their syntax.

use std::fmt;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    #[error("must not be empty")]
    EmptyName,
    #[error("required for a level that is not exempt")]
    NeededUnlessExempt,
    #[error("not allowed for an exempt level, which has no limits")]
    NotOfExempt,
    #[error("must be greater than 0")]
    NotPositive,
    #[error("required for more than one queue")]
    HandNeeded,
    #[error(
        "hands of {hand_size} can't be dealt from {queues} queues: \
         queues!/(queues-handSize)! must be below 2^60, and handSize at most queues"
    )]
    Undealable { queues: u32, hand_size: u32 },
    #[error("must be at most {limit}, not {queues}")]
    TooManyQueues { queues: u32, limit: u32 },
    #[error("required: the name of a priority level")]
    NoLevel,
    #[error(
        "match[{conjunction}] accepts requests that are not for a resource, and they have no \
         namespace; test for a resource or a namespace there"
    )]
    NamespaceWithoutResource { conjunction: usize },
    #[error("unknown source {source_name:?}; use user, namespace, group or header:<name>")]
    UnknownSource { source_name: String },
    #[error("a user has several groups; add a transformation that selects one")]
    GroupWithoutTransformation,
    #[error("set twice, here and as `transformation`")]
    TwoTransformations,
    #[error(transparent)]
    Pattern(#[from] PatternFault),
}

/// Why a distinguisher has no effect.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoEffect {
    Exempt,
    OneQueue,
    /// Kubernetes only.
    Reject,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatternFault {
    #[error("invalid regular expression: {message}")]
    Syntax { message: String },
    #[error("the expression is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the expression takes more than {limit} bytes of memory; make repetitions smaller")]
    TooBig { limit: usize },
    #[error(
        "all expressions together take more than {limit} bytes of memory; use fewer or simpler ones"
    )]
    TooMuch { limit: usize },
    #[error("has no capturing group; its capture distinguishes flows")]
    NoGroup,
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoEffect::Exempt => "is exempt",
            NoEffect::OneQueue => "has one queue",
            NoEffect::Reject => "has no queues",
        })
    }
}
