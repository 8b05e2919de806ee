//! Conditions of objects: what follows for an object from the others.
//!
//! An object that is wrong by itself is a [`Problem`](super::Problem) and is ignored. What depends
//! on other objects, which come and go, is a condition: the configuration stays in force, and so
//! does the object as far as it can. A condition is true where somebody should change something.
//!
//! Types, status and reasons have the form of Kubernetes' conditions, so that they can be written
//! to the status of objects.

use std::fmt;

use serde::Serialize;

use super::{
    Location,
    lint::{Finding, Severity},
    problem::excerpt,
    proposal::NoEffect,
};

/// What is true of an object, or false. An object has at most one condition of each type, and none
/// of the types that don't concern it.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// None: an implied object, which nobody wrote.
    pub object: Option<Location>,
    pub reason: ConditionReason,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ConditionType {
    /// Of a flow schema: its priority level is missing or invalid.
    Dangling,
    /// Of a flow schema with a distinguisher: the priority level does not tell flows apart.
    DistinguisherIgnored,
    /// Of an exempt level: another one comes first.
    ExemptConflict,
    /// Of a level that has `catchAll` or stands in for one: it gets the requests that match no
    /// flow schema.
    Backstop,
}

/// Why a condition of a flow schema or priority level is true or false.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum ConditionReason {
    /// `Dangling` is false: the priority level exists.
    Found { level: String },
    /// `Dangling` is true: there is no such priority level, so the flow schema is not in force.
    NotFound { level: String },
    /// `Dangling` is true: the priority level is invalid, so the flow schema is not in force.
    InvalidLevel { level: String },
    /// `DistinguisherIgnored` is false: the priority level tells flows apart.
    LevelDistinguishesFlows { level: String },
    /// `DistinguisherIgnored` is true: the flow schema is in force without its distinguisher.
    /// `example`: it is an example of the proposal.
    LevelIgnoresFlows { level: String, why: NoEffect, example: bool },
    /// `ExemptConflict` is false: it is the first exempt level by name, or the only one.
    FirstExempt,
    /// `ExemptConflict` is true: there should be at most one exempt level. All of them are exempt.
    SecondExempt { first: String },
    /// `Backstop` is true: no flow schema matches every request.
    NoCatchAllFlowSchema { level: String },
    /// `Backstop` is true: no flow schema matches every request, and no level has `catchAll`. It is
    /// the first level with limits by name.
    NoCatchAllPriorityLevel { level: String },
    /// `Backstop` is true: no flow schema matches every request, and no level with limits has
    /// `catchAll`.
    ExemptCatchAll { level: String },
    /// `Backstop` is false: a flow schema matches every request.
    FlowSchemaCatchesAll { schema: String },
    /// `Backstop` is false: another level with `catchAll` is used.
    OtherCatchAll { level: String },
}

use ConditionReason as Reason;

impl Condition {
    pub(super) fn of(object: &Location, reason: ConditionReason) -> Self {
        Condition { object: Some(object.clone()), reason }
    }

    pub fn r#type(&self) -> ConditionType {
        match self.reason {
            Reason::Found { .. } | Reason::NotFound { .. } | Reason::InvalidLevel { .. } => {
                ConditionType::Dangling
            }
            Reason::LevelDistinguishesFlows { .. } | Reason::LevelIgnoresFlows { .. } => {
                ConditionType::DistinguisherIgnored
            }
            Reason::FirstExempt | Reason::SecondExempt { .. } => ConditionType::ExemptConflict,
            Reason::NoCatchAllFlowSchema { .. }
            | Reason::NoCatchAllPriorityLevel { .. }
            | Reason::ExemptCatchAll { .. }
            | Reason::FlowSchemaCatchesAll { .. }
            | Reason::OtherCatchAll { .. } => ConditionType::Backstop,
        }
    }

    /// Whether the status is `True`: something is not as it should be.
    pub fn is_true(&self) -> bool {
        !matches!(
            self.reason,
            Reason::Found { .. }
                | Reason::LevelDistinguishesFlows { .. }
                | Reason::FirstExempt
                | Reason::FlowSchemaCatchesAll { .. }
                | Reason::OtherCatchAll { .. }
        )
    }

    /// The status as Kubernetes writes it.
    pub fn status(&self) -> &'static str {
        if self.is_true() { "True" } else { "False" }
    }

    /// The field to change.
    pub fn field(&self) -> &'static str {
        match self.r#type() {
            ConditionType::Dangling => "spec.requestPriority.name",
            ConditionType::DistinguisherIgnored => "spec.flowDistinguisher",
            ConditionType::ExemptConflict => "spec.exempt",
            ConditionType::Backstop => "spec.catchAll",
        }
    }

    /// What `fairness lint` calls it; none if there is nothing to change.
    pub fn finding(&self) -> Option<Finding> {
        let name = self.object.as_ref().map_or_else(String::new, |object| object.name.clone());
        Some(match self.reason.clone() {
            Reason::NotFound { level } | Reason::InvalidLevel { level } => {
                Finding::MissingPriorityLevel { schema: name, level }
            }
            Reason::LevelIgnoresFlows { level, why, example: true } => {
                Finding::UnusedDistinguisher { schema: name, level, why }
            }
            Reason::LevelIgnoresFlows { level, why, example: false } => {
                Finding::DistinguisherIgnored { schema: name, level, why }
            }
            Reason::SecondExempt { first } => Finding::SeveralExemptLevels { level: name, first },
            Reason::NoCatchAllFlowSchema { level } => Finding::NoCatchAllFlowSchema { level },
            Reason::NoCatchAllPriorityLevel { level } => Finding::NoCatchAllPriorityLevel { level },
            Reason::ExemptCatchAll { level } => Finding::ExemptCatchAll { level },
            _ => return None,
        })
    }

    /// None if there is nothing to change.
    pub fn severity(&self) -> Option<Severity> {
        self.finding().map(|finding| finding.severity())
    }
}

impl ConditionType {
    pub fn code(self) -> &'static str {
        match self {
            ConditionType::Dangling => "Dangling",
            ConditionType::DistinguisherIgnored => "DistinguisherIgnored",
            ConditionType::ExemptConflict => "ExemptConflict",
            ConditionType::Backstop => "Backstop",
        }
    }
}

impl ConditionReason {
    /// Stays the same when the sentence changes.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Found { .. } => "Found",
            Reason::NotFound { .. } => "NotFound",
            Reason::InvalidLevel { .. } => "InvalidLevel",
            Reason::LevelDistinguishesFlows { .. } => "LevelDistinguishesFlows",
            Reason::LevelIgnoresFlows { .. } => "LevelIgnoresFlows",
            Reason::FirstExempt => "FirstExempt",
            Reason::SecondExempt { .. } => "SecondExempt",
            Reason::NoCatchAllFlowSchema { .. } => "NoCatchAllFlowSchema",
            Reason::NoCatchAllPriorityLevel { .. } => "NoCatchAllPriorityLevel",
            Reason::ExemptCatchAll { .. } => "ExemptCatchAll",
            Reason::FlowSchemaCatchesAll { .. } => "FlowSchemaCatchesAll",
            Reason::OtherCatchAll { .. } => "OtherCatchAll",
        }
    }
}

/// Where it is, and the message.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.object {
            write!(f, "{object}: {}: ", self.field())?;
        }
        self.reason.fmt(f)
    }
}

/// The message.
impl fmt::Display for ConditionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Found { level } => write!(f, "priority level {} exists", excerpt(level)),
            Reason::NotFound { level } => write!(
                f,
                "priority level {} is missing, so the flow schema is not in force; create the \
                 level or refer to another",
                excerpt(level)
            ),
            Reason::InvalidLevel { level } => write!(
                f,
                "priority level {} is invalid, so the flow schema is not in force; correct the \
                 level or refer to another",
                excerpt(level)
            ),
            Reason::LevelDistinguishesFlows { level } => {
                write!(f, "priority level {} tells flows apart", excerpt(level))
            }
            Reason::LevelIgnoresFlows { level, why, .. } => write!(
                f,
                "has no effect, because priority level {} {why}; remove it or choose a level with \
                 several queues",
                excerpt(level)
            ),
            Reason::FirstExempt => f.write_str("no exempt priority level comes before it by name"),
            Reason::SecondExempt { first } => write!(
                f,
                "priority level {} is exempt too, and there should be only one; both have no \
                 limits until one of them is changed",
                excerpt(first)
            ),
            Reason::NoCatchAllFlowSchema { level } => write!(
                f,
                "no flow schema matches every request, so requests that match none go to priority \
                 level {}; add a flow schema with `match: [{{and: []}}]`",
                excerpt(level)
            ),
            Reason::NoCatchAllPriorityLevel { level } => write!(
                f,
                "no flow schema matches every request and no priority level has catchAll, so \
                 requests that match none go to {}, the first by name; set catchAll on one",
                excerpt(level)
            ),
            Reason::ExemptCatchAll { level } => write!(
                f,
                "no flow schema matches every request, so requests that match none go to priority \
                 level {}, which is exempt from all limits; set catchAll on one with limits",
                excerpt(level)
            ),
            Reason::FlowSchemaCatchesAll { schema } => {
                write!(f, "flow schema {} matches every request", excerpt(schema))
            }
            Reason::OtherCatchAll { level } => write!(
                f,
                "requests that match no flow schema go to priority level {}",
                excerpt(level)
            ),
        }
    }
}
