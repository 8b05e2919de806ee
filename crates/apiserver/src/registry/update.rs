//! The next version of an object, or, for some kinds, its first.

use evenkeel_store::{Outcome, Revision};
use serde_json::Value;

use super::{
    Created, Error, Registry, Result, UpdateStrategy,
    admit::{self, Update},
};
use crate::{
    api::key,
    document,
    identity::{Attributes, On},
    invalid::quoted,
    kinds::{Kind, KindRef, Part, read::text},
};

/// Attempts of an unconditional write that conflicts with others. Each failed attempt means that
/// another write has succeeded, so this many in a row are more than bad luck.
pub(super) const TRIES: usize = 100;

/// The object to write, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) kind: &'a KindRef,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) strategy: UpdateStrategy,
    pub(crate) replacing: Replacing,
}

/// Whether the new version is a whole object of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacing {
    /// It must be of the same uid, and some kinds require its version or create a missing object.
    Whole,
    /// It follows from the present version.
    Part,
}

/// The result of an update: in the requested kind's form.
#[derive(Debug)]
pub(crate) struct Updated {
    pub(crate) value: Value,
    pub(crate) created: bool,
}

/// An edit by an actor of the server, only of the object with this uid, if given, and of this
/// version, if given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) kind: &'a KindRef,
    pub(crate) key: &'a str,
    pub(crate) uid: Option<&'a str>,
    pub(crate) version: Option<Revision>,
    pub(crate) strategy: UpdateStrategy,
}

impl Registry<'_> {
    /// Writes the result of `next` for the present version, and retries on conflicts. A caller that
    /// required a version then gets an error, for it is not the present one. `next` sees the
    /// present object in the requested kind's form; `None` leaves it unchanged.
    pub(crate) async fn update<E: From<Error>>(
        &self,
        place: Place<'_>,
        warnings: &mut Vec<String>,
        mut next: impl FnMut(Value, &mut Vec<String>) -> std::result::Result<Option<Value>, E>,
    ) -> std::result::Result<Updated, E> {
        let Place { kind, namespace, name, strategy, .. } = place;
        let stored = kind.stored_kind();
        let key = key(namespace, name);
        for _ in 0..TRIES {
            let Some(object) = self.api.storage.object(stored, &key) else {
                if !place.creates() {
                    return Err(Error::not_found(kind, name).into());
                }
                let first = next(Value::Null, warnings)?;
                let first = first.ok_or_else(|| Error::not_found(kind, name))?;
                return Ok(self.create_by_update(place, first, warnings).await?);
            };
            let mut old = document::value(stored, &object).map_err(Error::from)?;
            if kind.custom.is_some() {
                // The version of the request, which its strategy validates.
                old = kind.presented(old);
            }
            let mut found = Vec::new();
            let Some(value) = next(kind.presented(old.clone()), &mut found)? else {
                return Ok(Updated { value: kind.presented(old), created: false });
            };
            let value = kind.converted(value);
            check_version(place, &value, &old, object.revision, &key)?;
            let change = Update { kind, strategy, key: &key, old: &old };
            let mut admitted = admit::update(self, change, value)?;
            found.append(&mut admitted.warnings);
            let revision = if self.dry_run {
                Some(object.revision)
            } else {
                match admitted.write_over(self, change, &object).await? {
                    Ok(Outcome::Written(now) | Outcome::Unchanged(now)) => Some(now.revision),
                    // The object shows its last revision, though the delete has a new one.
                    Ok(Outcome::Deleted(gone, _)) => Some(gone.revision),
                    // A required version is rejected at the next attempt: it is no longer present.
                    Err(_) => None,
                }
            };
            if let Some(revision) = revision {
                warnings.append(&mut found);
                let value = kind.presented(at_revision(admitted.value, revision));
                return Ok(Updated { value, created: false });
            }
        }
        Err(Error::modified(kind, name).into())
    }

    async fn create_by_update(
        &self,
        place: Place<'_>,
        mut value: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Updated> {
        let Place { kind, namespace, .. } = place;
        self.authorize_create(place)?;
        value["metadata"]["resourceVersion"] = "".into();
        let value = match self.create(kind, namespace, value, warnings).await? {
            Created::Stored(object) => {
                kind.presented(document::value(kind.stored_kind(), &object)?)
            }
            Created::Dry(value) => value,
        };
        Ok(Updated { value, created: true })
    }

    /// The request was authorized as an update. Of the name too, which a create does not have.
    fn authorize_create(&self, place: Place<'_>) -> Result<()> {
        let Place { kind, namespace, name, .. } = place;
        let on = On::Resource {
            group: &kind.group,
            resource: &kind.plural,
            subresource: "",
            namespace: namespace.unwrap_or_default(),
            name,
        };
        let asked = Attributes { verb: "create", on, field_selector: "" };
        let allowed = self.api.authorize(self.user, &asked);
        allowed.map_err(|message| Error::denied(message, &asked))
    }

    /// Edits the present version, and retries on conflicts. Returns the revision.
    pub(crate) async fn edit(
        &self,
        edit: Edit<'_>,
        apply: impl Fn(&mut Value) -> Result<()>,
    ) -> Result<Revision> {
        let Edit { kind, key, uid, version, strategy } = edit;
        let (namespace, name) = match key.rsplit_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, key),
        };
        let place = Place { kind, namespace, name, strategy, replacing: Replacing::Part };
        let next = |mut present: Value, _: &mut Vec<String>| {
            let revision = text(&present, &["metadata", "resourceVersion"]).parse().ok();
            if version.is_some() && version != revision {
                return Err(Error::modified(kind, name));
            }
            if uid.is_some_and(|uid| text(&present, &["metadata", "uid"]) != uid) {
                return Err(Error::not_found(kind, name));
            }
            apply(&mut present)?;
            Ok(Some(present))
        };
        let updated = self.update(place, &mut Vec::new(), next).await?;
        let revision = text(&updated.value, &["metadata", "resourceVersion"]).parse();
        revision.map_err(|_| Error::Internal(format!("{} {key:?} has no revision", kind.kind)))
    }
}

impl Place<'_> {
    fn creates(&self) -> bool {
        self.kind.creates_on_update
            && self.replacing == Replacing::Whole
            && matches!(self.strategy, UpdateStrategy::OfKind(Part::Main))
    }
}

/// A version, if given, must be the present one.
fn check_version(
    place: Place<'_>,
    value: &Value,
    old: &Value,
    at: Revision,
    key: &str,
) -> Result<()> {
    let Place { kind, name, replacing, .. } = place;
    let whole = replacing == Replacing::Whole;
    let uid = text(value, &["metadata", "uid"]);
    let present = text(old, &["metadata", "uid"]);
    if whole && !uid.is_empty() && uid != present {
        return Err(precondition_failed(kind, key, "UID", uid, present));
    }
    let version = text(value, &["metadata", "resourceVersion"]);
    if matches!(version, "" | "0") && !kind.updates_unconditionally {
        return Err(Error::VersionRequired { kind: kind.clone(), name: name.to_owned() });
    }
    if version.is_empty() {
        return Ok(());
    }
    match parsed_version(version)? {
        0 => Ok(()),
        same if same == at => Ok(()),
        _ => Err(Error::modified(kind, name)),
    }
}

fn parsed_version(version: &str) -> Result<Revision> {
    let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
    // Go accepts no sign.
    let parsed = if is_number { version.parse().ok() } else { None };
    parsed.ok_or_else(|| {
        let wrong = if is_number { "value out of range" } else { "invalid syntax" };
        Error::Refused(format!("strconv.ParseUint: parsing {}: {wrong}", quoted(version)))
    })
}

/// A different object than expected; `what` is `UID` or `ResourceVersion`.
pub(crate) fn precondition_failed(
    kind: &KindRef,
    key: &str,
    what: &str,
    wanted: &str,
    present: &str,
) -> Error {
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {present}",
        registry_key(kind, key)
    );
    let name = key.rsplit('/').next().unwrap_or_default().to_owned();
    Error::Conflict { kind: kind.clone(), name, why }
}

/// The deprecated registry key of an object, which one error message still shows.
fn registry_key(kind: &Kind, key: &str) -> String {
    if kind.custom.is_some() {
        return format!("/registry/{}/{}/{key}", kind.group, kind.plural);
    }
    let place = match &*kind.plural {
        "services" => "services/specs",
        "nodes" => "minions",
        plural => plural,
    };
    format!("/registry/{place}/{key}")
}

/// A value with the revision of the present version.
pub(super) fn at_revision(mut value: Value, revision: Revision) -> Value {
    value["metadata"]["resourceVersion"] = revision.to_string().into();
    value
}
