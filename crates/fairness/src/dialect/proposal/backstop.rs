//! Figments that keep the configuration complete: levels and schemas that are implied while no
//! object does their work.

use std::sync::Arc;

use super::{compile::Known, exhibited::exhibited, level};
use crate::{
    config::{
        Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Schema, Source, Test,
    },
    dialect::{Condition, ConditionReason, Located, Location},
};

/// Tried after all others.
pub(super) const LAST: i32 = i32::MAX;

/// The level `system-top` while none is exempt, `workload-low` while all are.
pub(super) fn imply_levels(known: &mut Vec<Known>) {
    let is_exempt = |known: &Known| known.level.handling == Handling::Exempt;
    let implied = [
        ("system-top", !known.iter().any(is_exempt)),
        ("workload-low", known.iter().all(is_exempt)),
    ];
    for (name, _) in implied.into_iter().filter(|(_, needed)| *needed) {
        let object = exhibited().levels.iter().find(|level| level.metadata.name == name);
        let object = object.expect("the level is among the exhibited ones").clone();
        let catch_all = object.spec.catch_all;
        let level = level::compile(&Located { location: Location::default(), object });
        let level = level.expect("exhibited levels are sound");
        let name = free_name(name, |name| known.iter().any(|k| *k.level.name == *name));
        let level = Level { name, implied: true, ..level };
        known.push(Known { level, catch_all, location: None });
    }
}

/// Which level the backstop for everything points at: one that says it catches all, the first by
/// name and rather one with limits; if none says so, the first with limits. The reason holds while
/// the backstop exists.
pub(super) fn catch_all(known: &[Known]) -> (usize, ConditionReason) {
    let first = |fits: &dyn Fn(&Known) -> bool| known.iter().position(fits);
    let name = |level: usize| known[level].level.name.to_string();
    let limited = |known: &Known| known.level.handling != Handling::Exempt;
    if let Some(level) = first(&|k| k.catch_all && limited(k)) {
        return (level, ConditionReason::NoCatchAllFlowSchema { level: name(level) });
    }
    if let Some(level) = first(&|k| k.catch_all) {
        return (level, ConditionReason::ExemptCatchAll { level: name(level) });
    }
    let level = first(&limited).expect("a level with limits is implied where there is none");
    (level, ConditionReason::NoCatchAllPriorityLevel { level: name(level) })
}

/// `why` is the reason for which `catch_all` is the level of the backstop.
pub(super) fn conditions(
    known: &[Known],
    catch_all: usize,
    why: ConditionReason,
    fallback: &Schema,
) -> Vec<Condition> {
    let mut conditions = Vec::new();
    if fallback.implied {
        conditions.push(Condition { object: known[catch_all].location.clone(), reason: why });
    }
    for (i, Known { catch_all: says_so, location, .. }) in known.iter().enumerate() {
        let Some(location) = location.as_ref().filter(|_| *says_so) else { continue };
        let reason = match fallback.implied {
            true if i == catch_all => continue,
            true => {
                let level = known[catch_all].level.name.to_string();
                ConditionReason::OtherCatchAll { level }
            }
            false => ConditionReason::FlowSchemaCatchesAll { schema: fallback.name.to_string() },
        };
        conditions.push(Condition::of(location, reason));
    }
    conditions
}

/// Adds the backstops where some request may match no schema, and says which schema takes what
/// no other does.
pub(super) fn imply_schemas(
    schemas: &mut Vec<Schema>,
    levels: &[Level],
    catch_all: usize,
) -> usize {
    let takes_all = |schema: &Schema| schema.predicate.is_unconditional();
    if let Some(schema) = schemas.iter().position(takes_all) {
        return schema;
    }
    let exempt = levels.iter().position(|level| level.handling == Handling::Exempt);
    let exempt = exempt.expect("an exempt level is implied where there is none");
    let masters = Test {
        field: Field::Groups,
        op: Op::SuperSet(vec!["system:masters".into()]),
        negated: false,
    };
    schemas.push(implied("system-top", exempt, vec![masters], None, schemas));
    let by_user = Distinguisher { source: Source::User, transform: None };
    let by_user = levels[catch_all].tells_flows_apart().then_some(by_user);
    schemas.push(implied("non-top-backstop", catch_all, Vec::new(), by_user, schemas));
    schemas.len() - 1
}

fn implied(
    name: &str,
    level: usize,
    tests: Vec<Test>,
    distinguisher: Option<Distinguisher>,
    schemas: &[Schema],
) -> Schema {
    Schema {
        name: free_name(name, |name| schemas.iter().any(|schema| *schema.name == *name)),
        uid: "".into(),
        precedence: LAST,
        level,
        distinguisher,
        predicate: Predicate::Match(vec![Conjunction { tests }]),
        implied: true,
    }
}

/// The name, or one like it if an object has it.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    let mut name = name.to_owned();
    while is_taken(&name) {
        name.push_str("-backstop");
    }
    name.into()
}
