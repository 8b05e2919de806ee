//! The door for resources that come one by one, such as custom resources of an API server.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_locality::{
    Compat, FieldError,
    resource::{Form, Key, Resource, parse},
};
use serde_json::Value;

use super::Problem;
use crate::{control::Control, engine::Update};

/// What an object is called where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// News of an object.
#[derive(Clone, Debug)]
pub enum Object {
    Applied(ObjectId, Value),
    /// It is there, and can't be read.
    Invalid(ObjectId, FieldError),
    Deleted(ObjectId),
}

/// Takes objects from outside into the control plane.
#[derive(Debug)]
pub struct Intake {
    control: Arc<Control>,
    compat: Compat,
    /// The key under which an object is in force.
    in_force: BTreeMap<ObjectId, Key>,
    problems: BTreeMap<ObjectId, Vec<Problem>>,
}

// === impl Intake ===

impl Intake {
    pub(crate) fn new(control: Arc<Control>, compat: Compat) -> Self {
        Self { control, compat, in_force: BTreeMap::new(), problems: BTreeMap::new() }
    }

    /// Puts what arrived together into force together. An object that is invalid is reported, and its last
    /// good form stays.
    pub fn apply_objects(&mut self, objects: impl IntoIterator<Item = Object>) {
        let received = self.control.clock.now();
        let mut updates = Vec::new();
        for object in objects {
            match object {
                Object::Applied(id, value) => match parse(&value, Form::Custom, self.compat) {
                    Ok(resource) => self.applied(id, resource, &mut updates),
                    Err(errors) => self.invalid(id, errors),
                },
                Object::Invalid(id, error) => self.invalid(id, vec![error]),
                Object::Deleted(id) => self.deleted(&id, &mut updates),
            }
        }
        self.control.apply(received, updates);
        let problems = self.problems.values().flatten().cloned();
        self.control.set_problems(problems.collect());
    }

    /// All objects of a kind that are not among these are gone: a new list after its watch was lost.
    pub fn keep_only(&mut self, kind: &str, listed: &BTreeSet<ObjectId>) {
        let known = self.in_force.keys().chain(self.problems.keys());
        let is_gone = |id: &&ObjectId| *id.kind == *kind && !listed.contains(*id);
        let gone: BTreeSet<ObjectId> = known.filter(is_gone).cloned().collect();
        self.apply_objects(gone.into_iter().map(Object::Deleted));
    }

    /// Everything that there is has been applied: proxies may be answered.
    pub fn synced(&self) {
        self.control.set_synced();
    }

    fn applied(&mut self, id: ObjectId, resource: Resource, updates: &mut Vec<Update>) {
        self.problems.remove(&id);
        let key = resource.key.clone();
        if let Some(before) = self.in_force.insert(id, key.clone())
            && before != key
        {
            updates.push(Update::Delete(before));
        }
        updates.push(Update::Apply(Box::new(resource)));
    }

    fn invalid(&mut self, id: ObjectId, errors: Vec<FieldError>) {
        let origin: Arc<str> = format!("{} {}/{}", id.kind, id.namespace, id.name).into();
        let key = self.in_force.get(&id);
        let problem = |error: FieldError| {
            tracing::warn!(%origin, field = error.path, error = error.message, "ignoring invalid object");
            Problem {
                origin: Arc::clone(&origin),
                document: None,
                resource: key.cloned(),
                field: (!error.path.is_empty()).then_some(error.path),
                message: error.message,
                last_good_in_force: key.is_some(),
            }
        };
        let problems = errors.into_iter().map(problem).collect();
        self.problems.insert(id, problems);
    }

    fn deleted(&mut self, id: &ObjectId, updates: &mut Vec<Update>) {
        self.problems.remove(id);
        updates.extend(self.in_force.remove(id).map(Update::Delete));
    }
}
