//! `create`: a new object.

use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    body,
    kinds::{
        Kind,
        read::{entry, text},
    },
    registry::Created,
    status::{Failure, Result},
};

pub(crate) async fn create(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = call.query.write_options("CreateOptions")?;
    let read = body::object(call.body(), kind, options.field_validation)?;
    let value = placed(read.value, kind, call.namespace())?;
    let mut warnings = read.warnings;
    let registry = call.registry(api, options.dry_run);
    let created = registry.create(kind, call.namespace(), value, &mut warnings).await;
    let answer = match created {
        Ok(Created::Stored(object)) => answer::object(201, kind, &object, call.view),
        Ok(Created::Dry(value)) => answer::shown(201, kind, value, call.view),
        Err(error) => return Err(Failure::from(error).with_warnings(warnings)),
    };
    Ok(answer.with_warnings(warnings))
}

/// The namespace of the path, which must match that of the body.
pub(crate) fn placed(mut value: Value, kind: &Kind, namespace: Option<&str>) -> Result<Value> {
    if value["metadata"].is_null() {
        value["metadata"] = json!({});
    }
    let Some(namespace) = namespace.filter(|_| kind.namespaced) else {
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(value);
    };
    placed_in(value, namespace)
}

/// The same for reviews, which are not kinds.
pub(crate) fn placed_in(mut value: Value, namespace: &str) -> Result<Value> {
    let given = text(&value, &["metadata", "namespace"]);
    if !given.is_empty() && given != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the \
             request",
        ));
    }
    *entry(&mut value, &["metadata", "namespace"]) = namespace.into();
    Ok(value)
}
