//! The approval of APIs in groups of the Kubernetes community: an annotation says where it was
//! given, or that it was not. Source: `pkg/apihelpers/helpers.go`.

use serde_json::Value;

use super::url;
use crate::{
    invalid::{Errors, FieldError, Path, quoted},
    kinds::read::{at, text},
};

pub(crate) const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Invalid,
    Approved,
    /// It starts with `unapproved`.
    Bypassed,
    Missing,
}

/// Whether a group needs approval.
pub(crate) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let rest = group.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// The approval of a definition, and in words why.
pub(crate) fn of(definition: &Value) -> (Approval, String) {
    let given = text(definition, &["metadata", "annotations", ANNOTATION]);
    let must = || format!("protected groups must have approval annotation {ANNOTATION:?}");
    if given.is_empty() {
        return (Approval::Missing, format!("{}, {SEE}", must()));
    }
    if given.starts_with("unapproved") {
        return (Approval::Bypassed, format!("not approved: {}", quoted(given)));
    }
    match url::parse(given) {
        Some(url) if !url.host.is_empty() && !url.scheme.is_empty() => {
            (Approval::Approved, format!("approved in {given}"))
        }
        _ => {
            let form = "with either a URL or a reason starting with \"unapproved\"";
            (Approval::Invalid, format!("{} {form}, {SEE}", must()))
        }
    }
}

/// A definition in a protected group must say something about its approval, unless it has not
/// before.
pub(super) fn validate(new: &Value, old: Option<&Value>) -> Errors {
    if !is_protected(text(new, &["spec", "group"])) {
        return Errors::new();
    }
    let (approval, words) = of(new);
    if old.is_some_and(|old| of(old).0 == approval) {
        return Errors::new();
    }
    let path = Path::root("metadata").child("annotations").key(ANNOTATION);
    match approval {
        Approval::Invalid => {
            let given = at(new, &["metadata", "annotations", ANNOTATION]);
            vec![FieldError::invalid(path, given, words)]
        }
        Approval::Missing => vec![FieldError::required(path, words)],
        Approval::Approved | Approval::Bypassed => Errors::new(),
    }
}
