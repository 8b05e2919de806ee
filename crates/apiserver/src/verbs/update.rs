//! `update`: the next version of an object, or, for some kinds, its first.

use serde_json::Value;

use crate::{
    answer::{self, Answer},
    api::{Api, Call, name_of},
    body,
    kinds::Part,
    registry::{Place, Replacing, UpdateStrategy, Updated},
    status::{Failure, Result},
    verbs::create::placed,
};

pub(crate) async fn update(api: &Api, call: &Call<'_>) -> Result<Answer> {
    replace(api, call, UpdateStrategy::OfKind(Part::Main)).await
}

/// `PUT` of the object or of a subresource.
pub(crate) async fn replace(
    api: &Api,
    call: &Call<'_>,
    strategy: UpdateStrategy,
) -> Result<Answer> {
    let kind = call.kind();
    let options = call.query.write_options("UpdateOptions")?;
    let read = body::object(call.body(), kind, options.field_validation)?;
    let value = placed(read.value, kind, call.namespace())?;
    check_name(&value, &call.resource.name)?;
    let mut warnings = read.warnings;
    let next = |_, _: &mut Vec<String>| Ok(Some(value.clone()));
    match write(api, call, strategy, options.dry_run, &mut warnings, next).await {
        Ok(updated) => Ok(answered(call, updated, warnings)),
        Err(failure) => Err(failure.with_warnings(warnings)),
    }
}

/// The answer to an update.
pub(crate) fn answered(call: &Call<'_>, updated: Updated, warnings: Vec<String>) -> Answer {
    let code = if updated.created { 201 } else { 200 };
    answer::shown(code, call.kind(), updated.value, call.view).with_warnings(warnings)
}

/// Writes the result of `next` for the present version (see `Registry::update`).
pub(crate) async fn write(
    api: &Api,
    call: &Call<'_>,
    strategy: UpdateStrategy,
    dry_run: bool,
    warnings: &mut Vec<String>,
    next: impl FnMut(Value, &mut Vec<String>) -> Result<Option<Value>>,
) -> Result<Updated> {
    let replacing = match *call.method {
        http::Method::PUT => Replacing::Whole,
        _ => Replacing::Part,
    };
    let (kind, name) = (call.kind(), &call.resource.name);
    let place = Place { kind, namespace: call.namespace(), name, strategy, replacing };
    call.registry(api, dry_run).update(place, warnings, next).await
}

/// The name in the body must be that of the path.
pub(crate) fn check_name(value: &Value, name: &str) -> Result<()> {
    match name_of(value) {
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be \
             provided"
        ))),
        given if given == name => Ok(()),
        given => Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
    }
}
