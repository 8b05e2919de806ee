//! Do the defaults fit their schemas?
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go`. A default
//! is pruned, its embedded resources are valid, and it validates. A default in the metadata of an
//! embedded resource is checked as part of that metadata.

use serde_json::{Value, json};

use super::Tolerance;
use crate::{
    error::{Errors, FieldError},
    object_meta,
    path::Path,
    prune::is_meta,
    schema::Schema,
};

pub(super) fn check(schema: &Schema, path: &Path<'_>, tolerance: Tolerance, errors: &mut Errors) {
    let mut checker = Checker { errors, tolerance, trail: Vec::new() };
    checker.walk(schema, true, false, path);
}

/// A step from an embedded resource towards a default.
enum Step<'a> {
    Field(&'a str),
    Item,
}

struct Checker<'a, 'e> {
    errors: &'e mut Errors,
    tolerance: Tolerance,
    trail: Vec<Step<'a>>,
}

impl<'a> Checker<'a, '_> {
    fn walk(&mut self, schema: &'a Schema, is_resource: bool, inside_meta: bool, path: &Path<'_>) {
        let is_resource = is_resource || schema.embedded_resource;
        let inside_meta = inside_meta && !is_resource;
        let outer = if is_resource { std::mem::take(&mut self.trail) } else { Vec::new() };
        if let Some(default) = schema.default.as_deref() {
            let path = path.child("default");
            match inside_meta {
                true => self.check_meta(schema, default, &path),
                false => self.check(schema, default, &path),
            }
        }
        if let Some(items) = schema.items() {
            self.trail.push(Step::Item);
            self.walk(items, false, inside_meta, &path.child("items"));
            self.trail.pop();
        }
        let properties = path.child("properties");
        for (name, child) in schema.properties.iter() {
            let inside_meta = inside_meta || is_resource && is_meta(name);
            self.trail.push(Step::Field(name));
            self.walk(child, false, inside_meta, &properties.key(name));
            self.trail.pop();
        }
        if is_resource {
            self.trail = outer;
        }
    }

    fn check(&mut self, schema: &Schema, default: &Value, path: &Path<'_>) {
        if !self.tolerance.unpruned_defaults && !schema.is_pruned(default) {
            self.errors.add(|| FieldError::invalid(path, default, "must not have unknown fields"));
        }
        let mut wrong = Errors::new();
        object_meta::check(schema, default, path, &mut wrong);
        if wrong.is_empty() {
            wrong = schema.validate_at(default, None, path);
        }
        self.errors.append(wrong);
    }

    fn check_meta(&mut self, schema: &Schema, default: &Value, path: &Path<'_>) {
        let mut resource = default.clone();
        for step in self.trail.iter().rev() {
            resource = match step {
                Step::Field(name) => json!({ *name: resource }),
                Step::Item => json!([resource]),
            };
        }
        let mut wrong = Errors::new();
        object_meta::check_as_resource(&mut resource, &mut wrong);
        if !wrong.is_empty() {
            let texts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            let texts = match &texts[..] {
                [one] => one.clone(),
                many => format!("[{}]", many.join(", ")),
            };
            let detail = format!("must result in valid metadata: {texts}");
            return self.errors.add(|| FieldError::invalid(path, default, detail));
        }
        let wrong = schema.validate_at(default, None, path);
        self.errors.append(wrong);
    }
}
