//! The door for resources that come one by one, such as custom resources of an API server.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
    time::Duration,
};

use evenkeel_locality::{
    Compat, FieldError,
    resource::{Form, Key, Resource, Strings, parse},
};
use serde_json::Value;

use super::Problem;
use crate::{control::Control, engine::Update, kubernetes::Kubernetes};

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
    /// The objects that have problems.
    invalid: BTreeSet<ObjectId>,
    /// Services, Pods and Nodes, if they are followed.
    kubernetes: Option<Kubernetes>,
    strings: Strings,
}

/// What is put into force at once. Between two parts of a large list, streams come to the engine.
const PART: usize = 512;

/// What a part of the objects changes.
#[derive(Debug, Default)]
struct Part {
    updates: Vec<Update>,
    /// By origin; those that are valid or gone have none.
    problems: Vec<(Arc<str>, Vec<Problem>)>,
}

// === impl Intake ===

impl Intake {
    pub(crate) fn new(control: Arc<Control>, compat: Compat) -> Self {
        let (in_force, invalid) = (BTreeMap::new(), BTreeSet::new());
        let strings = Strings::default();
        Self { control, compat, in_force, invalid, kubernetes: None, strings }
    }

    /// Services of Kubernetes are destinations, and Dataplanes are where their Pods are.
    pub(crate) fn with_kubernetes(self, kubernetes: Kubernetes) -> Self {
        Self { kubernetes: Some(kubernetes), ..self }
    }

    /// Takes what a watch of Services, EndpointSlices, Pods or Nodes brought, and puts into force what follows.
    pub(crate) fn apply_kubernetes(&mut self, take: impl FnOnce(&mut Kubernetes)) {
        let received = self.control.clock.now();
        let Some(kubernetes) = &mut self.kubernetes else { return };
        take(kubernetes);
        let mut updates = kubernetes.take();
        while !updates.is_empty() {
            let rest = updates.split_off(updates.len().min(PART));
            self.control.apply(received, mem::replace(&mut updates, rest));
        }
    }

    /// Puts what arrived together into force together, a very large batch in parts. An object that is
    /// invalid is reported, and its last good form stays. This computes what follows from the objects for all
    /// proxies before it returns: not for a thread on which tasks wait.
    pub fn apply_objects(&mut self, objects: impl IntoIterator<Item = Object>) {
        let received = self.control.clock.now();
        let mut part = Part::default();
        for object in objects {
            match object {
                Object::Applied(id, value) => match parse(&value, Form::Custom, self.compat) {
                    Ok(resource) => self.applied(id, resource, &mut part),
                    Err(errors) => self.invalid(id, errors, &mut part),
                },
                Object::Invalid(id, error) => self.invalid(id, vec![error], &mut part),
                Object::Deleted(id) => self.deleted(&id, &mut part),
            }
            if part.updates.len() >= PART {
                self.put_into_force(received, mem::take(&mut part));
            }
        }
        self.put_into_force(received, part);
    }

    fn put_into_force(&mut self, received: Duration, mut part: Part) {
        if let Some(kubernetes) = &mut self.kubernetes {
            kubernetes.locate(&mut part.updates);
        }
        self.control.apply(received, part.updates);
        self.control.replace_problems(part.problems);
    }

    /// All objects of a kind that are not among these are gone: a new list after its watch was lost.
    pub fn keep_only(&mut self, kind: &str, listed: &BTreeSet<ObjectId>) {
        let known = self.in_force.keys().chain(&self.invalid);
        let is_gone = |id: &&ObjectId| *id.kind == *kind && !listed.contains(*id);
        let gone: BTreeSet<ObjectId> = known.filter(is_gone).cloned().collect();
        self.apply_objects(gone.into_iter().map(Object::Deleted));
    }

    /// All custom resources that there are have been applied: proxies may be answered, if all else is known too.
    pub fn synced(&self) {
        if self.kubernetes.as_ref().is_none_or(Kubernetes::is_synced) {
            self.control.set_synced();
        }
    }

    fn applied(&mut self, id: ObjectId, mut resource: Resource, part: &mut Part) {
        self.strings.share(&mut resource);
        self.valid(&id, part);
        let key = resource.key.clone();
        if let Some(before) = self.in_force.insert(id, key.clone())
            && before != key
        {
            part.updates.push(Update::Delete(before));
        }
        part.updates.push(Update::Apply(Box::new(resource)));
    }

    fn invalid(&mut self, id: ObjectId, errors: Vec<FieldError>, part: &mut Part) {
        let origin = id.origin();
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
        part.problems.push((origin, problems));
        self.invalid.insert(id);
    }

    fn deleted(&mut self, id: &ObjectId, part: &mut Part) {
        self.valid(id, part);
        part.updates.extend(self.in_force.remove(id).map(Update::Delete));
    }

    /// Nothing is wrong with it any more.
    fn valid(&mut self, id: &ObjectId, part: &mut Part) {
        if self.invalid.remove(id) {
            part.problems.push((id.origin(), Vec::new()));
        }
    }
}

// === impl ObjectId ===

impl ObjectId {
    /// What problems call it.
    fn origin(&self) -> Arc<str> {
        format!("{} {}/{}", self.kind, self.namespace, self.name).into()
    }
}
