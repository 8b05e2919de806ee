//! The checks of levels that Kubernetes declares on the types: which members a type has. They are
//! also made where the type is unknown.

use super::Errors;
use crate::dialect::kubernetes::object::{LimitResponse, PriorityLevelSpec};

pub(super) fn spec(spec: &PriorityLevelSpec, errors: &mut Errors) {
    let first = errors.0.len();
    if spec.exempt.is_some() && spec.r#type != "Exempt" {
        errors.forbidden("spec.exempt", "must be nil if the type is not Exempt");
    }
    match (spec.r#type.as_str(), &spec.limited) {
        ("Limited", None) => {
            errors.required("spec.limited", "must not be empty when type is Limited");
        }
        ("Limited", Some(_)) | (_, None) => {}
        (_, Some(_)) => errors.forbidden("spec.limited", "must be nil if the type is not Limited"),
    }
    if spec.r#type.is_empty() {
        errors.required("spec.type", "must be Exempt or Limited");
    }
    if let Some(limited) = &spec.limited {
        response(&limited.limit_response, errors);
    }
    errors.declared_from(first);
}

fn response(response: &LimitResponse, errors: &mut Errors) {
    const FIELD: &str = "spec.limited.limitResponse";
    match (response.r#type.as_str(), &response.queuing) {
        ("Queue", None) => {
            errors.required(format!("{FIELD}.queuing"), "must not be empty if the type is Queue");
        }
        ("Queue", Some(_)) | (_, None) => {}
        (_, Some(_)) => {
            errors.forbidden(format!("{FIELD}.queuing"), "must be nil if the type is not Queue");
        }
    }
    if response.r#type.is_empty() {
        errors.required(format!("{FIELD}.type"), "must be Queue or Reject");
    }
}
