//! One flow schema, checked.

use std::sync::Arc;

use super::{
    atomic::{AtomicTest, Operand, header_name},
    backstop::LAST,
    exhibited::is_exhibited,
    fault::{Fault, NoEffect},
    object::{Distinguishing, FlowSchema, FlowSchemaSpec, Prose},
    pattern::Patterns,
};
use crate::{
    config::{
        Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Schema, Source, Test,
        Transform,
    },
    dialect::{Condition, ConditionReason, Located, Problem, lint::Finding},
};

/// A schema that is valid by itself; its level is not known yet.
#[derive(Debug)]
pub(super) struct Draft<'o> {
    pub(super) located: &'o Located<FlowSchema>,
    conjunctions: Vec<Conjunction>,
    distinguisher: Option<Distinguisher>,
}

/// The schema, or what is wrong with it by itself. An exhibited one may distinguish by namespace
/// where it should not; that is a finding only.
pub(super) fn draft<'o>(
    located: &'o Located<FlowSchema>,
    patterns: &mut Patterns,
    findings: &mut Vec<Finding>,
) -> Result<Draft<'o>, Vec<Problem>> {
    let FlowSchema { metadata, spec, prose } = &located.object;
    let mut faults = Vec::new();
    if metadata.name.is_empty() {
        faults.push(("metadata.name".to_owned(), Fault::EmptyName));
    }
    let level = spec.request_priority.name.as_deref().unwrap_or_default();
    if level.is_empty() && !prose.contains(&Prose::RequestPriority) {
        faults.push(("spec.requestPriority.name".to_owned(), Fault::NoLevel));
    }
    let conjunctions = conjunctions(spec, patterns, &mut faults);
    let distinguisher = spec.flow_distinguisher.as_ref().and_then(|distinguishing| {
        distinguisher(distinguishing, patterns)
            .map_err(|(field, fault)| {
                faults.push((format!("spec.flowDistinguisher{field}"), fault));
            })
            .ok()
    });
    let source = distinguisher.as_ref().map(|distinguisher| &distinguisher.source);
    if let Some(conjunction) = without_namespace(source, &conjunctions) {
        if is_exhibited(&located.object) {
            let schema = metadata.name.clone();
            findings.push(Finding::NamespaceDistinguisherWithoutNamespace { schema, conjunction });
        } else {
            let fault = Fault::NamespaceWithoutResource { conjunction };
            faults.push(("spec.flowDistinguisher.source".to_owned(), fault));
        }
    }
    if !faults.is_empty() {
        let at = |(field, fault)| Problem::at(&located.location, field, fault);
        return Err(faults.into_iter().map(at).collect());
    }
    Ok(Draft { located, conjunctions, distinguisher })
}

impl Draft<'_> {
    /// The schema for this level. A distinguisher that the level has no use for is left out.
    pub(super) fn refer_to(
        self,
        (level, levels): (usize, &[Level]),
        conditions: &mut Vec<Condition>,
        findings: &mut Vec<Finding>,
    ) -> Schema {
        let Draft { located, conjunctions, distinguisher } = self;
        let FlowSchema { metadata, spec, prose } = &located.object;
        findings.extend(prose.iter().map(|prose| told(*prose, &metadata.name, &levels[level])));
        let without_use = meaningless(&levels[level]);
        if distinguisher.is_some() {
            let example = || is_exhibited(&located.object);
            let level = levels[level].name.to_string();
            let reason = match without_use {
                Some(why) => ConditionReason::LevelIgnoresFlows { level, why, example: example() },
                None => ConditionReason::LevelDistinguishesFlows { level },
            };
            conditions.push(Condition::of(&located.location, reason));
        }
        let vague = prose.contains(&Prose::MatchingPriority);
        Schema {
            name: metadata.name.as_str().into(),
            uid: metadata.uid.as_str().into(),
            precedence: if vague { LAST } else { spec.matching_priority() },
            level,
            distinguisher: distinguisher.filter(|_| without_use.is_none()),
            predicate: Predicate::Match(conjunctions),
            implied: false,
        }
    }
}

type Faults = Vec<(String, Fault)>;

fn told(prose: Prose, schema: &str, level: &Level) -> Finding {
    let (field, value) = match prose {
        Prose::MatchingPriority => ("spec.matchingPriority", format!("{LAST}, the last of all")),
        Prose::RequestPriority => ("spec.requestPriority.name", level.name.to_string()),
    };
    Finding::PlaceholderValue { schema: schema.to_owned(), field, value }
}

// === The predicate ===

fn conjunctions(
    spec: &FlowSchemaSpec,
    patterns: &mut Patterns,
    faults: &mut Faults,
) -> Vec<Conjunction> {
    let mut conjunctions = Vec::with_capacity(spec.r#match.len());
    for (i, and) in spec.r#match.iter().enumerate() {
        let mut tests = Vec::with_capacity(and.and.len());
        for (j, atomic) in and.and.iter().enumerate() {
            match test(atomic, patterns) {
                Ok(test) => tests.push(test),
                Err(fault) => faults.push((format!("spec.match[{i}].and[{j}]"), fault)),
            }
        }
        conjunctions.push(Conjunction { tests });
    }
    conjunctions
}

fn test(atomic: &AtomicTest, patterns: &mut Patterns) -> Result<Test, Fault> {
    let set = |set: &[String]| set.iter().map(|text| text.as_str().into()).collect();
    let op = match &atomic.operand {
        Operand::Equals(value) => Op::Equals(value.as_str().into()),
        Operand::InSet(texts) => Op::InSet(set(texts)),
        Operand::SuperSet(texts) => Op::SuperSet(set(texts)),
        Operand::PatternMatch(pattern) => Op::Pattern(patterns.anchored(pattern)?),
    };
    Ok(Test { field: atomic.field.clone(), op, negated: atomic.negated })
}

// === The distinguisher ===

fn distinguisher(
    distinguishing: &Distinguishing,
    patterns: &mut Patterns,
) -> Result<Distinguisher, (&'static str, Fault)> {
    let Distinguishing { source, transformation, regex } = distinguishing;
    let (field, pattern) = match (transformation, regex) {
        (Some(_), Some(_)) => return Err((".regex", Fault::TwoTransformations)),
        (Some(transformation), None) => (".transformation.regex", Some(&transformation.regex)),
        (None, regex) => (".regex", regex.as_ref()),
    };
    let source = match source.as_str() {
        "user" => Source::User,
        "namespace" => Source::Namespace,
        "group" if pattern.is_none() => {
            return Err((".source", Fault::GroupWithoutTransformation));
        }
        "group" => Source::Group,
        _ => match source.strip_prefix("header:").and_then(header_name) {
            Some(name) => Source::Header(name.into()),
            None => {
                let source_name = crate::dialect::problem::excerpt(source);
                return Err((".source", Fault::UnknownSource { source_name }));
            }
        },
    };
    let transform = pattern.map(|pattern| {
        let regex = patterns.capturing(pattern)?;
        Ok(Transform { pattern: Arc::from(pattern.as_str()), regex })
    });
    let transform =
        transform.transpose().map_err(|fault: super::PatternFault| (field, fault.into()))?;
    Ok(Distinguisher { source, transform })
}

/// The first conjunction that is true for requests which have no namespace, although namespaces
/// distinguish flows.
fn without_namespace(source: Option<&Source>, conjunctions: &[Conjunction]) -> Option<usize> {
    source.filter(|source| **source == Source::Namespace)?;
    conjunctions.iter().position(|conjunction| !conjunction.is_for_resources_only())
}

fn meaningless(level: &Level) -> Option<NoEffect> {
    match level.handling {
        Handling::Exempt => Some(NoEffect::Exempt),
        Handling::Reject => Some(NoEffect::Reject),
        Handling::Queue(_) if level.tells_flows_apart() => None,
        Handling::Queue(_) => Some(NoEffect::OneQueue),
    }
}

impl Conjunction {
    /// Whether it is false for every request that is not for a resource: all attributes of
    /// resources are empty there, so one test that is false for the empty text will do.
    fn is_for_resources_only(&self) -> bool {
        self.tests.iter().any(|test| {
            let of_resources = matches!(
                test.field,
                Field::ApiGroup
                    | Field::Resource
                    | Field::Subresource
                    | Field::Namespace
                    | Field::Name
            );
            of_resources && !test.holds_for_empty()
        })
    }
}

impl Test {
    fn holds_for_empty(&self) -> bool {
        let holds = match &self.op {
            Op::Equals(value) => value.is_empty(),
            Op::InSet(set) => set.iter().any(|text| text.is_empty()),
            Op::SuperSet(set) => set.iter().all(|text| text.is_empty()),
            Op::Pattern(regex) => regex.is_match(""),
        };
        holds != self.negated
    }
}
