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
    dialect::{Located, Problem, lint::Finding},
};

/// The schema, or what is wrong with it. What is wrong with an exhibited one is a finding only.
pub(super) fn compile(
    located: &Located<FlowSchema>,
    (level, levels): (usize, &[Level]),
    patterns: &mut Patterns,
    findings: &mut Vec<Finding>,
) -> Result<Schema, Vec<Problem>> {
    let FlowSchema { metadata, spec, prose } = &located.object;
    let mut faults = Vec::new();
    if metadata.name.is_empty() {
        faults.push(("metadata.name".to_owned(), Fault::EmptyName));
    }
    let conjunctions = conjunctions(spec, patterns, &mut faults);
    let distinguisher = spec.flow_distinguisher.as_ref().and_then(|distinguishing| {
        distinguisher(distinguishing, patterns)
            .map_err(|(field, fault)| {
                faults.push((format!("spec.flowDistinguisher{field}"), fault));
            })
            .ok()
    });
    if let Some(Distinguisher { source, .. }) = &distinguisher {
        let misuse = misuse(source, &levels[level], &conjunctions);
        if is_exhibited(&located.object) {
            let namespace = misuse.iter().filter_map(|(_, fault)| match fault {
                Fault::NamespaceWithoutResource { conjunction } => {
                    let (schema, conjunction) = (metadata.name.clone(), *conjunction);
                    Some(Finding::NamespaceDistinguisherWithoutNamespace { schema, conjunction })
                }
                _ => None,
            });
            findings.extend(namespace);
        } else {
            faults.extend(misuse);
        }
    }
    if !faults.is_empty() {
        let at = |(field, fault)| Problem::at(&located.location, field, fault);
        return Err(faults.into_iter().map(at).collect());
    }
    findings.extend(prose.iter().map(|prose| told(*prose, &metadata.name, &levels[level])));
    let vague = prose.contains(&Prose::MatchingPriority);
    Ok(Schema {
        name: metadata.name.as_str().into(),
        uid: metadata.uid.as_str().into(),
        precedence: if vague { LAST } else { spec.matching_priority() },
        level,
        distinguisher,
        predicate: Predicate::Match(conjunctions),
        implied: false,
    })
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

/// Where the proposal does not allow a distinguisher.
fn misuse(source: &Source, level: &Level, conjunctions: &[Conjunction]) -> Faults {
    let mut faults = Vec::new();
    if let Some(why) = meaningless(level) {
        let level = level.name.to_string();
        let fault = Fault::DistinguisherWithoutUse { level, why };
        faults.push(("spec.flowDistinguisher".to_owned(), fault));
    }
    let accepts_others = |conjunction: &Conjunction| !conjunction.is_for_resources_only();
    if *source == Source::Namespace
        && let Some(conjunction) = conjunctions.iter().position(accepts_others)
    {
        let fault = Fault::NamespaceWithoutResource { conjunction };
        faults.push(("spec.flowDistinguisher.source".to_owned(), fault));
    }
    faults
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
