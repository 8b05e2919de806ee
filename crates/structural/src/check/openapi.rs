//! Each schema by itself: fields that are not supported, and extensions that contradict each other.
//!
//! Source: `ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3` in
//! `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go`.

use super::{Tolerance, lists};
use crate::{
    error::{Errors, FieldError, FieldErrorType, quoted},
    path::Path,
    prune::is_meta,
    schema::{Items, Schema, SchemaOrBool, Type},
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

pub(super) fn check(schema: &Schema, path: &Path<'_>, tolerance: Tolerance, errors: &mut Errors) {
    let place = Place { is_root: true, inside_meta: false, no_default: None };
    Checker { errors, tolerance }.walk(schema, place, path);
}

/// Where a schema is.
#[derive(Clone, Copy)]
struct Place<'a> {
    is_root: bool,
    /// In `apiVersion`, `kind` or `metadata` of the resource or an embedded one.
    inside_meta: bool,
    /// Why there must be no default.
    no_default: Option<NoDefault<'a>>,
}

#[derive(Clone, Copy)]
enum NoDefault<'a> {
    TopLevel(&'a str),
    AdditionalMeta,
}

struct Checker<'e> {
    errors: &'e mut Errors,
    tolerance: Tolerance,
}

impl Checker<'_> {
    fn forbidden(&mut self, path: &Path<'_>, name: &str, detail: &str) {
        self.errors.add(|| FieldError::forbidden(&path.child(name), detail));
    }

    fn walk(&mut self, schema: &Schema, place: Place<'_>, path: &Path<'_>) {
        self.supported(schema, place, path);
        self.additional(schema, place, path);
        self.children(schema, place, path);
        self.extensions(schema, path);
        lists::check(schema, path, self.tolerance, self.errors);
    }

    fn supported(&mut self, schema: &Schema, place: Place<'_>, path: &Path<'_>) {
        if let Type::Other(type_) = &schema.type_
            && !self.tolerance.invalid_types
        {
            self.errors.add(|| FieldError::not_supported(&path.child("type"), type_, &TYPES));
        }
        if let Some(reason) = place.no_default.filter(|_| schema.default.is_some()) {
            let reason = match reason {
                NoDefault::TopLevel(name) => format!("in top-level {name}"),
                NoDefault::AdditionalMeta => {
                    "inside additionalProperties applying to object metadata".to_owned()
                }
            };
            self.forbidden(path, "default", &format!("must not be set {reason}"));
        }
        if let Some(unsupported) = schema.unsupported() {
            for (set, name) in [
                (unsupported.id.is_some(), "id"),
                (unsupported.additional_items.is_some(), "additionalItems"),
                (!unsupported.pattern_properties.is_empty(), "patternProperties"),
                (!unsupported.definitions.is_empty(), "definitions"),
                (!unsupported.dependency_names.is_empty(), "dependencies"),
                (unsupported.ref_.is_some(), "$ref"),
            ] {
                if set {
                    self.forbidden(path, name, &format!("{name} is not supported"));
                }
            }
        }
        if schema.type_.as_str() == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            self.forbidden(path, "type", detail);
        }
        if matches!(schema.items.as_deref(), Some(Items::Schemas(schemas)) if !schemas.is_empty()) {
            self.forbidden(path, "items", "items must be a schema object and not an array");
        }
        if place.inside_meta && schema.embedded_resource {
            let detail = "must not be used inside of resource meta";
            self.forbidden(path, "x-kubernetes-embedded-resource", detail);
        }
        if schema.values().unique_items {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(path, "uniqueItems", detail);
        }
    }

    fn additional(&mut self, schema: &Schema, place: Place<'_>, path: &Path<'_>) {
        let Some(additional) = schema.additional_properties.as_deref() else { return };
        if !schema.properties.is_empty() && *additional != SchemaOrBool::Bool(true) {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.forbidden(path, "additionalProperties", detail);
        }
        if let SchemaOrBool::Schema(child) = additional {
            let mut place = Place { is_root: false, ..place };
            if place.inside_meta {
                place.no_default = Some(NoDefault::AdditionalMeta);
            }
            self.walk(child, place, &path.child("additionalProperties"));
        }
    }

    fn children(&mut self, schema: &Schema, place: Place<'_>, path: &Path<'_>) {
        let below = Place { is_root: false, ..place };
        let properties = path.child("properties");
        for (name, child) in schema.properties.iter() {
            let mut below = below;
            if (place.is_root || schema.embedded_resource) && is_meta(name) {
                below.inside_meta = true;
                if place.is_root {
                    below.no_default = Some(NoDefault::TopLevel(name));
                }
            }
            self.walk(child, below, &properties.key(name));
        }
        let values = schema.values();
        if let Some(not) = &values.not {
            self.walk(not, below, &path.child("not"));
        }
        for (name, schemas) in
            [("allOf", &values.all_of), ("oneOf", &values.one_of), ("anyOf", &values.any_of)]
        {
            self.each(schemas, below, &path.child(name));
        }
        if let Some(unsupported) = schema.unsupported() {
            let path = path.child("definitions");
            for (name, child) in unsupported.definitions.iter() {
                self.walk(child, below, &path.key(name));
            }
        }
        match schema.items.as_deref() {
            Some(Items::Schema(child)) => self.walk(child, below, &path.child("items")),
            Some(Items::Schemas(schemas)) => self.each(schemas, below, &path.child("items")),
            None => {}
        }
        if let Some(unsupported) = schema.unsupported() {
            let path = path.child("dependencies");
            for (name, child) in unsupported.dependencies.iter() {
                self.walk(child, below, &path.key(name));
            }
        }
    }

    fn each(&mut self, schemas: &[Schema], place: Place<'_>, path: &Path<'_>) {
        for (index, schema) in schemas.iter().enumerate() {
            self.walk(schema, place, &path.index(index));
        }
    }

    fn extensions(&mut self, schema: &Schema, path: &Path<'_>) {
        if schema.preserve_unknown_fields == Some(false) {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors
                .add(|| FieldError::invalid(&path, &false.into(), "must be true or undefined"));
        }
        let Some(map_type) = &schema.extensions().map_type else { return };
        if schema.type_ != Type::Object {
            let detail = "must be object if x-kubernetes-map-type is specified";
            self.errors.add(|| wrong_type(schema, path, detail));
        }
        if !matches!(&**map_type, "atomic" | "granular") {
            let path = path.child("x-kubernetes-map-type");
            let supported = ["atomic", "granular"];
            self.errors.add(|| FieldError::not_supported(&path, map_type, &supported));
        }
    }
}

/// The type is missing, or another one than an extension needs.
pub(super) fn wrong_type(schema: &Schema, path: &Path<'_>, detail: &str) -> FieldError {
    let path = path.child("type");
    match &schema.type_ {
        Type::None => FieldError::required(&path, detail),
        type_ => FieldError::new(&path, FieldErrorType::Invalid(quoted(type_.as_str())), detail),
    }
}
