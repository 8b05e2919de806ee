//! Admission of an object, from a client's value to what is written: defaults, server-owned fields,
//! validation. The same for creates and updates, whatever the verb.

use evenkeel_store::{Object, Outcome, Refused};
use serde_json::Value;

use super::{
    Error, NodeWrite, Registry, Result,
    hooks::{self, Reserving, Writing},
};
use crate::{
    api::name_of,
    document,
    invalid::Errors,
    kinds::{Kind, KindRef, Part, PartStrategy, metadata, read::text},
    pools::Reservation,
    random,
    storage::Next,
};

/// An object ready to be written, with its reservations until it is.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
    reservation: Option<Reservation>,
}

/// The checks that apply to the new version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UpdateStrategy {
    /// A client: the kind's whole strategy applies.
    OfKind(Part),
    /// A client, through a subresource with its own strategy.
    OfPart(PartStrategy),
    /// The server itself, for what no client may change.
    Unchecked,
}

/// An update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update<'a> {
    pub(super) kind: &'a KindRef,
    pub(super) strategy: UpdateStrategy,
    pub(super) key: &'a str,
    pub(super) old: &'a Value,
}

/// A new object: `value` is in the stored kind's form.
pub(super) fn create(by: &Registry<'_>, kind: &KindRef, mut value: Value) -> Result<Admitted> {
    let at = by.api.admission(by.now);
    let hooks = hooks::of(kind.stored_kind());
    let mut warnings: Vec<String> =
        metadata::drop_duplicate_owners(&mut value).into_iter().collect();
    kind.strategy.default(&mut value, &at);
    hooks.complete(by.api, &mut value);
    let place = text(&value, &["metadata", "namespace"]);
    let key = if place.is_empty() { String::new() } else { format!("{place}/") };
    by.restrict_node(NodeWrite {
        verb: "create",
        kind,
        subresource: "",
        key: &key,
        before: None,
        after: Some(&value),
    })?;
    hooks.authorize(by, Writing { kind, value: &value, old: None })?;
    metadata::prepare_create(&mut value, &at, &random::uuid(), &random::suffix());
    let reservation = hooks.reserve(by, Reserving { value: &mut value, old: None })?;
    kind.strategy.prepare_create(&mut value, &at);
    if let Some(why) = kind.strategy.refused(&value) {
        let name = name_of(&value).to_owned();
        return Err(Error::Forbidden { kind: kind.clone(), name, why });
    }
    let mut errors = metadata::validate_create(kind, &value);
    errors.extend(kind.strategy.validate_create(&value, &at));
    if !errors.is_empty() {
        return Err(invalid(kind, &value, errors));
    }
    warnings.extend(kind.strategy.warnings(&value, None));
    document::canonical(kind.stored_kind(), &mut value);
    Ok(Admitted { value, warnings, reservation })
}

/// The next version of an object.
pub(super) fn update(by: &Registry<'_>, change: Update<'_>, mut value: Value) -> Result<Admitted> {
    let Update { kind, strategy, old, .. } = change;
    let part = match strategy {
        UpdateStrategy::OfKind(part) => part,
        UpdateStrategy::OfPart(strategy) => return updated_part(by, change, strategy, value),
        UpdateStrategy::Unchecked => {
            document::canonical(kind.stored_kind(), &mut value);
            return Ok(Admitted { value, warnings: Vec::new(), reservation: None });
        }
    };
    let at = by.api.admission(by.now);
    let mut warnings: Vec<String> =
        metadata::drop_duplicate_owners(&mut value).into_iter().collect();
    kind.strategy.default(&mut value, &at);
    metadata::prepare_update(&mut value, old);
    let hooks = hooks::of(kind.stored_kind());
    by.restrict_node(NodeWrite {
        verb: "update",
        kind,
        subresource: if part == Part::Status { "status" } else { "" },
        key: change.key,
        before: Some(old),
        after: Some(&value),
    })?;
    hooks.authorize(by, Writing { kind, value: &value, old: Some(old) })?;
    let reservation = match part {
        Part::Main => {
            let write = Reserving { value: &mut value, old: Some(old) };
            hooks.reserve(by, write)?
        }
        Part::Status => None,
    };
    kind.strategy.prepare_update(part, &mut value, old, &at);
    let mut errors = metadata::validate_update(kind, &value, old);
    if kind.custom.is_some() && !errors.is_empty() {
        // Kubernetes checks the metadata of custom resources twice, and reports it twice.
        errors.extend(errors.clone());
        errors.extend(kind.strategy.validate_update(part, &value, old, &at));
        let name = name_of(&value).to_owned();
        return Err(Error::Invalid { kind: kind.clone(), name, errors });
    }
    errors.extend(kind.strategy.validate_update(part, &value, old, &at));
    if !errors.is_empty() {
        return Err(invalid(kind, &value, errors));
    }
    if part == Part::Main {
        warnings.extend(kind.strategy.warnings(&value, Some(old)));
    }
    document::canonical(kind.stored_kind(), &mut value);
    Ok(Admitted { value, warnings, reservation })
}

fn updated_part(
    by: &Registry<'_>,
    change: Update<'_>,
    strategy: PartStrategy,
    mut value: Value,
) -> Result<Admitted> {
    let Update { kind, old, .. } = change;
    kind.strategy.default(&mut value, &by.api.admission(by.now));
    metadata::prepare_update(&mut value, old);
    (strategy.prepare)(&mut value, old);
    let mut errors = metadata::validate_update(kind, &value, old);
    errors.extend((strategy.validate)(&value, old));
    if !errors.is_empty() {
        return Err(invalid(kind, &value, errors));
    }
    document::canonical(kind.stored_kind(), &mut value);
    Ok(Admitted { value, warnings: Vec::new(), reservation: None })
}

impl Admitted {
    /// Writes a new object.
    pub(super) async fn write_new(
        &mut self,
        by: &Registry<'_>,
        kind: &KindRef,
        key: &str,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let next = Next::Version(document::stored(kind.stored_kind(), &self.value));
        self.write(by, kind.stored_kind(), key, None, next).await
    }

    /// Writes the next version of an object, or removes it if it only waited for this.
    pub(super) async fn write_over(
        &mut self,
        by: &Registry<'_>,
        change: Update<'_>,
        old: &Object,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let kind = change.kind.stored_kind();
        let next = match ends(kind, &self.value, change.old) {
            true => Next::Nothing,
            false => Next::Version(document::stored(kind, &self.value)),
        };
        self.write(by, kind, change.key, Some(old), next).await
    }

    async fn write(
        &mut self,
        by: &Registry<'_>,
        kind: &Kind,
        key: &str,
        before: Option<&Object>,
        next: Next,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let reservation = self.reservation.take();
        let on_decided = hooks::of(kind).on_decided(by.api, before, &next, reservation);
        by.api.storage.write(kind, key, before, next, on_decided).await
    }
}

/// An object whose delete was waiting for this update: no finalizers are left.
pub(crate) fn ends(kind: &Kind, new: &Value, old: &Value) -> bool {
    let dying = !old["metadata"]["deletionTimestamp"].is_null();
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    dying && grace == 0 && kind.strategy.is_finalized(new)
}

/// A validation error of this object.
pub(super) fn invalid(kind: &KindRef, value: &Value, errors: Errors) -> Error {
    let name = name_of(value).to_owned();
    Error::Invalid { kind: kind.clone(), name, errors: metadata::distinct(errors) }
}
