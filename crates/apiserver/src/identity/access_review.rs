//! SelfSubjectAccessReview, SubjectAccessReview and LocalSubjectAccessReview: is a user allowed to
//! do something?

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Attributes, On, User};
use crate::invalid::{Errors, FieldError, Path};

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

/// The review with its status, or its error. `may` is the authorizer.
pub(crate) fn access_review(
    review: &Value,
    subject: Subject<'_>,
    may: impl FnOnce(&User, &Attributes<'_>) -> bool,
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
    Ok(json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": subject.kind(),
        "metadata": metadata,
        "spec": spec,
        "status": {"allowed": may(user, &attributes(spec))},
    }))
}

fn validate(review: &Value, subject: Subject<'_>) -> Errors {
    let (spec, at) = (&review["spec"], Path::root("spec"));
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Errors::new();
    // Kubernetes prints its internal type, whose fields have different names.
    let shown = match other.is_object() {
        true => json!({"Path": text(other, "path"), "Verb": text(other, "verb")}),
        false => Value::Null,
    };
    if resource.is_object() == other.is_object() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(at.clone(), &shown, detail));
    }
    let is_nobody = text(spec, "user").is_empty() && strings(&spec["groups"]).is_empty();
    if !matches!(subject, Subject::Own(_)) && is_nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(at.child("user"), &json!(""), detail));
    }
    for name in ["fieldSelector", "labelSelector"] {
        let at = at.child("resourceAttributes").child(name);
        errors.extend(validate_selector(&resource[name], &at));
    }
    errors.extend(validate_metadata(&review["metadata"], subject));
    if let Subject::NamedIn(namespace) = subject {
        let given = text(resource, "namespace");
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
    let (allowed, detail) = match subject {
        Subject::NamedIn(_) => ("namespace", "must be empty except for namespace"),
        Subject::Own(_) | Subject::Named => ("", "must be empty"),
    };
    let is_set = metadata.as_object().is_some_and(|metadata| {
        metadata.keys().any(|key| key != "managedFields" && key != allowed)
    });
    is_set.then(|| FieldError::invalid(Path::root("metadata"), metadata, detail))
}

fn validate_selector(selector: &Value, at: &Path) -> Option<FieldError> {
    let raw = text(selector, "rawSelector");
    let has_requirements = selector["requirements"].as_array().is_some_and(|list| !list.is_empty());
    match (selector.is_object(), raw.is_empty(), has_requirements) {
        (true, false, true) => {
            let detail = "may not specified at the same time as requirements";
            Some(FieldError::invalid(at.child("rawSelector"), &json!(raw), detail))
        }
        (true, true, false) => {
            let at_text = at.as_str();
            let detail =
                format!("when {at_text} is specified, requirements or rawSelector is required");
            Some(FieldError::required(at.child("requirements"), detail))
        }
        _ => None,
    }
}

fn user_of(spec: &Value) -> User {
    let extra: BTreeMap<String, Vec<String>> = match spec["extra"].as_object() {
        Some(extra) => extra.iter().map(|(key, values)| (key.clone(), strings(values))).collect(),
        None => BTreeMap::new(),
    };
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: strings(&spec["groups"]),
        extra,
    }
}

fn attributes(spec: &Value) -> Attributes<'_> {
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if other.is_object() {
        return Attributes {
            verb: text(other, "verb"),
            on: On::Path(text(other, "path")),
            field_selector: "",
        };
    }
    let on = On::Resource {
        group: text(resource, "group"),
        resource: text(resource, "resource"),
        subresource: text(resource, "subresource"),
        namespace: text(resource, "namespace"),
        name: text(resource, "name"),
    };
    Attributes { verb: text(resource, "verb"), on, field_selector: "" }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(spec: &Value, subject: Subject<'_>) -> Vec<String> {
        let errors = access_review(&json!({"spec": spec}), subject, |_, _| true).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    // Recorded from Kubernetes: scenario `auth.access-review-default`.
    #[test]
    fn wrong_reviews_are_refused_in_the_words_of_kubernetes() {
        let user = User::anonymous();
        let both = json!({
            "resourceAttributes": {"verb": "get", "resource": "pods"},
            "nonResourceAttributes": {"verb": "get", "path": "/x"},
        });
        let end = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let expected = format!("spec: Invalid value: null: {end}");
        assert_eq!(messages(&json!({}), Subject::Own(&user)), [expected]);
        let expected = format!(r#"spec: Invalid value: {{"Path":"/x","Verb":"get"}}: {end}"#);
        assert_eq!(messages(&both, Subject::Own(&user)), [expected]);
        let nobody = json!({"resourceAttributes": {"verb": "list", "resource": "secrets"}});
        let expected =
            r#"spec.user: Invalid value: "": at least one of user or group must be specified"#;
        assert_eq!(messages(&nobody, Subject::Named), [expected]);
    }

    #[test]
    fn a_local_review_is_about_its_namespace() {
        let spec = |namespace: &str| json!({"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace}});
        let subject = Subject::NamedIn("a");
        let review = json!({"metadata": {"namespace": "a"}, "spec": spec("a")});
        let answer = access_review(&review, subject, |user, _| user.name == "bob").unwrap();
        let expected = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": "a"},
            "spec": spec("a"),
            "status": {"allowed": true},
        });
        assert_eq!(answer, expected);
        assert_eq!(
            messages(&spec("b"), subject),
            [
                r#"spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace"#
            ]
        );
        let path = json!({"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/x"}});
        assert_eq!(
            messages(&path, subject),
            [
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request"#
            ]
        );
    }
}
