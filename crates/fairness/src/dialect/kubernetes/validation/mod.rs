//! Kubernetes' validation, with its errors in its order and its words.
//!
//! Sources: `pkg/apis/flowcontrol/validation` and the checks generated from the types in
//! `pkg/apis/flowcontrol/v1/zz_generated.validations.go`.

mod declared;
mod errors;
mod level;
mod names;
mod printed;
mod schema;

use self::errors::Errors;
pub use self::errors::{BadValue, FieldError, FieldErrorKind};
use super::{
    defaults,
    object::{FlowSchema, Metadata, PriorityLevelConfiguration},
};

/// The errors of a schema. Expects defaults to be filled in.
pub fn validate_flow_schema(schema: &FlowSchema) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let name = &schema.metadata.name;
    metadata(&schema.metadata, &mut errors);
    schema::spec(name, &schema.spec, &mut errors);
    if let Some(mandatory) = defaults::mandatory_schema(name)
        && !schema.spec.means_the_same(&mandatory.spec)
    {
        let detail = format!("spec of '{name}' must equal the fixed value");
        errors.invalid("spec", printed::flow_schema(&schema.spec), detail);
    }
    errors.0
}

/// The errors of a level. Expects defaults to be filled in.
pub fn validate_priority_level(level: &PriorityLevelConfiguration) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let name = &level.metadata.name;
    metadata(&level.metadata, &mut errors);
    if level.metadata.annotations.contains_key(PRESERVE_ZERO) {
        let detail = format!("annotation '{PRESERVE_ZERO}' is forbidden");
        errors.forbidden("metadata.annotations", detail);
    }
    level::spec(name, &level.spec, &mut errors);
    mandatory_level(level, &mut errors);
    declared::spec(&level.spec, &mut errors);
    errors.0
}

const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// The spec of a mandatory level is fixed, except what the exempt level is given.
fn mandatory_level(level: &PriorityLevelConfiguration, errors: &mut Errors) {
    let name = &level.metadata.name;
    let Some(mandatory) = defaults::mandatory_level(name) else { return };
    let mut spec = level.spec.clone();
    let except = if name == defaults::EXEMPT {
        spec.exempt.clone_from(&mandatory.spec.exempt);
        " except the 'spec.exempt' field"
    } else {
        ""
    };
    if spec != mandatory.spec {
        let detail = format!("spec of '{name}'{except} must equal the fixed value");
        errors.invalid("spec", printed::priority_level(&level.spec), detail);
    }
}

fn metadata(metadata: &Metadata, errors: &mut Errors) {
    if metadata.name.is_empty() {
        errors.required("metadata.name", "name or generateName is required");
    } else {
        names::subdomain("metadata.name", &metadata.name, errors);
    }
    if !metadata.namespace.is_empty() {
        errors.forbidden("metadata.namespace", "not allowed on this type");
    }
    if metadata.generation < 0 {
        let value = BadValue::json(&metadata.generation);
        errors.invalid("metadata.generation", value, "must be greater than or equal to 0");
    }
}
