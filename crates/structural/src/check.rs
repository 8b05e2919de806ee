//! Checks of a schema when its CustomResourceDefinition is written.
//!
//! Source: `validateCustomResourceDefinitionValidation` in
//! `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go`, whose order is
//! kept: the root, then the structure ([`structural`]), then the defaults if the structure is sound
//! ([`defaults`]), then each schema by itself ([`openapi`]), then, if
//! all of that is sound, the rules ([`cel`]). Maps, which Kubernetes visits in random
//! order, are visited in theirs. Linear in the size of the schema; errors are bounded by [`Errors`],
//! patterns in number and size by [`structural::MOST_WEIGHT`].
//!
//! Deviations: defaults are not checked against rules, which are checked when an object with the
//! default is written.

mod complete;
mod defaults;
mod lists;
mod openapi;
mod structural;
mod tolerance;

pub use self::tolerance::Tolerance;
use crate::{
    cel,
    error::{Errors, FieldError},
    path::Path,
    schema::{Items, Schema},
};

/// Lists what is wrong in a schema. `path` is where it is, including `openAPIV3Schema`:
/// `spec.validation.openAPIV3Schema` if all versions have the same schema,
/// `spec.versions[0].schema.openAPIV3Schema` otherwise. `tolerance` is what the stored definition already
/// violates; nothing for a new one.
pub fn check_definition(schema: &Schema, path: &Path<'_>, tolerance: Tolerance) -> Errors {
    let mut errors = Errors::new();
    if schema.nullable {
        let detail = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.child("nullable"), detail));
    }
    let unsupported = unsupported(schema);
    if unsupported.is_none() {
        let structure = structural::check(schema, path);
        match structure.is_empty() {
            true => defaults::check(schema, path, tolerance, &mut errors),
            false => errors.append(structure),
        }
    }
    openapi::check(schema, path, tolerance, &mut errors);
    // What else is wrong explains better why there is no structural schema.
    if let Some(detail) = unsupported.filter(|_| errors.is_empty()) {
        errors.push(FieldError::invalid_text(path, "", detail));
    }
    // Rules are typed by the schema, so that it has to be sound.
    if errors.is_empty() {
        errors.append(cel::check_definition(schema, path));
    }
    errors
}

/// Why there is no structural schema at all: a field that it does not have.
fn unsupported(schema: &Schema) -> Option<&'static str> {
    if let Some(set) = schema.unsupported() {
        let found = [
            (set.id.is_some(), "OpenAPIV3Schema 'id' is not supported"),
            (set.schema.is_some(), "OpenAPIV3Schema 'schema' is not supported"),
            (
                set.ref_.as_ref().is_some_and(|text| !text.is_empty()),
                "OpenAPIV3Schema '$ref' is not supported",
            ),
            (
                !set.pattern_properties.is_empty(),
                "OpenAPIV3Schema 'patternProperties' is not supported",
            ),
            (!set.dependency_names.is_empty(), "OpenAPIV3Schema 'dependencies' is not supported"),
            (set.additional_items.is_some(), "OpenAPIV3Schema 'additionalItems' is not supported"),
            (!set.definitions.is_empty(), "OpenAPIV3Schema 'definitions' is not supported"),
        ];
        if let Some((_, detail)) = found.into_iter().find(|(found, _)| *found) {
            return Some(detail);
        }
    }
    if schema.preserve_unknown_fields == Some(false) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        );
    }
    if matches!(schema.items.as_deref(), Some(Items::Schemas(schemas)) if !schemas.is_empty()) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array");
    }
    let mut found = None;
    schema.each_child(&mut |child| found = found.or_else(|| unsupported(child)));
    found
}

#[cfg(test)]
mod tests;
