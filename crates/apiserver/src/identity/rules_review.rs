//! SelfSubjectRulesReview: everything a user may do, `kubectl auth can-i --list`.
//!
//! The rules express in Kubernetes' format what `authorize` decides.

use serde_json::{Value, json};

use super::{AUTHENTICATED, User};

/// Rules are requested for a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no namespace on request")]
pub(crate) struct NoNamespace;

/// The review with its status. Its spec is not returned, as in Kubernetes.
pub(crate) fn rules_review(
    review: &Value,
    user: &User,
    may_all: bool,
) -> Result<Value, NoNamespace> {
    if review["spec"]["namespace"].as_str().unwrap_or_default().is_empty() {
        return Err(NoNamespace);
    }
    let (on_resources, on_paths) = rules(user, may_all);
    Ok(json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        "spec": {},
        "status": {"resourceRules": on_resources, "nonResourceRules": on_paths, "incomplete": false},
    }))
}

/// Rules on resources, and on paths.
fn rules(user: &User, may_all: bool) -> (Value, Value) {
    if may_all {
        return (
            json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]),
            json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]),
        );
    }
    let public = json!({
        "verbs": ["get"],
        "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"],
    });
    if !user.is_in(AUTHENTICATED) {
        return (json!([]), json!([public]));
    }
    let discovery = json!({
        "verbs": ["get"],
        "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"],
    });
    let create = |group: &str, resources: &[&str]| json!({"verbs": ["create"], "apiGroups": [group], "resources": resources});
    (
        json!([
            create("authentication.k8s.io", &["selfsubjectreviews"]),
            create(
                "authorization.k8s.io",
                &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
            ),
        ]),
        json!([discovery, public]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_needs_a_namespace() {
        let problem = rules_review(&json!({"spec": {}}), &User::default(), true).unwrap_err();
        assert_eq!(problem.to_string(), "no namespace on request");
    }

    #[test]
    fn who_may_do_all_has_two_rules() {
        let review = json!({"spec": {"namespace": "demo"}});
        let review = rules_review(&review, &User::default(), true).unwrap();
        let expected = json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        });
        assert_eq!(review["status"], expected);
    }
}
