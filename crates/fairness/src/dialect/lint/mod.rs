//! Settings that don't do what they appear to: what in a configuration has no effect, or another than
//! it seems to have.

mod checks;
mod cover;
mod seats;

use std::fmt;

use serde::Serialize;

pub(super) use self::{checks::lint, seats::lint_seats};
use super::{problem::excerpt, proposal::NoEffect};

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It is as intended, or harmless.
    Info,
    /// It works, but probably not as intended.
    Warning,
    /// An object is ignored.
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

/// One thing that an operator should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum Finding {
    /// The priority level of a flow schema is missing or invalid, so the schema is ignored.
    MissingPriorityLevel { schema: String, level: String },
    /// An invalid priority level is ignored.
    InvalidPriorityLevel { level: String, why: String },
    /// Of two objects of one name the first is used.
    DuplicateName { kind: Kind, name: String },
    /// An earlier schema matches every request that this one would.
    UnreachableFlowSchema { schema: String, by: String, tie: bool },
    /// Its predicate is false for every request.
    FlowSchemaNeverMatches { schema: String },
    /// No schema matches every request, so an implied one does.
    NoCatchAllFlowSchema { level: String },
    /// No level has `catchAll`.
    NoCatchAllPriorityLevel { level: String },
    /// Requests that match nothing are exempt.
    ExemptCatchAll { level: String },
    /// A level with limits and without seats.
    ZeroShares { level: String },
    /// There is a level of the schema's own name, and it refers to another.
    PriorityLevelNameMismatch { schema: String, level: String },
    /// The level does not tell flows apart.
    UnusedDistinguisher { schema: String, level: String, why: NoEffect },
    /// The proposal does not allow a distinguisher for such a level. The schema is in force without.
    DistinguisherIgnored { schema: String, level: String, why: NoEffect },
    /// There should be at most one exempt level. All of them are exempt.
    SeveralExemptLevels { level: String, first: String },
    /// All requests of the schema are one flow, in a level that could tell flows apart.
    MissingDistinguisher { schema: String, level: String },
    /// Every flow may use every queue of the level.
    HandCoversAllQueues { level: String, queues: u32 },
    /// Distinguished by namespace, but matches requests that have none.
    NamespaceDistinguisherWithoutNamespace { schema: String, conjunction: usize },
    /// No schema refers to it.
    UnusedPriorityLevel { level: String },
    /// A star that is not a wildcard.
    LiteralWildcard { schema: String, field: String, entry: String },
    /// A subject that matches nobody.
    SubjectMatchesNobody { schema: String, field: String },
    /// Schemas of one precedence that lead to different levels.
    EqualPrecedence { precedence: i32, schemas: Vec<String> },
    /// Prose in parentheses where a value would stand.
    PlaceholderValue { schema: String, field: &'static str, value: String },
    /// At this size of the server the level has a single seat; at `needed` it has two.
    SingleSeat { level: String, server_limit: u32, needed: u32 },
    /// At this size of the server every request of the level counts as one seat; at `needed`, if
    /// there is such a size, a request may count as two.
    OneSeatPerRequest { level: String, seats: u32, hand_size: u32, needed: Option<u32> },
    /// The level rejects what does not fit, and requests of `widest` seats don't fit into all it
    /// may ever have.
    WideRequestsRejected { level: String, server_limit: u32, max: u32, widest: u32 },
}

impl Finding {
    /// Stays the same when the sentence changes.
    pub fn code(&self) -> &'static str {
        match self {
            Finding::MissingPriorityLevel { .. } => "MissingPriorityLevel",
            Finding::InvalidPriorityLevel { .. } => "InvalidPriorityLevel",
            Finding::DuplicateName { .. } => "DuplicateName",
            Finding::UnreachableFlowSchema { .. } => "UnreachableFlowSchema",
            Finding::FlowSchemaNeverMatches { .. } => "FlowSchemaNeverMatches",
            Finding::NoCatchAllFlowSchema { .. } => "NoCatchAllFlowSchema",
            Finding::NoCatchAllPriorityLevel { .. } => "NoCatchAllPriorityLevel",
            Finding::ExemptCatchAll { .. } => "ExemptCatchAll",
            Finding::ZeroShares { .. } => "ZeroShares",
            Finding::PriorityLevelNameMismatch { .. } => "PriorityLevelNameMismatch",
            Finding::UnusedDistinguisher { .. } => "UnusedDistinguisher",
            Finding::DistinguisherIgnored { .. } => "DistinguisherIgnored",
            Finding::SeveralExemptLevels { .. } => "SeveralExemptLevels",
            Finding::MissingDistinguisher { .. } => "MissingDistinguisher",
            Finding::HandCoversAllQueues { .. } => "HandCoversAllQueues",
            Finding::NamespaceDistinguisherWithoutNamespace { .. } => {
                "NamespaceDistinguisherWithoutNamespace"
            }
            Finding::UnusedPriorityLevel { .. } => "UnusedPriorityLevel",
            Finding::LiteralWildcard { .. } => "LiteralWildcard",
            Finding::SubjectMatchesNobody { .. } => "SubjectMatchesNobody",
            Finding::EqualPrecedence { .. } => "EqualPrecedence",
            Finding::PlaceholderValue { .. } => "PlaceholderValue",
            Finding::SingleSeat { .. } => "SingleSeat",
            Finding::OneSeatPerRequest { .. } => "OneSeatPerRequest",
            Finding::WideRequestsRejected { .. } => "WideRequestsRejected",
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Finding::MissingPriorityLevel { .. }
            | Finding::InvalidPriorityLevel { .. }
            | Finding::DuplicateName { .. } => Severity::Error,
            Finding::UnreachableFlowSchema { .. }
            | Finding::FlowSchemaNeverMatches { .. }
            | Finding::NoCatchAllFlowSchema { .. }
            | Finding::NoCatchAllPriorityLevel { .. }
            | Finding::ExemptCatchAll { .. }
            | Finding::ZeroShares { .. }
            | Finding::PriorityLevelNameMismatch { .. }
            | Finding::DistinguisherIgnored { .. }
            | Finding::SeveralExemptLevels { .. }
            | Finding::MissingDistinguisher { .. }
            | Finding::HandCoversAllQueues { .. }
            | Finding::LiteralWildcard { .. }
            | Finding::SubjectMatchesNobody { .. }
            | Finding::SingleSeat { .. }
            | Finding::WideRequestsRejected { .. } => Severity::Warning,
            Finding::UnusedDistinguisher { .. }
            | Finding::NamespaceDistinguisherWithoutNamespace { .. }
            | Finding::UnusedPriorityLevel { .. }
            | Finding::EqualPrecedence { .. }
            | Finding::PlaceholderValue { .. }
            | Finding::OneSeatPerRequest { .. } => Severity::Info,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::MissingPriorityLevel { schema, level } => write!(
                f,
                "flow schema {} is ignored: priority level {} is missing or invalid",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::InvalidPriorityLevel { level, why } => {
                write!(f, "priority level {} is ignored: {why}", excerpt(level))
            }
            Finding::DuplicateName { kind, name } => {
                write!(f, "two {kind:?} objects are named {}; the first is used", excerpt(name))
            }
            Finding::UnreachableFlowSchema { schema, by, tie } => {
                let (schema, by) = (excerpt(schema), excerpt(by));
                let order = match tie {
                    true => "comes first alphabetically",
                    false => "has the lower precedence number",
                };
                write!(
                    f,
                    "flow schema {schema} gets no requests: {by} {order} and matches all of them"
                )
            }
            Finding::FlowSchemaNeverMatches { schema } => {
                write!(f, "flow schema {} matches no request", excerpt(schema))
            }
            Finding::NoCatchAllFlowSchema { level } => write!(
                f,
                "no flow schema matches every request; requests that match none go to priority \
                 level {}",
                excerpt(level)
            ),
            Finding::NoCatchAllPriorityLevel { level } => write!(
                f,
                "no priority level has catchAll; requests that match no flow schema go to {}",
                excerpt(level)
            ),
            Finding::ExemptCatchAll { level } => write!(
                f,
                "requests that match no flow schema go to priority level {}, which is exempt from \
                 all limits",
                excerpt(level)
            ),
            Finding::ZeroShares { level } => {
                write!(f, "priority level {} has 0 shares, so it has no seats", excerpt(level))
            }
            Finding::PriorityLevelNameMismatch { schema, level } => write!(
                f,
                "flow schema {schema} refers to priority level {}, although there is a priority \
                 level {schema}",
                excerpt(level),
                schema = excerpt(schema),
            ),
            Finding::UnusedDistinguisher { schema, level, why }
            | Finding::DistinguisherIgnored { schema, level, why } => write!(
                f,
                "the distinguisher of flow schema {} has no effect: priority level {} {why}",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::SeveralExemptLevels { level, first } => write!(
                f,
                "priority levels {} and {} are both exempt from all limits; there should be only \
                 one",
                excerpt(first),
                excerpt(level)
            ),
            Finding::MissingDistinguisher { schema, level } => write!(
                f,
                "flow schema {} has no distinguisher: all its requests are one flow in priority \
                 level {}, so one client can starve the others; distinguish by user or namespace",
                excerpt(schema),
                excerpt(level)
            ),
            Finding::HandCoversAllQueues { level, queues } => write!(
                f,
                "priority level {}: handSize equals queues ({queues}), so one flow can fill every \
                 queue; choose a smaller handSize",
                excerpt(level)
            ),
            Finding::NamespaceDistinguisherWithoutNamespace { schema, conjunction } => write!(
                f,
                "flow schema {} distinguishes flows by namespace, but match[{conjunction}] matches \
                 requests without one; those are one flow",
                excerpt(schema)
            ),
            Finding::UnusedPriorityLevel { level } => {
                write!(f, "no flow schema refers to priority level {}", excerpt(level))
            }
            Finding::LiteralWildcard { schema, field, entry } => write!(
                f,
                "flow schema {}, {field}: {:?} is not a pattern and matches only itself",
                excerpt(schema),
                excerpt(entry)
            ),
            Finding::SubjectMatchesNobody { schema, field } => {
                write!(f, "flow schema {}, {field}: matches nobody", excerpt(schema))
            }
            Finding::EqualPrecedence { precedence, schemas } => tie(f, *precedence, schemas),
            Finding::PlaceholderValue { schema, field, value } => write!(
                f,
                "flow schema {}, {field}: text in parentheses is read as {}",
                excerpt(schema),
                excerpt(value)
            ),
            Finding::SingleSeat { level, server_limit, needed } => write!(
                f,
                "priority level {} has 1 seat at a concurrency limit of {server_limit}, so one slow \
                 request blocks it; give it more shares, or raise the limit to at least {needed}",
                excerpt(level)
            ),
            Finding::OneSeatPerRequest { level, seats, needed, .. } => {
                write!(
                    f,
                    "priority level {} has {}, so every request counts as 1 seat and large lists \
                     cost no more than small ones; ",
                    excerpt(level),
                    count(*seats, "seat")
                )?;
                match needed {
                    // 15 % of so many seats are more than one, so it is the hand that is too large.
                    _ if *seats > 6 => write!(f, "choose a handSize of at most {}", seats / 2),
                    Some(needed) => write!(
                        f,
                        "give it more shares, or raise the concurrency limit to at least {needed}"
                    ),
                    None => f.write_str("give it more shares"),
                }
            }
            Finding::WideRequestsRejected { level, server_limit, max, widest } => write!(
                f,
                "priority level {} rejects what does not fit, and has at most {} at a concurrency \
                 limit of {server_limit}: large requests take {widest} or more; give it more shares, \
                 raise borrowingLimitPercent or let it queue",
                excerpt(level),
                count(*max, "seat")
            ),
        }
    }
}

fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn tie(f: &mut fmt::Formatter<'_>, precedence: i32, schemas: &[String]) -> fmt::Result {
    const SHOWN: usize = 5;
    let shown: Vec<String> = schemas.iter().take(SHOWN).map(|name| excerpt(name)).collect();
    write!(f, "flow schemas {}", shown.join(", "))?;
    if schemas.len() > SHOWN {
        write!(f, " and {} more", schemas.len() - SHOWN)?;
    }
    write!(f, " all have precedence {precedence}; they are tried in alphabetical order")
}
