//! Admission of an object, from a client's value to what is written: defaults, server-owned fields,
//! validation. The same for creates and updates, whatever the verb.

use evenkeel_store::{Object, Outcome, Refused};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    api::{Api, name_of},
    document,
    kinds::{
        Kind, NODE, POD, Part, PartStrategy, metadata,
        namespace::is_finalized,
        pod::topology,
        read::{list, text},
    },
    pools::{PoolError, Reservation},
    random,
    status::{Failure, Result},
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
    /// The server itself.
    Unchecked,
}

/// An update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) strategy: UpdateStrategy,
    pub(crate) key: &'a str,
    pub(crate) old: &'a Value,
    pub(crate) dry_run: bool,
    pub(crate) now: Timestamp,
}

/// A new object: `value` is in the stored kind's form.
pub(crate) fn create(
    api: &Api,
    kind: &Kind,
    mut value: Value,
    dry_run: bool,
    now: Timestamp,
) -> Result<Admitted> {
    let at = api.admission(now);
    let mut warnings: Vec<String> =
        metadata::drop_duplicate_owners(&mut value).into_iter().collect();
    kind.strategy.default(&mut value, &at);
    if kind == &POD {
        label_pod(api, &mut value);
    }
    metadata::prepare_create(&mut value, &at, &random::uuid(), &random::suffix());
    let reservation = reserve(api, kind, &mut value, None, dry_run)?;
    kind.strategy.prepare_create(&mut value, &at);
    if let Some(why) = kind.strategy.refused(&value) {
        return Err(Failure::forbidden(kind, name_of(&value), &why));
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
pub(crate) fn update(api: &Api, change: Update<'_>, mut value: Value) -> Result<Admitted> {
    let Update { kind, strategy, old, dry_run, now, .. } = change;
    let part = match strategy {
        UpdateStrategy::OfKind(part) => part,
        UpdateStrategy::OfPart(strategy) => return updated_part(api, change, strategy, value),
        UpdateStrategy::Unchecked => {
            document::canonical(kind.stored_kind(), &mut value);
            return Ok(Admitted { value, warnings: Vec::new(), reservation: None });
        }
    };
    let at = api.admission(now);
    let mut warnings: Vec<String> =
        metadata::drop_duplicate_owners(&mut value).into_iter().collect();
    kind.strategy.default(&mut value, &at);
    metadata::prepare_update(&mut value, old);
    let reservation = match part {
        Part::Main => reserve(api, kind, &mut value, Some(old), dry_run)?,
        Part::Status => None,
    };
    kind.strategy.prepare_update(part, &mut value, old, &at);
    let mut errors = metadata::validate_update(kind, &value, old);
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

/// A Pod created for a Node gets the Node's topology labels.
fn label_pod(api: &Api, pod: &mut Value) {
    let name = text(pod, &["spec", "nodeName"]);
    if let Some(node) = node(api, name) {
        topology::label(pod, &node);
    }
}

/// The same for a binding, from which the Pod takes its labels.
pub(crate) fn label_binding(api: &Api, binding: &mut Value) {
    let target = &binding["target"];
    if target["kind"] != "Node" {
        return;
    }
    if let Some(node) = node(api, text(target, &["name"])) {
        topology::label(binding, &node);
    }
}

fn node(api: &Api, name: &str) -> Option<Value> {
    let object = api.storage.object(&NODE, name).filter(|_| !name.is_empty())?;
    document::value(&NODE, &object).ok()
}

fn updated_part(
    api: &Api,
    change: Update<'_>,
    strategy: PartStrategy,
    mut value: Value,
) -> Result<Admitted> {
    let Update { kind, old, now, .. } = change;
    kind.strategy.default(&mut value, &api.admission(now));
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
    pub(crate) async fn write_new(
        &mut self,
        api: &Api,
        kind: &Kind,
        key: &str,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let new = Next::Version(document::stored(kind.stored_kind(), &self.value));
        api.storage.write(kind, key, None, new, self.reservation.take()).await
    }

    /// Writes the next version of an object, or removes it if it only waited for this.
    pub(crate) async fn write_over(
        &mut self,
        api: &Api,
        change: Update<'_>,
        old: &Object,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let Update { kind, key, .. } = change;
        let next = match ends(kind, &self.value, change.old) {
            true => Next::Nothing,
            false => Next::Version(document::stored(kind.stored_kind(), &self.value)),
        };
        api.storage.write(kind, key, Some(old), next, self.reservation.take()).await
    }
}

/// An object whose delete was waiting for this update: no finalizers are left.
pub(crate) fn ends(kind: &Kind, new: &Value, old: &Value) -> bool {
    let dying = !old["metadata"]["deletionTimestamp"].is_null();
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
    let free = match kind.has_finalize() {
        true => is_finalized(new),
        false => list(new, &["metadata", "finalizers"]).is_empty(),
    };
    dying && grace == 0 && free
}

fn reserve(
    api: &Api,
    kind: &Kind,
    value: &mut Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<Option<Reservation>> {
    if !kind.is_service() {
        return Ok(None);
    }
    let reserved = api.pools.reserve(value, old, dry_run, &mut random::below);
    reserved.map(Some).map_err(|problem| match problem {
        PoolError::Invalid(errors) => invalid(kind, value, errors),
        PoolError::Internal(why) => Failure::internal_error(&why),
        PoolError::Plain(why) => Failure::internal(why),
    })
}

fn invalid(kind: &Kind, value: &Value, errors: crate::invalid::Errors) -> Failure {
    Failure::invalid(kind, name_of(value), &metadata::distinct(errors))
}

/// The deprecated registry key of an object, which one error message still shows.
pub(crate) fn registry_key(kind: &Kind, key: &str) -> String {
    let place = match kind.plural {
        "services" => "services/specs",
        "nodes" => "minions",
        plural => plural,
    };
    format!("/registry/{place}/{key}")
}

/// A dry run's new object: without revision.
pub(crate) fn without_revision(mut value: Value) -> Value {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    value
}

/// A value with the revision of the present version.
pub(crate) fn at_revision(mut value: Value, revision: u64) -> Value {
    value["metadata"]["resourceVersion"] = json!(revision.to_string());
    value
}
