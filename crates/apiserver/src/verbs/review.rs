//! Reviews: who am I, whose token is this, am I allowed.

use serde_json::Value;

use crate::{
    answer::Answer,
    api::Api,
    body::{self, Expected},
    identity::{self, Attributes, Subject, User},
    kinds::read::text,
    negotiate::{ResponseFormat, Shape},
    request::query::FieldValidation,
    status::{Failure, Result},
    table, tokens,
    verbs::{ReviewRequest, create::placed_in},
};

/// Handles a review.
pub(crate) async fn review(api: &Api, request: ReviewRequest<'_>) -> Result<Answer> {
    let ReviewRequest { plural, namespace, user, view, body } = request;
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
            let reviewed = |token: &str, asked: &[String]| tokens::reviewed(api, token, asked);
            let review = identity::token_review(&read.value, api.accounts.audiences(), reviewed);
            (review.map_err(Failure::bad_request)?, read.warnings)
        }
        "selfsubjectaccessreviews" => {
            let schema = "io.k8s.api.authorization.v1.SelfSubjectAccessReview";
            let read = read("authorization.k8s.io", "SelfSubjectAccessReview", schema)?;
            (access(api, &read.value, Subject::Own(user))?, read.warnings)
        }
        "subjectaccessreviews" => {
            let schema = "io.k8s.api.authorization.v1.SubjectAccessReview";
            let read = read("authorization.k8s.io", "SubjectAccessReview", schema)?;
            (access(api, &read.value, Subject::Named)?, read.warnings)
        }
        "localsubjectaccessreviews" => {
            let schema = "io.k8s.api.authorization.v1.LocalSubjectAccessReview";
            let read = read("authorization.k8s.io", "LocalSubjectAccessReview", schema)?;
            let namespace = namespace.unwrap_or_default();
            let review = placed_in(read.value, namespace)?;
            (access(api, &review, Subject::NamedIn(namespace))?, read.warnings)
        }
        "selfsubjectrulesreviews" => {
            let schema = "io.k8s.api.authorization.v1.SelfSubjectRulesReview";
            let read = read("authorization.k8s.io", "SelfSubjectRulesReview", schema)?;
            let rules = |namespace: &str| api.authorizer.rules(&api.storage, user, namespace);
            let review = identity::rules_review(&read.value, rules);
            let review = review.map_err(|problem| Failure::bad_request(problem.to_string()))?;
            (review, read.warnings)
        }
        _ => return Err(Failure::unknown_resource()),
    };
    Ok(shown(&value, view.format)?.with_warnings(warnings))
}

/// Whole, or metadata only.
pub(crate) fn shown(value: &Value, format: ResponseFormat) -> Result<Answer> {
    match format.shape {
        Shape::Object | Shape::Table(_) => Ok(Answer::value(201, value, format)),
        Shape::Partial(version) => Ok(Answer::value(201, &table::partial(value, version), format)),
        Shape::PartialList(_) => {
            let group = text(value, &["apiVersion"]).split('/').next().unwrap_or_default();
            let of = format!("*{}.{}", body::internal(group), text(value, &["kind"]));
            Err(Failure::not_a_list(&of))
        }
    }
}

fn access(api: &Api, review: &Value, whose: Subject<'_>) -> Result<Value> {
    let may =
        |user: &User, asked: &Attributes<'_>| api.authorizer.decide(&api.storage, user, asked);
    // Kubernetes names no kind there.
    identity::access_review(review, whose, may)
        .map_err(|errors| Failure::invalid_as("authorization.k8s.io", "", "", &errors))
}
