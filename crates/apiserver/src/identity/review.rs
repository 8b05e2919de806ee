//! The responses of TokenReview and SelfSubjectReview.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{User, tokens::bearer, user_info};

/// The audience of this server's tokens.
const AUDIENCE: &str = "https://kubernetes.default.svc";

/// The review with its status, or the message of a 400.
pub(crate) fn token_review(
    review: &Value,
    user_of_token: impl Fn(&str) -> Option<Arc<User>>,
) -> Result<Value, &'static str> {
    let spec = &review["spec"];
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err("token is required for TokenReview in authentication");
    }
    let asked = spec["audiences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_for_us = asked.is_empty() || asked.iter().any(|audience| audience == AUDIENCE);
    let header = format!("Bearer {token}");
    let given = bearer(&header);
    let status = match given.filter(|_| is_for_us).and_then(user_of_token) {
        Some(user) => {
            json!({"authenticated": true, "audiences": [AUDIENCE], "user": user_info(&user)})
        }
        // A blank token is not even tried.
        None if given.is_none() => json!({"user": {}}),
        None => json!({"error": "invalid bearer token", "user": {}}),
    };
    Ok(answer("TokenReview", metadata(review), [("spec", spec.clone()), ("status", status)]))
}

/// The user's own attributes.
pub(crate) fn self_subject_review(user: &User, now: Timestamp) -> Value {
    let metadata = json!({"creationTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
    let status = json!({"userInfo": user_info(user)});
    answer("SelfSubjectReview", metadata, [("status", status)])
}

fn metadata(review: &Value) -> Value {
    review.get("metadata").filter(|given| given.is_object()).cloned().unwrap_or_else(|| json!({}))
}

fn answer<const N: usize>(kind: &str, metadata: Value, parts: [(&str, Value); N]) -> Value {
    let mut answer = Map::new();
    answer.insert("apiVersion".to_owned(), json!("authentication.k8s.io/v1"));
    answer.insert("kind".to_owned(), json!(kind));
    answer.insert("metadata".to_owned(), metadata);
    answer.extend(parts.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(answer)
}

#[cfg(test)]
mod tests {
    use super::{super::Tokens, *};

    // Recorded from Kubernetes: scenario `auth.tokenreview`.
    #[test]
    fn a_token_review_returns_the_user() {
        let tokens = Tokens::read("admintoken,admin,admin,system:masters\n").unwrap();
        let user = |token: &str| tokens.user(token);
        let bad = json!({"error": "invalid bearer token", "user": {}});
        let good = json!({
            "audiences": [AUDIENCE],
            "authenticated": true,
            "user": {
                "groups": ["system:masters", "system:authenticated"],
                "uid": "admin",
                "username": "admin",
            },
        });
        let cases = [
            (json!({"token": "admintoken"}), good.clone()),
            (json!({"token": "zzz"}), bad.clone()),
            (json!({"token": "admintoken", "audiences": [AUDIENCE, "x"]}), good),
            (json!({"token": "admintoken", "audiences": ["x"]}), bad),
        ];
        for (spec, status) in cases {
            let answer = token_review(&json!({"spec": spec}), user).unwrap();
            let expected = json!({
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "metadata": {},
                "spec": spec,
                "status": status,
            });
            assert_eq!(answer, expected);
        }
        let wrong = token_review(&json!({"spec": {}}), user);
        assert_eq!(wrong, Err("token is required for TokenReview in authentication"));
    }

    // Recorded from Kubernetes: scenario `auth.whoami`.
    #[test]
    fn a_self_subject_review_leaves_out_what_is_empty() {
        let user = User {
            name: "bob".to_owned(),
            groups: vec!["devs".to_owned()],
            extra: [("reason".to_owned(), vec!["test".to_owned()])].into(),
            ..User::default()
        };
        let expected = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "SelfSubjectReview",
            "metadata": {"creationTimestamp": "2026-08-01T10:00:00Z"},
            "status": {"userInfo": {
                "extra": {"reason": ["test"]}, "groups": ["devs"], "username": "bob",
            }},
        });
        let now: Timestamp = "2026-08-01T10:00:00.5Z".parse().unwrap();
        assert_eq!(self_subject_review(&user, now), expected);
    }
}
