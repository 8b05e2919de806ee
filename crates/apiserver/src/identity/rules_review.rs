//! SelfSubjectRulesReview: everything a user may do, `kubectl auth can-i --list`.

use serde_json::{Value, json};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_needs_a_namespace() {
        let problem = rules_review(&json!({"spec": {}}), |_| Value::Null).unwrap_err();
        assert_eq!(problem.to_string(), "no namespace on request");
    }

    #[test]
    fn the_status_is_that_of_the_namespace() {
        let review = json!({"spec": {"namespace": "demo"}});
        let review = rules_review(&review, |namespace| json!({"of": namespace})).unwrap();
        assert_eq!(review["status"], json!({"of": "demo"}));
        assert_eq!(review["spec"], json!({}));
    }
}
