//! What should be known about a configuration that works: what in it does nothing, or something
//! other than it seems to.

mod checks;
mod cover;

use std::fmt;

use serde::Serialize;

pub(super) use self::checks::lint;
use super::{problem::excerpt, proposal::Meaningless};

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It is as meant, or harmless.
    Note,
    /// It works, but hardly as meant.
    Warning,
    /// An object is left out.
    Error,
}

/// Which dialect a configuration came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Dialect {
    Kubernetes,
    Proposal,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum Kind {
    FlowSchema,
    PriorityLevel,
}

/// One thing that should be known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// A schema that points at a level that does not exist is passed over.
    Dangling { schema: String, level: String },
    /// A level that makes no sense counts as absent.
    BrokenLevel { level: String, why: String },
    /// Of two objects of one name the first counts.
    SecondOfName { kind: Kind, name: String },
    /// Everything it would take an earlier schema takes.
    Unreachable { schema: String, by: String, tie: bool },
    /// Its predicate is true of no request.
    NeverMatches { schema: String },
    /// No schema matches every request, so backstops are in force.
    NoCatchAll { level: String },
    /// No level says that it catches all.
    NoCatchAllLevel { level: String },
    /// Requests that match nothing are exempt.
    ExemptCatchAll { level: String },
    /// A level with limits and without seats.
    ZeroShares { level: String },
    /// There is a level of the schema's own name, and it points at another.
    OtherLevel { schema: String, level: String },
    /// Flows are not told apart at this level.
    MeaninglessDistinguisher { schema: String, level: String, why: Meaningless },
    /// All requests of the schema are one flow, in a level that could tell flows apart.
    NoDistinguisher { schema: String, level: String },
    /// Every flow may use every queue of the level.
    HandOfAllQueues { level: String, queues: u32 },
    /// Distinguished by namespace, but takes requests that have none.
    NamespaceWithoutResource { schema: String, conjunction: usize },
    /// No schema points at it.
    UnusedLevel { level: String },
    /// A star that stands for itself.
    LiteralWildcard { schema: String, field: String, entry: String },
    /// A subject that matches nobody.
    BrokenSubject { schema: String, field: String },
    /// Schemas of one precedence that lead to different levels.
    Tie { precedence: i32, schemas: Vec<String> },
    /// Prose in parentheses where a value would stand.
    Prose { schema: String, field: &'static str, value: String },
}

impl Finding {
    /// A word that stays the same when the sentence changes.
    pub fn code(&self) -> &'static str {
        match self {
            Finding::Dangling { .. } => "dangling",
            Finding::BrokenLevel { .. } => "broken-level",
            Finding::SecondOfName { .. } => "second-of-name",
            Finding::Unreachable { .. } => "unreachable",
            Finding::NeverMatches { .. } => "never-matches",
            Finding::NoCatchAll { .. } => "no-catch-all",
            Finding::NoCatchAllLevel { .. } => "no-catch-all-level",
            Finding::ExemptCatchAll { .. } => "exempt-catch-all",
            Finding::ZeroShares { .. } => "zero-shares",
            Finding::OtherLevel { .. } => "other-level",
            Finding::MeaninglessDistinguisher { .. } => "meaningless-distinguisher",
            Finding::NoDistinguisher { .. } => "no-distinguisher",
            Finding::HandOfAllQueues { .. } => "hand-of-all-queues",
            Finding::NamespaceWithoutResource { .. } => "namespace-without-resource",
            Finding::UnusedLevel { .. } => "unused-level",
            Finding::LiteralWildcard { .. } => "literal-wildcard",
            Finding::BrokenSubject { .. } => "broken-subject",
            Finding::Tie { .. } => "tie",
            Finding::Prose { .. } => "prose",
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Finding::Dangling { .. }
            | Finding::BrokenLevel { .. }
            | Finding::SecondOfName { .. } => Severity::Error,
            Finding::Unreachable { .. }
            | Finding::NeverMatches { .. }
            | Finding::NoCatchAll { .. }
            | Finding::NoCatchAllLevel { .. }
            | Finding::ExemptCatchAll { .. }
            | Finding::ZeroShares { .. }
            | Finding::OtherLevel { .. }
            | Finding::NoDistinguisher { .. }
            | Finding::HandOfAllQueues { .. }
            | Finding::LiteralWildcard { .. }
            | Finding::BrokenSubject { .. } => Severity::Warning,
            Finding::MeaninglessDistinguisher { .. }
            | Finding::NamespaceWithoutResource { .. }
            | Finding::UnusedLevel { .. }
            | Finding::Tie { .. }
            | Finding::Prose { .. } => Severity::Note,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Dangling { schema, level } => write!(
                f,
                "flow schema {} is passed over: there is no sound level {}",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::BrokenLevel { level, why } => {
                write!(f, "level {} counts as absent: {why}", excerpt(level))
            }
            Finding::SecondOfName { kind, name } => {
                write!(f, "there are two {kind:?} objects named {}", excerpt(name))?;
                f.write_str("; the first counts")
            }
            Finding::Unreachable { schema, by, tie } => {
                let (schema, by) = (excerpt(schema), excerpt(by));
                write!(f, "flow schema {schema} takes no request: {by}, tried before it")?;
                let order = if *tie { " because of its name" } else { "" };
                write!(f, "{order}, takes all it would")
            }
            Finding::NeverMatches { schema } => {
                write!(f, "flow schema {} matches no request", excerpt(schema))
            }
            Finding::NoCatchAll { level } => write!(
                f,
                "no flow schema matches every request; what none matches goes to level {} by an \
                 implied one",
                excerpt(level)
            ),
            Finding::NoCatchAllLevel { level } => write!(
                f,
                "no level has catchAll; what no flow schema matches goes to level {}",
                excerpt(level)
            ),
            Finding::ExemptCatchAll { level } => write!(
                f,
                "what no flow schema matches goes to level {}, which is exempt",
                excerpt(level)
            ),
            Finding::ZeroShares { level } => {
                write!(f, "level {} has no shares, and so no seats of its own", excerpt(level))
            }
            Finding::OtherLevel { schema, level } => write!(
                f,
                "flow schema {} points at level {}, though there is a level of its own name",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::MeaninglessDistinguisher { schema, level, why } => write!(
                f,
                "the distinguisher of flow schema {} has no use: level {} {why}",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::NoDistinguisher { schema, level } => write!(
                f,
                "flow schema {} has no distinguisher: all its requests are one flow in level {}, \
                 and one client can starve the others",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::HandOfAllQueues { level, queues } => write!(
                f,
                "level {}: handSize equals queues ({queues}), so one flow can fill every queue; \
                 choose a smaller handSize",
                excerpt(level)
            ),
            Finding::NamespaceWithoutResource { schema, conjunction } => write!(
                f,
                "flow schema {} tells flows apart by namespace, but match[{conjunction}] takes \
                 requests that have none; they are one flow",
                excerpt(schema)
            ),
            Finding::UnusedLevel { level } => {
                write!(f, "no flow schema points at level {}", excerpt(level))
            }
            Finding::LiteralWildcard { schema, field, entry } => write!(
                f,
                "flow schema {}, {field}: {:?} is no pattern and matches only itself",
                excerpt(schema),
                excerpt(entry)
            ),
            Finding::BrokenSubject { schema, field } => {
                write!(f, "flow schema {}, {field}: matches nobody", excerpt(schema))
            }
            Finding::Tie { precedence, schemas } => tie(f, *precedence, schemas),
            Finding::Prose { schema, field, value } => write!(
                f,
                "flow schema {}, {field}: prose in parentheses is taken as {}",
                excerpt(schema),
                excerpt(value)
            ),
        }
    }
}

fn tie(f: &mut fmt::Formatter<'_>, precedence: i32, schemas: &[String]) -> fmt::Result {
    const SHOWN: usize = 5;
    let shown: Vec<String> = schemas.iter().take(SHOWN).map(|name| excerpt(name)).collect();
    write!(f, "flow schemas {}", shown.join(", "))?;
    if schemas.len() > SHOWN {
        write!(f, " and {} more", schemas.len() - SHOWN)?;
    }
    write!(f, " all have precedence {precedence}; they are tried in the order of their names")
}
