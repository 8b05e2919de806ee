//! Objects to the neutral configuration.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Objects, backstop,
    fault::Fault,
    level,
    object::{FlowSchema, Prose, RequestPriority},
    pattern::Patterns,
    schema,
};
use crate::{
    config::{Config, Level},
    dialect::{Compiled, Located, Problem, lint},
};

/// A level, and whether it catches all.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) level: Level,
    pub(super) catch_all: bool,
}

/// The configuration of those objects with which nothing is wrong; what is wrong with the others
/// is added to `problems`. Ties between matching priorities are decided by name.
pub fn compile(objects: Objects, problems: &mut Vec<Problem>) -> Compiled {
    let Objects { levels: mut level_objects, mut schemas } = objects;
    Located::sift_duplicates(&mut level_objects, problems);
    Located::sift_duplicates(&mut schemas, problems);
    let mut findings = Vec::new();

    let (mut known, broken) = levels(&level_objects, problems);
    backstop::imply_levels(&mut known);
    known.sort_by(|a, b| a.level.name.cmp(&b.level.name));
    let mut fallback_findings = Vec::new();
    let catch_all = backstop::catch_all(&known, &mut fallback_findings);
    let levels: Vec<Level> = known.into_iter().map(|known| known.level).collect();

    let references = References::new(&levels, catch_all, &broken);
    let mut patterns = Patterns::default();
    let mut compiled = Vec::with_capacity(schemas.len());
    for located in &schemas {
        let outcome = match references.level_of(&located.object) {
            Ok(level) => schema::compile(located, (level, &levels), &mut patterns, &mut findings),
            Err(fault) => {
                Err(vec![Problem::at(&located.location, "spec.requestPriority.name", fault)])
            }
        };
        match outcome {
            Ok(schema) => compiled.push(schema),
            Err(faults) => problems.extend(faults),
        }
    }
    compiled.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
    let fallback = backstop::imply_schemas(&mut compiled, &levels, catch_all);
    if compiled[fallback].implied {
        findings.append(&mut fallback_findings);
    }
    let config = Config { levels, schemas: compiled, fallback };
    findings.extend(lint::lint(&config, lint::Dialect::Proposal));
    Compiled { config, findings, dialect: lint::Dialect::Proposal }
}

/// The valid levels, and the names of the others.
fn levels(
    objects: &[Located<RequestPriority>],
    problems: &mut Vec<Problem>,
) -> (Vec<Known>, FxHashSet<String>) {
    let mut known: Vec<Known> = Vec::with_capacity(objects.len());
    let mut broken = FxHashSet::default();
    let mut exempt: Option<String> = None;
    for located in objects {
        let RequestPriority { metadata, spec } = &located.object;
        let outcome = match (&exempt, level::compile(located)) {
            (Some(first), Ok(_)) if spec.exempt => {
                let fault = Fault::SecondExempt { first: first.clone() };
                Err(vec![Problem::at(&located.location, "spec.exempt", fault)])
            }
            (_, outcome) => outcome,
        };
        match outcome {
            Ok(level) => {
                if spec.exempt {
                    exempt = Some(metadata.name.clone());
                }
                known.push(Known { level, catch_all: spec.catch_all });
            }
            Err(faults) => {
                broken.insert(metadata.name.clone());
                problems.extend(faults);
            }
        }
    }
    (known, broken)
}

/// What the names of levels lead to.
struct References<'l> {
    by_name: FxHashMap<&'l str, usize>,
    catch_all: usize,
    broken: &'l FxHashSet<String>,
}

impl<'l> References<'l> {
    fn new(levels: &'l [Level], catch_all: usize, broken: &'l FxHashSet<String>) -> Self {
        let by_name = levels.iter().enumerate().map(|(i, level)| (&*level.name, i)).collect();
        References { by_name, catch_all, broken }
    }

    fn level_of(&self, schema: &FlowSchema) -> Result<usize, Fault> {
        match schema.spec.request_priority.name.as_deref() {
            None if schema.prose.contains(&Prose::RequestPriority) => Ok(self.catch_all),
            None | Some("") => Err(Fault::NoLevel),
            Some(name) => self.by_name.get(name).copied().ok_or_else(|| {
                let level = name.to_owned();
                if self.broken.contains(name) {
                    Fault::BrokenLevel { level }
                } else {
                    Fault::UnknownLevel { level }
                }
            }),
        }
    }
}
