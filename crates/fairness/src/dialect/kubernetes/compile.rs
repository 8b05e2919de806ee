//! Objects to the neutral configuration, as Kubernetes understands them.
//!
//! It copes with objects that validation rejects: a broken level counts as absent, a schema that
//! points at an absent level is passed over, and what is mandatory but absent is implied. Levels
//! are counted before any are implied, so that a schema that points at an implied level dangles.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    defaults::{CATCH_ALL, EXEMPT, mandatory_level, mandatory_schema},
    object::{
        FlowSchema, Limited, Metadata, PriorityLevelConfiguration, PriorityLevelSpec,
        QueuingConfiguration,
    },
    rules,
};
use crate::{
    config::{Config, Distinguisher, Handling, Level, Predicate, Queuing, Schema, Source},
    dialect::{
        Compiled,
        lint::{self, Finding, Kind},
    },
    shard,
};

/// What is in force when these objects exist. Of two objects of one name the first counts.
pub fn compile<'o>(
    levels: impl IntoIterator<Item = &'o PriorityLevelConfiguration>,
    schemas: impl IntoIterator<Item = &'o FlowSchema>,
) -> Compiled {
    let mut findings = Vec::new();
    let mut levels = self::levels(levels, &mut findings);
    let real: Vec<Arc<str>> = levels.iter().map(|level| level.name.clone()).collect();
    for name in [EXEMPT, CATCH_ALL].into_iter().filter(|name| !real.iter().any(|r| **r == **name)) {
        levels.push(implied_level(name));
    }
    levels.sort_by(|a, b| a.name.cmp(&b.name));

    let by_name: FxHashMap<Arc<str>, usize> =
        levels.iter().enumerate().map(|(i, level)| (level.name.clone(), i)).collect();
    let is_real = |i: &usize| !levels[*i].implied;
    let mut schemas = unique(schemas, |schema| &schema.metadata, Kind::FlowSchema, &mut findings);
    schemas.retain(|schema| {
        let level = &schema.spec.priority_level_configuration.name;
        let found = by_name.get(level.as_str()).is_some_and(is_real);
        if !found {
            let (schema, level) = (schema.metadata.name.clone(), level.clone());
            findings.push(Finding::MissingPriorityLevel { schema, level });
        }
        found
    });
    let mut schemas: Vec<Schema> = schemas
        .into_iter()
        .map(|schema| compile_schema(schema, &by_name, false, &mut findings))
        .collect();
    schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
    imply_schemas(&mut schemas, &by_name);

    let fallback = schemas.iter().position(|s| &*s.name == CATCH_ALL);
    let fallback = fallback.expect("a schema of this name is implied where there is none");
    let config = Config { levels, schemas, fallback };
    findings.extend(lint::lint(&config, lint::Dialect::Kubernetes));
    Compiled { config, findings, conditions: Vec::new(), dialect: lint::Dialect::Kubernetes }
}

/// The first of each name.
fn unique<'o, T>(
    objects: impl IntoIterator<Item = &'o T>,
    metadata: fn(&T) -> &Metadata,
    kind: Kind,
    findings: &mut Vec<Finding>,
) -> Vec<&'o T> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut unique = Vec::new();
    for object in objects {
        let name = &metadata(object).name;
        if seen.insert(name.as_str()) {
            unique.push(object);
        } else {
            findings.push(Finding::DuplicateName { kind, name: name.clone() });
        }
    }
    unique
}

// === Levels ===

fn levels<'o>(
    objects: impl IntoIterator<Item = &'o PriorityLevelConfiguration>,
    findings: &mut Vec<Finding>,
) -> Vec<Level> {
    let unique = unique(objects, |level| &level.metadata, Kind::PriorityLevel, findings);
    let mut levels = Vec::new();
    for object in unique {
        match compile_level(object) {
            Ok(level) => levels.push(level),
            Err(why) => findings.push(Finding::InvalidPriorityLevel {
                level: object.metadata.name.clone(),
                why: why.to_owned(),
            }),
        }
    }
    levels
}

fn compile_level(object: &PriorityLevelConfiguration) -> Result<Level, &'static str> {
    let Metadata { name, uid, .. } = &object.metadata;
    let mut spec = object.spec.clone();
    spec.set_defaults();
    if (spec.r#type == "Exempt") != (name == EXEMPT) {
        return Err("the level named exempt is of type Exempt, and no other is");
    }
    let (shares, lendable, borrowing, handling) = match (spec.r#type.as_str(), &spec) {
        ("Exempt", PriorityLevelSpec { exempt: Some(exempt), limited: None, .. }) => {
            let shares = exempt.nominal_concurrency_shares;
            (shares, exempt.lendable_percent, None, Handling::Exempt)
        }
        ("Limited", PriorityLevelSpec { limited: Some(limited), exempt: None, .. }) => {
            let handling = handling(limited)?;
            let shares = limited.nominal_concurrency_shares;
            (shares, limited.lendable_percent, limited.borrowing_limit_percent, handling)
        }
        _ => return Err("its type says one thing and its body another"),
    };
    Ok(Level {
        name: name.as_str().into(),
        uid: uid.as_str().into(),
        shares: u32::try_from(shares.unwrap_or(0)).map_err(|_| "its shares are negative")?,
        lendable_percent: lendable.unwrap_or(0).clamp(0, 100).unsigned_abs(),
        borrowing_limit_percent: borrowing.map(|percent| percent.max(0).unsigned_abs()),
        handling,
        implied: false,
    })
}

fn handling(limited: &Limited) -> Result<Handling, &'static str> {
    let response = &limited.limit_response;
    match &response.queuing {
        Some(queuing) if response.r#type != "Reject" => queue(queuing),
        None if response.r#type == "Reject" => Ok(Handling::Reject),
        _ => Err("the type of its limitResponse says one thing and its body another"),
    }
}

fn queue(queuing: &QueuingConfiguration) -> Result<Handling, &'static str> {
    let queues = u32::try_from(queuing.queues).unwrap_or(0);
    let hand_size = u32::try_from(queuing.hand_size).unwrap_or(0);
    if !shard::today(queues, hand_size) {
        return Err("hands of this size can't be dealt from this many queues");
    }
    let queue_length_limit = queuing.queue_length_limit.max(0).unsigned_abs();
    Ok(Handling::Queue(Queuing { queues, hand_size, queue_length_limit }))
}

fn implied_level(name: &str) -> Level {
    let object = mandatory_level(name).expect("the name is that of a mandatory level");
    let level = compile_level(object).expect("mandatory levels are sound");
    Level { implied: true, ..level }
}

// === Schemas ===

fn compile_schema(
    object: &FlowSchema,
    levels: &FxHashMap<Arc<str>, usize>,
    implied: bool,
    findings: &mut Vec<Finding>,
) -> Schema {
    let mut spec = object.spec.clone();
    spec.set_defaults();
    let source = spec.distinguisher_method.as_ref().map(|method| method.r#type.as_str());
    let source = match source {
        Some("ByUser") => Some(Source::User),
        Some("ByNamespace") => Some(Source::Namespace),
        _ => None,
    };
    findings.extend(rules::literal_wildcards(&object.metadata.name, &spec.rules));
    findings.extend(rules::broken_subjects(&object.metadata.name, &spec.rules));
    Schema {
        name: object.metadata.name.as_str().into(),
        uid: object.metadata.uid.as_str().into(),
        precedence: spec.matching_precedence,
        level: levels[spec.priority_level_configuration.name.as_str()],
        distinguisher: source.map(|source| Distinguisher { source, transform: None }),
        predicate: Predicate::Rules(spec.rules.iter().map(rules::rule).collect()),
        implied,
    }
}

/// Adds what is mandatory and absent: exempt in front, catch-all at the end.
fn imply_schemas(schemas: &mut Vec<Schema>, levels: &FxHashMap<Arc<str>, usize>) {
    for (name, end) in [(EXEMPT, false), (CATCH_ALL, true)] {
        if schemas.iter().any(|schema| &*schema.name == name) {
            continue;
        }
        let object = mandatory_schema(name).expect("the name is that of a mandatory schema");
        let schema = compile_schema(object, levels, true, &mut Vec::new());
        schemas.insert(if end { schemas.len() } else { 0 }, schema);
    }
}
