//! `delete`: one object.

use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    body::{self, not_registered},
    invalid::{FieldError, Path},
    kinds::{DeleteAnswers, read::text},
    registry::{DeleteOptions, Propagation, Removed},
    request::query::{check_dry_run, refuse},
    status::{self, Failure, Result},
};

pub(crate) async fn delete(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let options = options(call)?;
    let key = call.key(&call.resource.name);
    let removed = call.registry(api, options.dry_run).delete(call.kind(), &key, &options).await?;
    Ok(answered(call, &removed))
}

pub(crate) fn answered(call: &Call<'_>, removed: &Removed) -> Answer {
    let kind = call.kind();
    if removed.gone && kind.delete_answers == DeleteAnswers::Status {
        let uid = text(&removed.value, &["metadata", "uid"]);
        let success = status::success(kind, &call.resource.name, uid);
        return Answer::value(200, &success, call.view.format);
    }
    answer::shown(200, kind, kind.presented(removed.value.clone()), call.view)
}

/// From the body, or else from the query.
pub(crate) fn options(call: &Call<'_>) -> Result<DeleteOptions> {
    let given = match call.body.is_empty() {
        true => from_query(call)?,
        false => {
            from_query(call)?;
            let read = read_body(call)?;
            if call.query.has("dryRun") && read["dryRun"].is_null() {
                let mut read = read;
                read["dryRun"] = call.query.all("dryRun").collect::<Vec<_>>().into();
                read
            } else {
                read
            }
        }
    };
    checked(&given)
}

fn from_query(call: &Call<'_>) -> Result<Value> {
    let mut given = json!({});
    if let Some(seconds) = call.query.number("gracePeriodSeconds")? {
        given["gracePeriodSeconds"] = seconds.into();
    }
    if call.query.has("propagationPolicy") {
        given["propagationPolicy"] = call.query.text("propagationPolicy").into();
    }
    if call.query.has("orphanDependents") {
        given["orphanDependents"] = call.query.flag("orphanDependents").into();
    }
    if call.query.has("dryRun") {
        given["dryRun"] = call.query.all("dryRun").collect::<Vec<_>>().into();
    }
    Ok(given)
}

/// Any group's version is accepted, as long as the kind is `DeleteOptions`.
fn read_body(call: &Call<'_>) -> Result<Value> {
    const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
    let schema = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let value = body::of_any_kind(call.body(), schema)?;
    let kind = text(&value, &["kind"]);
    if !matches!(kind, "" | "DeleteOptions") {
        let version = match text(&value, &["apiVersion"]) {
            "" => "meta.k8s.io/v1",
            version => version,
        };
        return Err(Failure::bad_request(not_registered(version, kind, SCHEME)));
    }
    Ok(value)
}

fn checked(given: &Value) -> Result<DeleteOptions> {
    let mut errors = Vec::new();
    let policy = &given["propagationPolicy"];
    let path = || Path::root("propagationPolicy");
    if !given["orphanDependents"].is_null() && !policy.is_null() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(path(), policy, why));
    }
    let mut propagation = match policy.as_str() {
        None => None,
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Background") => Some(Propagation::Background),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(_) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported(path(), policy, &known));
            None
        }
    };
    let dry_run = given["dryRun"].as_array().cloned().unwrap_or_default();
    check_dry_run(&dry_run, &mut errors);
    refuse("DeleteOptions", &errors)?;
    if let Some(orphan) = given["orphanDependents"].as_bool() {
        propagation = Some(if orphan { Propagation::Orphan } else { Propagation::Background });
    }
    let precondition = |name: &str| given["preconditions"][name].as_str().map(str::to_owned);
    Ok(DeleteOptions {
        grace_seconds: given["gracePeriodSeconds"].as_i64(),
        propagation,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        dry_run: !dry_run.is_empty(),
    })
}
