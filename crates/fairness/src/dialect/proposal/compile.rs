//! Objects to the neutral configuration, and the conditions of the objects.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Objects, backstop, level,
    object::{FlowSchema, Prose, RequestPriority},
    pattern::Patterns,
    schema::{self, Draft},
};
use crate::{
    config::{Config, Handling, Level, Schema},
    dialect::{Compiled, Condition, ConditionReason, Finding, Located, Location, Problem, lint},
};

/// A level, and whether it catches all.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) level: Level,
    pub(super) catch_all: bool,
    /// None of an implied level.
    pub(super) location: Option<Location>,
}

/// The configuration of those objects with which nothing is wrong; what is wrong with the others
/// is added to `problems`. Ties between matching priorities are decided by name.
pub fn compile(objects: Objects, problems: &mut Vec<Problem>) -> Compiled {
    let Objects { levels: mut level_objects, mut schemas } = objects;
    Located::sift_duplicates(&mut level_objects, problems);
    Located::sift_duplicates(&mut schemas, problems);
    let mut findings = Vec::new();
    let drafts = drafts(&schemas, &mut findings, problems);

    let (mut known, broken) = levels(&level_objects, problems);
    backstop::imply_levels(&mut known);
    known.sort_by(|a, b| a.level.name.cmp(&b.level.name));
    let (catch_all, why) = backstop::catch_all(&known);
    let levels: Vec<Level> = known.iter().map(|known| known.level.clone()).collect();

    let references = References::new(&levels, catch_all, &broken);
    let mut of_schemas = Vec::new();
    let mut schemas = references.resolve(drafts, &mut of_schemas, &mut findings);
    schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
    let fallback = backstop::imply_schemas(&mut schemas, &levels, catch_all);

    let mut conditions = exempt_conflicts(&known);
    conditions.extend(backstop::conditions(&known, catch_all, why, &schemas[fallback]));
    conditions.append(&mut of_schemas);
    findings.extend(conditions.iter().filter_map(Condition::finding));
    let config = Config { levels, schemas, fallback };
    findings.extend(lint::lint(&config, lint::Dialect::Proposal));
    Compiled { config, findings, conditions, dialect: lint::Dialect::Proposal }
}

// === Levels ===

/// The valid levels, and the names of the others.
fn levels(
    objects: &[Located<RequestPriority>],
    problems: &mut Vec<Problem>,
) -> (Vec<Known>, FxHashSet<String>) {
    let mut known: Vec<Known> = Vec::with_capacity(objects.len());
    let mut broken = FxHashSet::default();
    for located in objects {
        let RequestPriority { metadata, spec } = &located.object;
        match level::compile(located) {
            Ok(level) => {
                let location = Some(located.location.clone());
                known.push(Known { level, catch_all: spec.catch_all, location });
            }
            Err(faults) => {
                broken.insert(metadata.name.clone());
                problems.extend(faults);
            }
        }
    }
    (known, broken)
}

/// `known` is sorted by name.
fn exempt_conflicts(known: &[Known]) -> Vec<Condition> {
    let mut exempt = known
        .iter()
        .filter(|known| known.level.handling == Handling::Exempt)
        .filter_map(|known| Some((&known.level.name, known.location.as_ref()?)));
    let Some((first, location)) = exempt.next() else { return Vec::new() };
    let mut conditions = vec![Condition::of(location, ConditionReason::FirstExempt)];
    conditions.extend(exempt.map(|(_, location)| {
        Condition::of(location, ConditionReason::SecondExempt { first: first.to_string() })
    }));
    conditions
}

// === Schemas ===

/// The schemas that are valid by themselves.
fn drafts<'o>(
    schemas: &'o [Located<FlowSchema>],
    findings: &mut Vec<Finding>,
    problems: &mut Vec<Problem>,
) -> Vec<Draft<'o>> {
    let mut patterns = Patterns::default();
    let mut drafts = Vec::with_capacity(schemas.len());
    for located in schemas {
        match schema::draft(located, &mut patterns, findings) {
            Ok(draft) => drafts.push(draft),
            Err(faults) => problems.extend(faults),
        }
    }
    drafts
}

/// What the names of levels lead to.
struct References<'l> {
    levels: &'l [Level],
    by_name: FxHashMap<&'l str, usize>,
    catch_all: usize,
    broken: &'l FxHashSet<String>,
}

impl<'l> References<'l> {
    fn new(levels: &'l [Level], catch_all: usize, broken: &'l FxHashSet<String>) -> Self {
        let by_name = levels.iter().enumerate().map(|(i, level)| (&*level.name, i)).collect();
        References { levels, by_name, catch_all, broken }
    }

    /// The schemas whose levels exist, and the conditions of all.
    fn resolve(
        &self,
        drafts: Vec<Draft<'_>>,
        conditions: &mut Vec<Condition>,
        findings: &mut Vec<Finding>,
    ) -> Vec<Schema> {
        let mut schemas = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let location = &draft.located.location;
            match self.level_of(&draft.located.object) {
                Ok(level) => {
                    let name = self.levels[level].name.to_string();
                    let found = ConditionReason::Found { level: name };
                    conditions.push(Condition::of(location, found));
                    schemas.push(draft.refer_to((level, self.levels), conditions, findings));
                }
                Err(reason) => conditions.push(Condition::of(location, reason)),
            }
        }
        schemas
    }

    fn level_of(&self, schema: &FlowSchema) -> Result<usize, ConditionReason> {
        if schema.prose.contains(&Prose::RequestPriority) {
            return Ok(self.catch_all);
        }
        let name = schema.spec.request_priority.name.as_deref().unwrap_or_default();
        self.by_name.get(name).copied().ok_or_else(|| {
            let level = name.to_owned();
            match self.broken.contains(name) {
                true => ConditionReason::InvalidLevel { level },
                false => ConditionReason::NotFound { level },
            }
        })
    }
}
