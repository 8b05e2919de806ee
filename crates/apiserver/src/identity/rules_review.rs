//! SelfSubjectRulesReview: everything a user may do, `kubectl auth can-i --list`.

use serde_json::{Value, json};

use super::{AUTHENTICATED, User};
use crate::kinds::read::text;

/// Rules are requested for a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no namespace on request")]
pub(crate) struct NoNamespace;

/// The review with its status. Its spec and metadata are not returned, as in Kubernetes. `rules`
/// returns the status for a namespace: `resourceRules`, `nonResourceRules`, `incomplete` and, if
/// there is one, `evaluationError`.
pub(crate) fn rules_review(
    review: &Value,
    rules: impl FnOnce(&str) -> Value,
) -> Result<Value, NoNamespace> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(NoNamespace);
    }
    Ok(json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        "spec": {},
        "status": rules(namespace),
    }))
}

/// The rules by which `authorize` decides.
pub(crate) fn rules_without_roles(user: &User, may_all: bool) -> Value {
    let (on_resources, on_paths) = rules(user, may_all);
    json!({"resourceRules": on_resources, "nonResourceRules": on_paths, "incomplete": false})
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
    use crate::identity::{Attributes, On, authorize};

    fn strings(list: &Value) -> impl Iterator<Item = &str> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
    }

    #[test]
    fn a_review_needs_a_namespace() {
        let problem = rules_review(&json!({"spec": {}}), |_| Value::Null).unwrap_err();
        assert_eq!(problem.to_string(), "no namespace on request");
    }

    #[test]
    fn who_may_do_all_has_two_rules() {
        let review = json!({"spec": {"namespace": "demo"}});
        let rules = |namespace: &str| {
            assert_eq!(namespace, "demo");
            rules_without_roles(&User::default(), true)
        };
        let review = rules_review(&review, rules).unwrap();
        let expected = json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        });
        assert_eq!(review["status"], expected);
    }

    #[test]
    fn every_rule_is_one_that_requests_are_judged_by() {
        for user in [User::anonymous(), User::default().authenticated()] {
            let (on_resources, on_paths) = rules(&user, false);
            for rule in on_paths.as_array().unwrap() {
                for path in strings(&rule["nonResourceURLs"]) {
                    let path = path.replace('*', "x");
                    let on = On::Path(&path);
                    let asked = Attributes { verb: "get", on, field_selector: "" };
                    assert_eq!(authorize(&user, &asked), Ok(()));
                }
            }
            for rule in on_resources.as_array().unwrap() {
                let group = rule["apiGroups"][0].as_str().unwrap();
                for resource in strings(&rule["resources"]) {
                    let (subresource, namespace, name) = ("", "", "");
                    let on = On::Resource { group, resource, subresource, namespace, name };
                    let asked = Attributes { verb: "create", on, field_selector: "" };
                    assert_eq!(authorize(&user, &asked), Ok(()));
                }
            }
        }
    }
}
