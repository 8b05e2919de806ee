//! The checks that look at a compiled configuration.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Dialect, Finding};
use crate::{
    config::{Config, Handling, Level, Schema},
    dialect::{kubernetes, proposal::NoEffect},
};

/// Up to this many schemas each is compared with all before it, which is quadratic.
const COMPARED: usize = 500;

pub(in crate::dialect) fn lint(config: &Config, dialect: Dialect) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(config.levels.iter().filter_map(zero_shares));
    findings.extend(config.levels.iter().filter_map(hand_of_all_queues));
    findings.extend(unused(config, dialect));
    let names: FxHashSet<&str> = config.levels.iter().map(|level| &*level.name).collect();
    for schema in own(config, dialect) {
        let level = config.level_of(schema);
        findings.extend(meaningless(schema, level));
        if schema.distinguisher.is_none() && level.tells_flows_apart() {
            let (schema, level) = (schema.name.to_string(), level.name.to_string());
            findings.push(Finding::MissingDistinguisher { schema, level });
        }
        if schema.name != level.name && names.contains(&*schema.name) {
            let (schema, level) = (schema.name.to_string(), level.name.to_string());
            findings.push(Finding::PriorityLevelNameMismatch { schema, level });
        }
        if schema.predicate.is_never() {
            findings.push(Finding::FlowSchemaNeverMatches { schema: schema.name.to_string() });
        }
    }
    findings.extend(unreachable(config, dialect));
    findings.extend(ties(config));
    findings
}

/// The schemas somebody wrote. Kubernetes' catch-all is not among them: it is there to be the
/// last resort, and its distinguisher and its reach are as they must be.
fn own(config: &Config, dialect: Dialect) -> impl Iterator<Item = &Schema> {
    config.schemas.iter().filter(move |schema| is_own(schema, dialect))
}

fn is_own(schema: &Schema, dialect: Dialect) -> bool {
    let is_last_resort = dialect == Dialect::Kubernetes && &*schema.name == kubernetes::CATCH_ALL;
    !schema.implied && !is_last_resort
}

fn zero_shares(level: &Level) -> Option<Finding> {
    let limited = level.handling != Handling::Exempt;
    (limited && level.shares == 0).then(|| Finding::ZeroShares { level: level.name.to_string() })
}

fn hand_of_all_queues(level: &Level) -> Option<Finding> {
    let Handling::Queue(queuing) = level.handling else { return None };
    let is_all = queuing.queues > 1 && queuing.hand_size >= queuing.queues && !level.implied;
    is_all.then(|| Finding::HandCoversAllQueues {
        level: level.name.to_string(),
        queues: queuing.queues,
    })
}

fn unused(config: &Config, dialect: Dialect) -> impl Iterator<Item = Finding> {
    let used: FxHashSet<usize> = config.schemas.iter().map(|schema| schema.level).collect();
    let unused = config.levels.iter().enumerate().filter(move |(i, level)| {
        let mandatory = dialect == Dialect::Kubernetes && kubernetes::is_mandatory(&level.name);
        !used.contains(i) && !level.implied && !mandatory
    });
    unused.map(|(_, level)| Finding::UnusedPriorityLevel { level: level.name.to_string() })
}

fn meaningless(schema: &Schema, level: &Level) -> Option<Finding> {
    schema.distinguisher.as_ref()?;
    let why = match level.handling {
        Handling::Exempt => NoEffect::Exempt,
        Handling::Reject => NoEffect::Reject,
        Handling::Queue(_) if level.tells_flows_apart() => return None,
        Handling::Queue(_) => NoEffect::OneQueue,
    };
    let (schema, level) = (schema.name.to_string(), level.name.to_string());
    Some(Finding::UnusedDistinguisher { schema, level, why })
}

/// Unreachable schemas: after one that matches everything, after one of the same predicate,
/// or, if there are few enough to compare, after one that provably matches as much.
fn unreachable(config: &Config, dialect: Dialect) -> Vec<Finding> {
    let schemas = &config.schemas;
    let compare = schemas.len() <= COMPARED;
    let mut unconditional: Option<&Schema> = None;
    let mut same: FxHashMap<String, &Schema> = FxHashMap::default();
    let mut findings = Vec::new();
    for (i, schema) in schemas.iter().enumerate() {
        let form = schema.predicate.form();
        let by = unconditional.or_else(|| same.get(&form).copied()).or_else(|| {
            let covers = |earlier: &&Schema| earlier.predicate.covers(&schema.predicate);
            schemas[..i].iter().filter(|_| compare).find(covers)
        });
        if let Some(by) = by.filter(|_| is_own(schema, dialect) && !schema.predicate.is_never()) {
            findings.push(Finding::UnreachableFlowSchema {
                schema: schema.name.to_string(),
                by: by.name.to_string(),
                tie: by.precedence == schema.precedence && !by.implied,
            });
        }
        same.entry(form).or_insert(schema);
        if schema.predicate.is_unconditional() {
            unconditional.get_or_insert(schema);
        }
    }
    findings
}

fn ties(config: &Config) -> impl Iterator<Item = Finding> {
    let groups =
        config.schemas.chunk_by(|a, b| a.precedence == b.precedence && !a.implied && !b.implied);
    groups.filter(|group| group.iter().any(|s| s.level != group[0].level)).map(|group| {
        let schemas = group.iter().map(|schema| schema.name.to_string()).collect();
        Finding::EqualPrecedence { precedence: group[0].precedence, schemas }
    })
}
