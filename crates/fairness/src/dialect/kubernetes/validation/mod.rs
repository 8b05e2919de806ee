//! Kubernetes' validation, with its errors: the path of the field and the type of the error.
//! The words are ours.

mod level;
mod names;
mod schema;

use std::fmt;

use super::{
    defaults,
    object::{FlowSchema, Metadata, PriorityLevelConfiguration},
};

/// What is wrong with one field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    pub field: String,
    pub kind: FieldErrorKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FieldErrorKind {
    Invalid,
    Required,
    NotSupported,
    Forbidden,
}

/// The errors of a schema, by field. Expects defaults to be filled in.
pub fn validate_flow_schema(schema: &FlowSchema) -> Vec<FieldError> {
    let mut errors = Errors::default();
    metadata(&schema.metadata, &mut errors);
    schema::spec(&schema.metadata.name, &schema.spec, &mut errors);
    if let Some(mandatory) = defaults::mandatory_schema(&schema.metadata.name)
        && schema.spec.normalized() != mandatory.spec.normalized()
    {
        errors.invalid("spec", "the spec of this schema is fixed");
    }
    errors.by_field()
}

/// The errors of a level, by field. Expects defaults to be filled in.
pub fn validate_priority_level(level: &PriorityLevelConfiguration) -> Vec<FieldError> {
    let mut errors = Errors::default();
    metadata(&level.metadata, &mut errors);
    if level.metadata.annotations.contains_key(PRESERVE_ZERO) {
        errors.forbidden("metadata.annotations", "has an annotation of v1beta3");
    }
    level::spec(&level.metadata.name, &level.spec, &mut errors);
    if let Some(mandatory) = defaults::mandatory_level(&level.metadata.name) {
        let mut spec = level.spec.clone();
        if level.metadata.name == defaults::EXEMPT {
            spec.exempt.clone_from(&mandatory.spec.exempt);
        }
        if spec != mandatory.spec {
            errors.invalid("spec", "the spec of this level is fixed");
        }
    }
    errors.by_field()
}

const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

fn metadata(metadata: &Metadata, errors: &mut Errors) {
    if metadata.name.is_empty() {
        errors.required("metadata.name", "an object needs a name");
    } else {
        names::subdomain("metadata.name", &metadata.name, errors);
    }
    if metadata.generation < 0 {
        errors.invalid("metadata.generation", "must not be negative");
    }
    if !metadata.namespace.is_empty() {
        errors.forbidden("metadata.namespace", "objects of this kind are in no namespace");
    }
}

#[derive(Debug, Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn invalid(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(field, FieldErrorKind::Invalid, detail);
    }

    fn required(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(field, FieldErrorKind::Required, detail);
    }

    fn forbidden(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.add(field, FieldErrorKind::Forbidden, detail);
    }

    fn not_supported(&mut self, field: impl Into<String>, supported: &[&str]) {
        let detail = format!("must be one of {}", supported.join(", "));
        self.add(field, FieldErrorKind::NotSupported, detail);
    }

    fn add(&mut self, field: impl Into<String>, kind: FieldErrorKind, detail: impl Into<String>) {
        self.0.push(FieldError { field: field.into(), kind, detail: detail.into() });
    }

    fn by_field(mut self) -> Vec<FieldError> {
        self.0.sort_by(|a, b| a.field.cmp(&b.field));
        self.0
    }
}

impl FieldErrorKind {
    /// As in the causes of an API status.
    pub fn code(self) -> &'static str {
        match self {
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
        }
    }
}

impl fmt::Display for FieldErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldErrorKind::Invalid => "invalid",
            FieldErrorKind::Required => "required",
            FieldErrorKind::NotSupported => "not supported",
            FieldErrorKind::Forbidden => "forbidden",
        })
    }
}
