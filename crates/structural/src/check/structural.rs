//! Is a schema structural?
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go`. Every field and item
//! has a type outside of `allOf`, `anyOf`, `oneOf` and `not`, which restrict values and nothing
//! else. The exception is `x-kubernetes-int-or-string`, whose two types may be written as `anyOf`.
//! Errors are sorted by their text.

use super::complete;
use crate::{
    error::{Errors, FieldError},
    path::Path,
    schema::{Pattern, Schema, SchemaOrBool, Type, ValueValidation},
};

/// Maximum weight of all patterns of a definition: compiling them takes a fraction of a second.
pub(super) const MOST_WEIGHT: usize = 1 << 19;

pub(super) fn check(schema: &Schema, path: &Path<'_>) -> Errors {
    let mut checker = Checker { errors: Errors::new(), weight: 0 };
    checker.structure(schema, Level::Root, path);
    let mut errors = checker.errors;
    complete::check(schema, path, &mut errors);
    errors.sort();
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

struct Checker {
    errors: Errors,
    /// The weight of the patterns so far.
    weight: usize,
}

impl Checker {
    fn required(&mut self, path: &Path<'_>, detail: &str) {
        self.errors.add(|| FieldError::required(path, detail));
    }

    fn forbidden(&mut self, path: &Path<'_>, detail: &str) {
        self.errors.add(|| FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: &Path<'_>, text: &str, detail: &str) {
        self.errors.add(|| FieldError::invalid_text(path, text, detail));
    }

    fn structure(&mut self, schema: &Schema, level: Level, path: &Path<'_>) {
        if schema.type_ == Type::Array && schema.items().is_none() {
            self.required(&path.child("items"), "must be specified");
        }
        if let Some(items) = schema.items() {
            self.structure(items, Level::Item, &path.child("items"));
        }
        let properties = path.child("properties");
        for (name, child) in schema.properties.iter() {
            self.structure(child, Level::Field, &properties.key(name));
        }
        if let Some(additional) = schema.additional_properties.as_deref() {
            let path = path.child("additionalProperties");
            if level == Level::Root {
                self.forbidden(&path, "must not be used at the root");
            }
            if let SchemaOrBool::Schema(child) = additional {
                self.structure(child, Level::Field, &path);
            }
        }
        self.extensions(schema, path);
        let values = schema.values();
        let skip_any_of = is_int_or_string(&values.any_of);
        let skip_first =
            values.all_of.first().is_some_and(|first| is_int_or_string(&first.values().any_of));
        self.values(values, skip_any_of, skip_first, path);
        self.type_(schema, level, path);
        self.metadata(schema, level, path);
    }

    fn extensions(&mut self, schema: &Schema, path: &Path<'_>) {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        for (set, name) in [
            (schema.preserves_unknown_fields(), "x-kubernetes-preserve-unknown-fields"),
            (schema.embedded_resource, "x-kubernetes-embedded-resource"),
        ] {
            if schema.int_or_string && set {
                self.errors.add(|| FieldError::invalid(&path.child(name), &true.into(), detail));
            }
        }
    }

    fn type_(&mut self, schema: &Schema, level: Level, path: &Path<'_>) {
        let at = path.child("type");
        let text = schema.type_.as_str();
        if schema.embedded_resource && schema.type_ != Type::Object {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            match schema.type_ {
                Type::None => self.required(&at, detail),
                _ => self.invalid(&at, text, detail),
            }
        } else if schema.type_ == Type::None
            && !schema.int_or_string
            && !schema.preserves_unknown_fields()
        {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.required(&at, detail);
        }
        if schema.embedded_resource && schema.additional_properties.is_some() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbidden(&path.child("additionalProperties"), detail);
        }
        if level == Level::Root && !matches!(schema.type_, Type::None | Type::Object) {
            self.invalid(&at, text, "must be object at the root");
        }
    }

    /// The types of `apiVersion`, `kind` and `metadata` are fixed; of `metadata` of the resource
    /// itself, the name can be restricted.
    fn metadata(&mut self, schema: &Schema, level: Level, path: &Path<'_>) {
        let is_resource = level == Level::Root || schema.embedded_resource;
        let properties = path.child("properties");
        for (name, type_, detail) in [
            ("kind", Type::String, "must be string"),
            ("apiVersion", Type::String, "must be string"),
            ("metadata", Type::Object, "must be object"),
        ] {
            let path = properties.key(name);
            let child = schema.properties.get(name).filter(|child| child.type_ != type_);
            if let Some(child) = child.filter(|_| is_resource) {
                self.invalid(&path.child("type"), child.type_.as_str(), detail);
            }
        }
        if let Some(metadata) = schema.properties.get("metadata").filter(|_| level == Level::Root)
            && !restricts_name_only(metadata)
        {
            let detail = "must not specify anything other than name and generateName, but metadata \
                          is implicitly specified";
            self.forbidden(&properties.key("metadata"), detail);
        }
        if schema.embedded_resource
            && !schema.preserves_unknown_fields()
            && schema.properties.is_empty()
        {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.required(&properties, detail);
        }
    }

    fn values(
        &mut self,
        values: &ValueValidation,
        skip_any_of: bool,
        skip_first: bool,
        path: &Path<'_>,
    ) {
        if !skip_any_of {
            self.nested_all(&values.any_of, false, &path.child("anyOf"));
        }
        self.nested_all(&values.all_of, skip_first, &path.child("allOf"));
        self.nested_all(&values.one_of, false, &path.child("oneOf"));
        if let Some(not) = &values.not {
            self.nested(not, false, &path.child("not"));
        }
        if let Some(pattern) = &values.pattern {
            self.pattern(pattern, &path.child("pattern"));
        }
    }

    fn nested_all(&mut self, schemas: &[Schema], skip_any_of_of_first: bool, path: &Path<'_>) {
        for (index, schema) in schemas.iter().enumerate() {
            self.nested(schema, skip_any_of_of_first && index == 0, &path.index(index));
        }
    }

    /// A schema that restricts values, and must not describe their structure.
    fn nested(&mut self, schema: &Schema, skip_any_of: bool, path: &Path<'_>) {
        self.values(schema.values(), skip_any_of, false, path);
        if let Some(items) = schema.items() {
            self.nested(items, false, &path.child("items"));
        }
        let properties = path.child("properties");
        for (name, child) in schema.properties.iter() {
            self.nested(child, false, &properties.key(name));
        }
        let extensions = schema.extensions();
        let allows_more = !matches!(
            schema.additional_properties.as_deref(),
            None | Some(SchemaOrBool::Bool(false))
        );
        for (set, field, must) in [
            (schema.type_ != Type::None, "type", "empty"),
            (allows_more, "additionalProperties", "undefined"),
            (schema.default.is_some(), "default", "undefined"),
            (schema.documentation.title, "title", "empty"),
            (schema.documentation.description, "description", "empty"),
            (schema.nullable, "nullable", "false"),
            (schema.preserves_unknown_fields(), "x-kubernetes-preserve-unknown-fields", "false"),
            (schema.embedded_resource, "x-kubernetes-embedded-resource", "false"),
            (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
            (!extensions.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
            (extensions.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
            (extensions.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
            (!extensions.validations.is_empty(), "x-kubernetes-validations", "empty"),
        ] {
            if set {
                self.forbidden(&path.child(field), &format!("must be {must} to be structural"));
            }
        }
        if schema.properties.get("metadata").is_some() {
            let detail = "must not be specified in a nested context";
            self.forbidden(&properties.key("metadata"), detail);
        }
    }

    fn pattern(&mut self, pattern: &Pattern, path: &Path<'_>) {
        if self.weight > MOST_WEIGHT {
            return;
        }
        match pattern.check() {
            Ok(weight) => self.weight += weight,
            Err(error) => {
                let detail = format!("must be a valid regular expression, but isn't: {error}");
                self.invalid(path, pattern.as_str(), &detail);
            }
        }
        if self.weight > MOST_WEIGHT {
            self.forbidden(path, "the patterns of the schema are too large in total");
        }
    }
}

/// Whether alternatives are exactly the types integer and string.
fn is_int_or_string(any_of: &[Schema]) -> bool {
    let [first, second] = any_of else { return false };
    let is = |schema: &Schema, type_: Type| schema.type_ == type_ && schema.is_bare();
    is(first, Type::Integer) && is(second, Type::String)
}

fn restricts_name_only(metadata: &Schema) -> bool {
    let names = ["name", "generateName"];
    let restricted = names.iter().filter(|name| metadata.properties.get(name).is_some()).count();
    metadata.properties.len() == restricted && metadata.is_bare_besides_properties()
}
