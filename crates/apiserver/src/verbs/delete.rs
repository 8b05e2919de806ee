//! `delete`: one object.

use evenkeel_store::{NewObject, Object, Outcome};
use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    body::{self, not_registered},
    document,
    invalid::{FieldError, Path},
    kinds::{DeleteAnswers, Kind, read::text},
    lifecycle::{self, Deletion, Propagation},
    request::query::{check_dry_run, refuse},
    status::{self, Failure, Result},
    storage::Next,
    verbs::{admit::at_revision, update::TRIES},
};
use jiff::Timestamp;

pub(crate) use crate::lifecycle::DeleteOptions;

/// Namespaces that can't be deleted.
const KEPT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The result of a delete.
#[derive(Debug)]
pub(crate) struct Removed {
    /// In the stored kind's form.
    pub(crate) value: Value,
    /// It is removed, not just marked.
    pub(crate) gone: bool,
}

pub(crate) async fn delete(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = options(call)?;
    let name = &call.resource.name;
    if kind.has_finalize() && KEPT.contains(&name.as_str()) {
        return Err(Failure::forbidden(kind, name, "this namespace may not be deleted"));
    }
    let removed = remove(api, kind.stored_kind(), &call.key(name), &options, call.now()).await?;
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

/// Deletes or marks the object at a key; retries on conflicts.
pub(crate) async fn remove(
    api: &Api,
    kind: &Kind,
    key: &str,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<Removed> {
    let name = key.rsplit('/').next().unwrap_or_default();
    for _ in 0..TRIES {
        let object = api.storage.object(kind, key);
        let object = object.ok_or_else(|| Failure::not_found(kind, name))?;
        if let Some(removed) = attempt(api, kind, &object, options, now).await? {
            return Ok(removed);
        }
    }
    Err(Failure::modified(kind, name))
}

/// `None`: a conflict.
async fn attempt(
    api: &Api,
    kind: &Kind,
    object: &Object,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<Option<Removed>> {
    let present = document::value(kind, object)?;
    let deletion = lifecycle::decide(kind, present.clone(), options, now)?;
    let then = |value, gone| Ok(Some(Removed { value, gone }));
    if options.dry_run {
        return match deletion {
            Deletion::Pending => then(present, false),
            Deletion::Mark(marked) => then(marked, false),
            Deletion::MarkThenRemove(marked) => then(marked, true),
            Deletion::Remove => then(present, true),
        };
    }
    let (next, value) = match deletion {
        Deletion::Pending => return then(present, false),
        Deletion::Remove => (Next::Nothing, present),
        Deletion::Mark(marked) => {
            let (new, marked) = encoded(kind, marked);
            (Next::Version(new), marked)
        }
        Deletion::MarkThenRemove(marked) => {
            let (new, marked) = encoded(kind, marked);
            (Next::NothingAfter(new), marked)
        }
    };
    match api.storage.write(kind, &object.key, Some(object), next, None).await? {
        Ok(Outcome::Written(written) | Outcome::Unchanged(written)) => {
            then(at_revision(value, written.revision), false)
        }
        Ok(Outcome::Deleted(_, revision)) => then(at_revision(value, revision), true),
        Err(_) => Ok(None),
    }
}

fn encoded(kind: &Kind, mut marked: Value) -> (NewObject, Value) {
    document::canonical(kind, &mut marked);
    (document::stored(kind, &marked), marked)
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
