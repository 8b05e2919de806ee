//! The schema of a version: where its checks begin, and a walk over all schemas in it.

use evenkeel_structural::{self as structural, Schema, Tolerance};
use serde_json::Value;

use super::go_form;
use crate::{
    custom::field_error,
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::read::{at, list, text},
};

/// What the checks of a schema depend on beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaContext<'a> {
    /// The version has a status subresource.
    pub(crate) has_status: bool,
    /// The definition before an update. What it violated already is not required.
    pub(crate) old: Option<&'a Value>,
    /// An update leaves the schema of this version as it was.
    pub(crate) is_unchanged: bool,
}

/// Go's names of the fields that may stand beside a status subresource, whose schema is taken out
/// of the properties.
const BESIDE_STATUS: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// The errors of a schema with its wrapper (`{"openAPIV3Schema": …}`) at this path.
pub(super) fn validate(validation: &Value, path: &Path, context: SchemaContext<'_>) -> Errors {
    let schema = at(validation, &["openAPIV3Schema"]);
    if schema.is_null() {
        return Errors::new();
    }
    let mut errors: Errors =
        root(schema, path).filter(|_| context.has_status).into_iter().collect();
    errors.extend(check_schema(schema, &path.child("openAPIV3Schema"), context));
    errors
}

/// The errors of the schema itself and of all schemas in it: that it is structural, its defaults,
/// patterns and rules.
fn check_schema(schema: &Value, path: &Path, context: SchemaContext<'_>) -> Errors {
    // It was checked when it was written, perhaps by a version with other limits.
    if context.is_unchanged {
        return Errors::new();
    }
    let parsed = match Schema::parse(schema) {
        Ok(parsed) => parsed,
        Err(problem) => {
            let type_ = FieldErrorType::Invalid(String::new());
            return vec![FieldError { path: path.clone(), type_, detail: problem.to_string() }];
        }
    };
    let at = structural::Path::root(path.as_str());
    let tolerance = context.old.map(tolerated).unwrap_or_default();
    let errors = structural::check_definition(&parsed, &at, tolerance);
    errors.into_iter().map(field_error).collect()
}

/// What the stored definition violates already.
fn tolerated(old: &Value) -> Tolerance {
    let versions = list(old, &["spec", "versions"]).iter();
    let schemas = versions
        .filter_map(|version| Schema::parse(at(version, &["schema", "openAPIV3Schema"])).ok());
    Tolerance::of(&schemas.collect::<Vec<_>>())
}

/// The first field that may not be at the root beside a status subresource.
fn root(schema: &Value, path: &Path) -> Option<FieldError> {
    for field in go_form::fields_set(schema) {
        if field == "Type" && text(schema, &["type"]) != "object" {
            let words = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            let path = path.child("openAPIV3Schema.type");
            return Some(FieldError::invalid(path, at(schema, &["type"]), words));
        }
        if !BESIDE_STATUS.contains(&field) {
            let allowed = BESIDE_STATUS.join(" ");
            let detail = format!(
                "only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            );
            let type_ = FieldErrorType::Invalid(go_form::schema(schema));
            return Some(FieldError { path: path.child("openAPIV3Schema"), type_, detail });
        }
    }
    None
}

/// All schemas of a definition, each before those in it. Linear; without recursion.
pub(super) fn all(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = list(definition, &["spec", "versions"]);
    let roots = versions.iter().rev().map(|version| at(version, &["schema", "openAPIV3Schema"]));
    let mut open: Vec<&Value> = roots.filter(|schema| schema.is_object()).collect();
    std::iter::from_fn(move || {
        let schema = open.pop()?;
        let from = open.len();
        inside(schema, &mut open);
        open[from..].reverse();
        Some(schema)
    })
}

/// The schemas directly in a schema, in Kubernetes' order.
fn inside<'a>(schema: &'a Value, into: &mut Vec<&'a Value>) {
    let is_schema = |value: &&'a Value| value.is_object();
    const IN_ORDER: [&str; 11] = [
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "properties",
        "additionalProperties",
        "patternProperties",
        "additionalItems",
        "definitions",
        "dependencies",
    ];
    for name in IN_ORDER {
        let value = at(schema, &[name]);
        let is_map =
            matches!(name, "properties" | "patternProperties" | "definitions" | "dependencies");
        match value {
            Value::Object(members) if is_map => into.extend(members.values().filter(is_schema)),
            Value::Array(schemas) => into.extend(schemas.iter().filter(is_schema)),
            value => into.extend(Some(value).filter(is_schema)),
        }
    }
}
