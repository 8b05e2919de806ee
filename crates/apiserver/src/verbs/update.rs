//! `update`: the next version of an object, or, for some kinds, its first.

use evenkeel_store::{Outcome, Revision};
use serde_json::Value;

use crate::{
    answer::{self, Answer},
    api::{Api, Call, name_of},
    body, document,
    kinds::{Kind, Part, metadata, read::text},
    status::{Failure, Result},
    verbs::{
        admit::{self, Update, at_revision, registry_key},
        create::{self, Created, placed},
        list::uint,
    },
};

pub(crate) use crate::verbs::admit::UpdateStrategy;

/// Attempts of an unconditional write that conflicts with others. Each failed attempt means that
/// another write has succeeded, so this many in a row are more than bad luck.
pub(crate) const TRIES: usize = 100;

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
    let (code, value) =
        write(api, call, strategy, options.dry_run, &mut warnings, |_, _| Ok(Some(value.clone())))
            .await?;
    Ok(answer::shown(code, kind, value, call.view).with_warnings(warnings))
}

/// Writes the result of `next` for the present version, and retries on conflicts. A client that
/// required a version then gets an error, for it is not the present one. `next` sees the present
/// object in the call's own kind; `None` leaves it unchanged.
pub(crate) async fn write(
    api: &Api,
    call: &Call<'_>,
    strategy: UpdateStrategy,
    dry_run: bool,
    warnings: &mut Vec<String>,
    mut next: impl FnMut(Value, &mut Vec<String>) -> Result<Option<Value>>,
) -> Result<(u16, Value)> {
    let kind = call.kind();
    let stored = kind.stored_kind();
    let name = &call.resource.name;
    let key = call.key(name);
    for _ in 0..TRIES {
        let Some(object) = api.storage.object(stored, &key) else {
            if !kind.creates_on_update
                || call.method != http::Method::PUT
                || !matches!(strategy, UpdateStrategy::OfKind(Part::Main))
            {
                return Err(Failure::not_found(kind, name));
            }
            let mut value = next(Value::Null, warnings)?.expect("a PUT has a body");
            value["metadata"]["resourceVersion"] = "".into();
            let value = match create::new(api, call, value, dry_run, warnings).await? {
                Created::Stored(object) => kind.presented(document::value(stored, &object)?),
                Created::Dry(value) => value,
            };
            return Ok((201, value));
        };
        let old = document::value(stored, &object)?;
        let mut found = Vec::new();
        let Some(value) = next(kind.presented(old.clone()), &mut found)? else {
            return Ok((200, kind.presented(old)));
        };
        let value = kind.converted(value);
        check_version(call, &value, &old, object.revision, &key)?;
        let change = Update { kind, strategy, key: &key, old: &old, dry_run, now: call.now() };
        let mut admitted = admit::update(api, change, value)?;
        found.append(&mut admitted.warnings);
        if dry_run {
            warnings.append(&mut found);
            return Ok((200, kind.presented(at_revision(admitted.value, object.revision))));
        }
        match admitted.write_over(api, change, &object).await? {
            Ok(Outcome::Written(written) | Outcome::Unchanged(written)) => {
                warnings.append(&mut found);
                return Ok((200, kind.presented(at_revision(admitted.value, written.revision))));
            }
            // The object shows its last revision, though the delete has a new one.
            Ok(Outcome::Deleted(gone, _)) => {
                warnings.append(&mut found);
                return Ok((200, kind.presented(at_revision(admitted.value, gone.revision))));
            }
            // A required version is rejected at the next attempt, for it is no longer present.
            Err(_) => {}
        }
    }
    Err(Failure::modified(kind, name))
}

/// A version, if given, must be the present one.
fn check_version(
    call: &Call<'_>,
    value: &Value,
    old: &Value,
    at: Revision,
    key: &str,
) -> Result<()> {
    let (kind, name) = (call.kind(), &call.resource.name);
    let uid = text(value, &["metadata", "uid"]);
    let present = text(old, &["metadata", "uid"]);
    if call.method == http::Method::PUT && !uid.is_empty() && uid != present {
        return Err(failed_precondition(kind, key, "UID", uid, present));
    }
    let version = text(value, &["metadata", "resourceVersion"]);
    if version.is_empty() && call.method == http::Method::PUT && !kind.updates_unconditionally {
        let missing = metadata::missing_resource_version();
        return Err(Failure::invalid_as(kind.group, kind.plural, name, &[missing]));
    }
    if version.is_empty() {
        return Ok(());
    }
    let parsed = uint(version).map_err(|_| {
        let wrong = if version.bytes().all(|b| b.is_ascii_digit()) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        let version = crate::invalid::quoted(version);
        Failure::internal(format!("strconv.ParseUint: parsing {version}: {wrong}"))
    })?;
    match parsed {
        0 => Ok(()),
        same if same == at => Ok(()),
        _ => Err(Failure::modified(kind, name)),
    }
}

/// A different object than expected; `what` is `UID` or `ResourceVersion`.
pub(crate) fn failed_precondition(
    kind: &Kind,
    key: &str,
    what: &str,
    wanted: &str,
    present: &str,
) -> Failure {
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {present}",
        registry_key(kind, key)
    );
    Failure::conflict(kind, key.rsplit('/').next().unwrap_or_default(), &why)
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

/// A change by the server itself: written without validation, and retried on conflicts. An object
/// that only waited for this is removed.
pub(crate) async fn rewrite(
    api: &Api,
    kind: &Kind,
    key: &str,
    edit: impl Fn(&mut Value),
) -> Result<()> {
    let name = key.rsplit('/').next().unwrap_or_default();
    for _ in 0..TRIES {
        let object = api.storage.object(kind, key);
        let object = object.ok_or_else(|| Failure::not_found(kind, name))?;
        let old = document::value(kind, &object)?;
        let mut value = old.clone();
        edit(&mut value);
        let now = jiff::Timestamp::now();
        let change = Update {
            kind,
            strategy: UpdateStrategy::Unchecked,
            key,
            old: &old,
            dry_run: false,
            now,
        };
        if admit::update(api, change, value)?.write_over(api, change, &object).await?.is_ok() {
            return Ok(());
        }
    }
    Err(Failure::modified(kind, name))
}
