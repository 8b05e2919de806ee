//! Kinds that are only asked: who am I, whose token is this, may I.

use serde_json::Value;

use crate::{
    answer::Answer,
    api::Api,
    body::{self, Expected},
    identity::{self, Attributes, User, Whose},
    request::query::FieldValidation,
    status::{Failure, Result},
    verbs::Asking,
};

/// What is asked, and of whom.
pub(crate) async fn review(api: &Api, asking: Asking<'_>) -> Result<Answer> {
    let Asking { plural, user, view, body, .. } = asking;
    let read = |group, kind, schema| {
        let expected = Expected { group, version: "v1", kind, schema };
        body::typed(body, expected, FieldValidation::Warn)
    };
    let (value, warnings) = match plural {
        "selfsubjectreviews" => {
            let schema = "io.k8s.api.authentication.v1.SelfSubjectReview";
            let read = read("authentication.k8s.io", "SelfSubjectReview", schema)?;
            (identity::self_subject_review(user, view.now), read.warnings)
        }
        "tokenreviews" => {
            let schema = "io.k8s.api.authentication.v1.TokenReview";
            let read = read("authentication.k8s.io", "TokenReview", schema)?;
            let review = identity::token_review(&read.value, |token| api.user_of_token(token));
            (review.map_err(Failure::bad_request)?, read.warnings)
        }
        "selfsubjectaccessreviews" => {
            let schema = "io.k8s.api.authorization.v1.SelfSubjectAccessReview";
            let read = read("authorization.k8s.io", "SelfSubjectAccessReview", schema)?;
            (access(api, &read.value, Whose::Own(user), "SelfSubjectAccessReview")?, read.warnings)
        }
        "subjectaccessreviews" => {
            let schema = "io.k8s.api.authorization.v1.SubjectAccessReview";
            let read = read("authorization.k8s.io", "SubjectAccessReview", schema)?;
            (access(api, &read.value, Whose::Named, "SubjectAccessReview")?, read.warnings)
        }
        "selfsubjectrulesreviews" => {
            let schema = "io.k8s.api.authorization.v1.SelfSubjectRulesReview";
            let read = read("authorization.k8s.io", "SelfSubjectRulesReview", schema)?;
            let review = identity::rules_review(&read.value, user, api.allows_all(user));
            let review = review.map_err(|problem| Failure::bad_request(problem.to_string()))?;
            (review, read.warnings)
        }
        _ => return Err(Failure::unknown_resource()),
    };
    Ok(Answer::value(201, &value, view.form).with_warnings(warnings))
}

fn access(api: &Api, review: &Value, whose: Whose<'_>, kind: &str) -> Result<Value> {
    let may = |user: &User, attributes: &Attributes<'_>| api.authorize(user, attributes).is_ok();
    identity::access_review(review, whose, may)
        .map_err(|errors| Failure::invalid_as("authorization.k8s.io", kind, "", &errors))
}
