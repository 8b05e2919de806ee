//! The responses of TokenReview and SelfSubjectReview.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{User, tokens::bearer, user_info};
use crate::kinds::read::list;

/// The user of a token for one of the asked audiences, and those of them that it is for; or what is
/// wrong with it.
type Reviewed = Result<(Arc<User>, Vec<String>), String>;

/// The review with its status, or the message of a 400. `audiences` are those of this server.
pub(crate) fn token_review(
    review: &Value,
    audiences: &[String],
    reviewed: impl Fn(&str, &[String]) -> Reviewed,
) -> Result<Value, &'static str> {
    let spec = &review["spec"];
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err("token is required for TokenReview in authentication");
    }
    let asked = list(spec, &["audiences"]).iter();
    let asked: Vec<String> = asked.filter_map(|one| one.as_str().map(str::to_owned)).collect();
    let asked = if asked.is_empty() { audiences } else { &asked };
    let header = format!("Bearer {token}");
    let status = match bearer(&header).map(|token| reviewed(token, asked)) {
        Some(Ok((user, audiences))) => {
            json!({"authenticated": true, "audiences": audiences, "user": user_info(&user)})
        }
        Some(Err(problem)) => json!({"error": problem, "user": {}}),
        // A blank token is not even tried.
        None => json!({"user": {}}),
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

    const AUDIENCE: &str = "https://kubernetes.default.svc";

    // Recorded from Kubernetes: scenario `auth.tokenreview`.
    #[test]
    fn a_token_review_returns_the_user() {
        let tokens = Tokens::read("admintoken,admin,admin,system:masters\n").unwrap();
        let own = [AUDIENCE.to_owned()];
        let user = |token: &str, asked: &[String]| match tokens.user(token) {
            Some(user) if asked.contains(&own[0]) => Ok((user, own.to_vec())),
            _ => Err("invalid bearer token".to_owned()),
        };
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
            let answer = token_review(&json!({"spec": spec}), &own, user).unwrap();
            let expected = json!({
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "metadata": {},
                "spec": spec,
                "status": status,
            });
            assert_eq!(answer, expected);
        }
        let wrong = token_review(&json!({"spec": {}}), &own, user);
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
