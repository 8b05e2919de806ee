//! A configuration in stored objects, as a server follows it: of the proposal's dialect, and all or
//! nothing.
//!
//! Objects are written one by one while the server runs. As with files, one invalid object is enough
//! to keep the last valid configuration in force, so that nothing is switched off while somebody
//! corrects it. At startup there is no last configuration; then the valid objects are in force, since
//! a server that does not start could not be corrected.
//!
//! Every object is told in its status what became of it: `InForce`, and the conditions that the
//! configuration in force has for it. Time is linear in the objects.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::{Value, json};

use super::{Compiled, Condition, ConditionType, Location, Objects, Problem, proposal};
use crate::limits::nominal;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ObjectKind {
    RequestPriority,
    FlowSchema,
}

/// Which object.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ObjectKey {
    pub kind: ObjectKind,
    pub name: Box<str>,
}

/// What counts of a stored object: two that are equal configure the same.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObject {
    pub version: Version,
    spec: Value,
}

/// Changes whenever the spec does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version {
    pub uid: Box<str>,
    pub generation: i64,
}

pub type StoredObjects = BTreeMap<ObjectKey, StoredObject>;

/// The versions of the objects that the configuration in force is from.
pub type InForce = BTreeMap<ObjectKey, Version>;

/// What follows from the stored objects.
#[derive(Debug)]
pub struct Examined {
    /// The configuration to put in force; none: the last one stays.
    pub compiled: Option<Compiled>,
    pub in_force: InForce,
    pub verdicts: BTreeMap<ObjectKey, Verdict>,
    /// What is wrong with objects, by object.
    pub problems: Vec<Problem>,
    /// Objects that the proposal has a server create; none while an object is invalid.
    pub missing: proposal::Exhibited,
}

/// What the status of an object should say.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Of the object that was examined.
    pub generation: i64,
    pub conditions: Vec<StatusCondition>,
    /// Whether conditions of the other [`TYPES`] are to be removed.
    pub is_complete: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StatusCondition {
    pub r#type: &'static str,
    pub is_true: bool,
    pub reason: &'static str,
    pub message: String,
}

/// All types of conditions that are written here.
pub const TYPES: [&str; 5] =
    [IN_FORCE, "Dangling", "DistinguisherIgnored", "ExemptConflict", "Backstop"];

/// Whether requests are treated as the object says.
pub const IN_FORCE: &str = "InForce";

/// Why the condition `InForce` of a stored object is true or false.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum InForceReason {
    /// `InForce` is true: the object is part of the configuration in force.
    Configured,
    /// `InForce` is false: the priority level of the flow schema is missing.
    Dangling { message: String },
    /// `InForce` is false: the object is invalid. No changes are applied until it is corrected.
    Invalid { problem: String, more: usize },
    /// `InForce` is false: another object is invalid, so this version of the object is not applied.
    OtherObjectInvalid { object: String },
}

/// Decides what is in force; `last` is what is now, none at startup.
pub fn examine(stored: &StoredObjects, last: Option<&InForce>) -> Examined {
    let objects = read(stored);
    let missing = missing(&objects.proposal);
    let (compiled, problems) = compile(objects);
    let invalid = by_object(&problems);
    // An invalid object may be what is missing.
    let missing = if invalid.is_empty() { missing } else { proposal::Exhibited::default() };
    let (compiled, in_force) = match last {
        Some(last) if !invalid.is_empty() => (None, last.clone()),
        _ => {
            let valid = stored.iter().filter(|(key, _)| !invalid.contains_key(key));
            let versions = valid.map(|(key, object)| (key.clone(), object.version.clone()));
            match compiled {
                Some(compiled) => (Some(compiled), versions.collect()),
                None => (Some(backstops()), InForce::new()),
            }
        }
    };
    let mut verdicts = match &compiled {
        Some(compiled) => configured(compiled, &in_force),
        None => BTreeMap::new(),
    };
    for (key, object) in stored {
        let held_back = || held_back(key, object, &invalid, &in_force);
        verdicts.entry(key.clone()).or_insert_with(held_back);
    }
    Examined { compiled, in_force, verdicts, problems, missing }
}

/// The configuration of the valid objects, if a server can use it, and what is wrong with the others.
fn compile(objects: Objects) -> (Option<Compiled>, Vec<Problem>) {
    let Objects { proposal, mut problems, .. } = objects;
    let first = proposal.levels.first().map(|level| level.location.clone()).unwrap_or_default();
    let compiled = proposal::compile(proposal, &mut problems);
    match nominal::limits(compiled.config.levels.iter(), 1) {
        Ok(_) => (Some(compiled), problems),
        Err(error) => {
            problems.push(Problem::at(&first, "spec.assuredConcurrencyShares", error));
            (None, problems)
        }
    }
}

fn backstops() -> Compiled {
    proposal::compile(proposal::Objects::default(), &mut Vec::new())
}

fn read(stored: &StoredObjects) -> Objects {
    let mut objects = Objects::default();
    for (ObjectKey { kind, name }, StoredObject { version, spec }) in stored {
        let location = Location {
            kind: kind.name().to_owned(),
            name: name.to_string(),
            ..Location::default()
        };
        let value = json!({
            "apiVersion": proposal::API_VERSION,
            "kind": kind.name(),
            "metadata": {"name": name, "uid": version.uid},
            "spec": spec,
        });
        objects.add(value, &location);
    }
    objects
}

fn missing(objects: &proposal::Objects) -> proposal::Exhibited {
    let levels: Vec<_> = objects.levels.iter().map(|located| located.object.clone()).collect();
    let schemas: Vec<_> = objects.schemas.iter().map(|located| located.object.clone()).collect();
    proposal::missing(&levels, &schemas)
}

/// The problems of each object.
fn by_object(problems: &[Problem]) -> BTreeMap<ObjectKey, Vec<&Problem>> {
    let mut by_object: BTreeMap<ObjectKey, Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        by_object.entry(ObjectKey::of(&problem.location)).or_default().push(problem);
    }
    by_object
}

/// Of objects whose changes are not applied.
fn held_back(
    key: &ObjectKey,
    object: &StoredObject,
    invalid: &BTreeMap<ObjectKey, Vec<&Problem>>,
    in_force: &InForce,
) -> Verdict {
    let reason = match (invalid.get(key).map(Vec::as_slice), invalid.first_key_value()) {
        (Some([first, rest @ ..]), _) => {
            let separator = if first.field.is_empty() { "" } else { ": " };
            let problem = format!("{}{separator}{}", first.field, first.fault);
            InForceReason::Invalid { problem, more: rest.len() }
        }
        (_, Some((other, _))) if in_force.get(key) != Some(&object.version) => {
            InForceReason::OtherObjectInvalid { object: other.to_string() }
        }
        _ => InForceReason::Configured,
    };
    // The others say what the configuration in force does, so they stay.
    Verdict {
        generation: object.version.generation,
        conditions: vec![reason.condition()],
        is_complete: false,
    }
}

/// Of objects whose configuration is put in force.
fn configured(compiled: &Compiled, in_force: &InForce) -> BTreeMap<ObjectKey, Verdict> {
    let fresh = |(key, Version { generation, .. }): (&ObjectKey, &Version)| {
        let conditions = vec![InForceReason::Configured.condition()];
        (key.clone(), Verdict { generation: *generation, conditions, is_complete: true })
    };
    let mut verdicts: BTreeMap<_, _> = in_force.iter().map(fresh).collect();
    for condition in &compiled.conditions {
        let key = condition.object.as_ref().map(ObjectKey::of);
        let Some(verdict) = key.and_then(|key| verdicts.get_mut(&key)) else { continue };
        if condition.is_true() && condition.r#type() == ConditionType::Dangling {
            let message = condition.reason.to_string();
            verdict.conditions[0] = InForceReason::Dangling { message }.condition();
        }
        verdict.conditions.push(condition.into());
    }
    verdicts
}

// === impl ObjectKind, ObjectKey, StoredObject ===

impl ObjectKind {
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::RequestPriority => "RequestPriority",
            ObjectKind::FlowSchema => "FlowSchema",
        }
    }
}

impl ObjectKey {
    fn of(location: &Location) -> ObjectKey {
        let is_schema = location.kind == ObjectKind::FlowSchema.name();
        let kind = if is_schema { ObjectKind::FlowSchema } else { ObjectKind::RequestPriority };
        ObjectKey { kind, name: location.name.as_str().into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), super::problem::excerpt(&self.name))
    }
}

impl StoredObject {
    /// Of the object as the API shows it.
    pub fn new(object: &Value) -> StoredObject {
        let metadata = &object["metadata"];
        let version = Version {
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
        };
        StoredObject { version, spec: object["spec"].clone() }
    }
}

// === Conditions ===

impl InForceReason {
    /// Stays the same when the sentence changes.
    pub fn code(&self) -> &'static str {
        match self {
            InForceReason::Configured => "Configured",
            InForceReason::Dangling { .. } => "Dangling",
            InForceReason::Invalid { .. } => "Invalid",
            InForceReason::OtherObjectInvalid { .. } => "OtherObjectInvalid",
        }
    }

    fn condition(&self) -> StatusCondition {
        StatusCondition {
            r#type: IN_FORCE,
            is_true: *self == InForceReason::Configured,
            reason: self.code(),
            message: self.to_string(),
        }
    }
}

/// The message.
impl fmt::Display for InForceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STAYS: &str = "until then the last valid configuration stays in force";
        match self {
            InForceReason::Configured => f.write_str("part of the configuration in force"),
            InForceReason::Dangling { message } => f.write_str(message),
            InForceReason::Invalid { problem, more: 0 } => {
                write!(f, "{problem}; correct the object, {STAYS}")
            }
            InForceReason::Invalid { problem, more } => {
                write!(f, "{problem} (and {more} more); correct the object, {STAYS}")
            }
            InForceReason::OtherObjectInvalid { object } => {
                write!(f, "{object} is invalid; correct or delete it, {STAYS}")
            }
        }
    }
}

impl From<&Condition> for StatusCondition {
    fn from(condition: &Condition) -> StatusCondition {
        StatusCondition {
            r#type: condition.r#type().code(),
            is_true: condition.is_true(),
            reason: condition.reason.code(),
            message: condition.reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
