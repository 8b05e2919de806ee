//! Reviews and their answers as recorded from a real server.

use evenkeel_authorization::forbidden;
use serde_json::{Value, json};

use super::{super::recorded, *};
use crate::{
    body::{self, Body, Expected},
    kinds::read::entry,
    request::query::FieldValidation,
    status::Failure,
};

/// The status code and body of the answer.
fn answered(recorded: &recorded::Recorded, case: &Value) -> (u64, Value) {
    match reviewed(recorded, case) {
        Ok(review) => (201, review),
        Err(failure) => (failure.code.into(), failure.status()),
    }
}

fn reviewed(recorded: &recorded::Recorded, case: &Value) -> Result<Value, Failure> {
    let kind = text(case, &["review"]);
    let schema = format!("io.k8s.api.authorization.v1.{kind}");
    let group = "authorization.k8s.io";
    let expected = Expected { group, version: "v1", kind, schema: &schema };
    let bytes = case["body"].to_string().into_bytes();
    let body = Body { content_type: "application/json", bytes: &bytes };
    let review = body::typed(body, expected, FieldValidation::Warn)?.value;
    let user = recorded.user(text(case, &["user"]));
    let namespace = text(case, &["namespace"]);
    let (review, subject) = match kind {
        "SelfSubjectAccessReview" => (review, Subject::Own(user)),
        "SubjectAccessReview" => (review, Subject::Named),
        _ => (placed(review, namespace), Subject::NamedIn(namespace)),
    };
    let may = |user: &User, attributes: &Attributes<'_>| match user.is_in("system:nodes") {
        true => of_node(attributes),
        false => recorded.may(user, attributes),
    };
    access_review(&review, subject, may)
        .map_err(|errors| Failure::invalid_as(group, "", "", &errors))
}

/// The namespace of the request is that of the object.
fn placed(mut review: Value, namespace: &str) -> Value {
    *entry(&mut review, &["metadata", "namespace"]) = json!(namespace);
    review
}

/// As the Node authorizer decides about the Pods of node n1.
fn of_node(attributes: &Attributes<'_>) -> Decision {
    let mut terms = attributes.field_selector.split(',');
    let allowed = terms.any(|term| ["spec.nodeName=n1", "spec.nodeName==n1"].contains(&term));
    let reason = "node: can only list/watch pods with spec.nodeName field selector";
    Decision { allowed, reason: if allowed { String::new() } else { reason.to_owned() } }
}

#[test]
fn reviews_are_answered_as_by_kubernetes() {
    let (recorded, cases) = recorded::read(include_str!("recorded.jsonl"));
    // What a request as a whole is refused for is decided elsewhere.
    let elsewhere = |case: &Value| {
        let message = text(case, &["answer", "message"]);
        case["status"] == 403 || message.starts_with("the namespace of the provided object")
    };
    let is_access =
        |case: &&Value| text(case, &["review"]).ends_with("AccessReview") && !elsewhere(case);
    let mut wrong = Vec::new();
    for case in cases.iter().filter(is_access) {
        let (code, answer) = answered(&recorded, case);
        if json!(code) != case["status"] || answer != case["answer"] {
            wrong.push(format!("{case}\n  is answered {code} {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases.iter().filter(is_access).count() > 140);
}

#[test]
fn who_may_not_ask_about_others_is_told_so() {
    let (recorded, cases) = recorded::read(include_str!("recorded.jsonl"));
    let refused: Vec<&Value> = cases.iter().filter(|case| case["status"] == 403).collect();
    assert_eq!(refused.len(), 2);
    for case in refused {
        let resource = format!("{}s", text(case, &["review"]).to_lowercase());
        let on = On::Resource {
            group: "authorization.k8s.io",
            resource: &resource,
            subresource: "",
            namespace: text(case, &["namespace"]),
            name: "",
        };
        let asked = Attributes { verb: "create", on, field_selector: "" };
        let user = recorded.user(text(case, &["user"]));
        assert!(!recorded.may(user, &asked).allowed);
        assert_eq!(json!(forbidden(user, &asked, "")), case["answer"]["message"]);
    }
}
