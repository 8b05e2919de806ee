//! SelfSubjectAccessReview, SubjectAccessReview and LocalSubjectAccessReview: is a user allowed to
//! do something?
//!
//! Sources: `pkg/apis/authorization/validation` and `pkg/registry/authorization` of Kubernetes.

mod selector;

use std::collections::BTreeMap;

use evenkeel_store::schema;
use serde_json::{Map, Value, json};

use super::{Attributes, Decision, On, User};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::read::{list, text},
    types,
};

const PACKAGE: &str = "io.k8s.api.authorization.v1";

/// The subject of the review.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The requesting user: SelfSubjectAccessReview.
    Own(&'a User),
    /// The user in the spec: SubjectAccessReview.
    Named,
    /// The user in the spec, in one namespace: LocalSubjectAccessReview.
    NamedIn(&'a str),
}

impl Subject<'_> {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Subject::Own(_) => "SelfSubjectAccessReview",
            Subject::Named => "SubjectAccessReview",
            Subject::NamedIn(_) => "LocalSubjectAccessReview",
        }
    }
}

/// The review with its status, or its errors. `may` is the authorizer.
pub(crate) fn access_review(
    review: &Value,
    subject: Subject<'_>,
    may: impl FnOnce(&User, &Attributes<'_>) -> Decision,
) -> Result<Value, Errors> {
    let errors = validate(review, subject);
    if !errors.is_empty() {
        return Err(errors);
    }
    let spec = &review["spec"];
    let named;
    let user = match subject {
        Subject::Own(user) => user,
        Subject::Named | Subject::NamedIn(_) => {
            named = user_of(spec);
            &named
        }
    };
    let metadata = match subject {
        Subject::NamedIn(namespace) => json!({"namespace": namespace}),
        Subject::Own(_) | Subject::Named => json!({}),
    };
    let resource = &spec["resourceAttributes"];
    let fields = selector::fields(&resource["fieldSelector"]);
    let decision = may(user, &attributes(spec, &fields.text));
    let labels = selector::labels_ignored(&resource["labelSelector"]);
    let ignored = [("fieldSelector", fields.ignored), ("labelSelector", labels)];
    let mut answer = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": subject.kind(),
        "metadata": metadata,
        "spec": spec,
        "status": status(&decision, &selector::evaluation_error(&ignored)),
    });
    if let Some(of) = types::schema().named(&format!("{PACKAGE}.{}", subject.kind())) {
        schema::canonical(types::schema(), of, &mut answer);
    }
    Ok(answer)
}

fn status(decision: &Decision, evaluation_error: &str) -> Value {
    let mut status = Map::new();
    status.insert("allowed".to_owned(), json!(decision.allowed));
    for (field, text) in
        [("reason", decision.reason.as_str()), ("evaluationError", evaluation_error)]
    {
        if !text.is_empty() {
            status.insert(field.to_owned(), json!(text));
        }
    }
    Value::Object(status)
}

fn validate(review: &Value, subject: Subject<'_>) -> Errors {
    let (spec, at) = (&review["spec"], Path::root("spec"));
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Errors::new();
    // Kubernetes prints its internal type, whose fields have different names.
    let shown = match other.is_object() {
        true => json!({"Path": text(other, &["path"]), "Verb": text(other, &["verb"])}),
        false => Value::Null,
    };
    if resource.is_object() == other.is_object() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(at.clone(), &shown, detail));
    }
    let is_nobody = text(spec, &["user"]).is_empty() && list(spec, &["groups"]).is_empty();
    if !matches!(subject, Subject::Own(_)) && is_nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(at.child("user"), &json!(""), detail));
    }
    errors.extend(selector::validate(resource, &at.child("resourceAttributes")));
    errors.extend(validate_metadata(&review["metadata"], subject));
    if let Subject::NamedIn(namespace) = subject {
        let given = text(resource, &["namespace"]);
        if resource.is_object() && given != namespace {
            let at = at.child("resourceAttributes").child("namespace");
            let detail = "must match metadata.namespace";
            errors.push(FieldError::invalid(at, &json!(given), detail));
        }
        if other.is_object() {
            let detail = "disallowed on this kind of request";
            errors.push(FieldError::invalid(at.child("nonResourceAttributes"), &shown, detail));
        }
    }
    errors
}

fn validate_metadata(metadata: &Value, subject: Subject<'_>) -> Option<FieldError> {
    let detail = match subject {
        Subject::NamedIn(_) => "must be empty except for namespace",
        Subject::Own(_) | Subject::Named => "must be empty",
    };
    // The namespace of a request without one is dropped before, as for every kind.
    let is_ignored = |key: &String| ["managedFields", "namespace"].contains(&key.as_str());
    let is_set = metadata.as_object().is_some_and(|metadata| !metadata.keys().all(is_ignored));
    is_set.then(|| FieldError::invalid(Path::root("metadata"), metadata, detail))
}

fn user_of(spec: &Value) -> User {
    let extra: BTreeMap<String, Vec<String>> = match spec["extra"].as_object() {
        Some(extra) => extra.iter().map(|(key, values)| (key.clone(), strings(values))).collect(),
        None => BTreeMap::new(),
    };
    User {
        name: text(spec, &["user"]).to_owned(),
        uid: text(spec, &["uid"]).to_owned(),
        groups: strings(&spec["groups"]),
        extra,
    }
}

/// The version is not part of any decision here, so it needs no default.
fn attributes<'a>(spec: &'a Value, field_selector: &'a str) -> Attributes<'a> {
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if other.is_object() {
        let on = On::Path(text(other, &["path"]));
        return Attributes { verb: text(other, &["verb"]), on, field_selector };
    }
    let on = On::Resource {
        group: text(resource, &["group"]),
        resource: text(resource, &["resource"]),
        subresource: text(resource, &["subresource"]),
        namespace: text(resource, &["namespace"]),
        name: text(resource, &["name"]),
    };
    Attributes { verb: text(resource, &["verb"]), on, field_selector }
}

fn strings(values: &Value) -> Vec<String> {
    list(values, &[]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
