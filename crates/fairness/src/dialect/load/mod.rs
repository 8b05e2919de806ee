//! Text to objects: YAML with any number of documents, or JSON, or lists of either.
//!
//! A bad object spoils only itself, and a document that can't be read only that document; all
//! problems are collected. Input is not trusted: the text, the objects and the nesting are bounded,
//! aliases may multiply a document only by a constant, and errors quote little of it.

mod decode;
mod json;
mod printed;
mod yaml;

use std::sync::Arc;

use serde_json::Value;

use super::{Fault, Location, Objects, Problem};

/// Far beyond any configuration that makes sense.
const MAX_TEXT: usize = 64 << 20;
const MAX_OBJECTS: usize = 100_000;

/// The objects in `text`; `file` is the name people know it by.
pub fn load(file: &str, text: &str) -> Objects {
    let mut objects = Objects::default();
    objects.load(file, text);
    objects
}

impl Objects {
    /// Adds the objects in `text`; `file` is the name people know it by.
    pub fn load(&mut self, file: &str, text: &str) {
        let file: Arc<str> = file.into();
        let whole = Location { file, ..Location::default() };
        if text.len() > MAX_TEXT {
            return self.fail(&whole, Fault::TooLong { limit: MAX_TEXT });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let documents: &mut dyn Iterator<Item = Result<Value, Fault>> = if json::is_json(text) {
            &mut json::documents(text)
        } else {
            &mut yaml::documents(text)
        };
        for (number, document) in (1..).zip(documents) {
            let location = Location { document: Some(number), ..whole.clone() };
            match document {
                Ok(Value::Null) => {}
                Ok(value) => self.take(value, &location, None),
                Err(fault) if self.has_room(&location) => self.fail(&location, fault),
                Err(_) => {}
            }
            if self.is_full() {
                return;
            }
        }
    }

    /// Adds one object, of which the location is known.
    pub(super) fn add(&mut self, object: Value, location: &Location) {
        self.take(object, location, None);
    }

    /// `of` is what the items of a typed list are; they need not say it themselves.
    fn take(&mut self, value: Value, location: &Location, of: Option<&decode::Type>) {
        if !self.has_room(location) {
            return;
        }
        let Value::Object(mut object) = value else {
            return self.fail(location, Fault::NotAnObject { found: name_of(&value) });
        };
        if let Some(list) = decode::list_of(&object) {
            let items = object.remove("items").unwrap_or(Value::Array(Vec::new()));
            let Value::Array(items) = items else {
                let fault = Fault::Decode { message: "expected a list".to_owned() };
                return self.problems.push(Problem::at(location, "items", fault));
            };
            for (i, item) in items.into_iter().enumerate() {
                let location = Location { item: Some(i), ..location.clone() };
                self.take(item, &location, list.as_ref().or(of));
                if self.is_full() {
                    return;
                }
            }
            return;
        }
        decode::decode(object, location, of, self);
    }

    fn fail(&mut self, location: &Location, fault: Fault) {
        self.problems.push(Problem::at(location, "", fault));
    }

    /// Problems count too: there may be as many of them as there are objects.
    fn has_room(&mut self, location: &Location) -> bool {
        let has_room = self.len() < MAX_OBJECTS;
        if !has_room {
            self.fail(location, Fault::TooManyObjects { limit: MAX_OBJECTS });
        }
        has_room
    }

    fn is_full(&self) -> bool {
        let too_many = |problem: &Problem| matches!(problem.fault, Fault::TooManyObjects { .. });
        self.problems.last().is_some_and(too_many)
    }

    fn len(&self) -> usize {
        let Objects { kubernetes, proposal, problems } = self;
        kubernetes.levels.len()
            + kubernetes.schemas.len()
            + proposal.levels.len()
            + proposal.schemas.len()
            + problems.len()
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
