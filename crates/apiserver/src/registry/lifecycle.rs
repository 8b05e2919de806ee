//! The effect of a delete on an object: a pure decision.
//!
//! Finalizers, grace periods and propagation as in `k8s.io/apiserver/pkg/registry/rest/delete.go`
//! and `registry/store.go`: an object with finalizers is marked and kept; a Pod on a node is kept
//! for its grace period; everything else is removed at once.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    kinds::{
        Kind, KindRef,
        metadata::seconds,
        read::{list, number, text},
    },
    registry::{Error, Result},
};

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// What happens to the dependents of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted first.
    Foreground,
    /// They are deleted later.
    Background,
    /// They are kept.
    Orphan,
}

/// The resulting action.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deletion {
    /// It is already being deleted.
    Pending,
    /// It is marked and kept.
    Mark(Value),
    /// It is marked and then removed: watchers see both.
    MarkThenRemove(Value),
    Remove,
}

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

pub(crate) fn decide(
    kind: &KindRef,
    mut object: Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<Deletion> {
    check_preconditions(kind, &object, options)?;
    if kind.strategy.ends_by_finalizing() {
        return Ok(finalized(kind, object, options, now));
    }
    let asked = options.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let dying = !object["metadata"]["deletionTimestamp"].is_null();
    let graceful = match kind.strategy.grace(&object, asked) {
        None => None,
        Some(_) if dying => match shortened(&mut object, asked, now) {
            Shortened::Pending => return Ok(Deletion::Pending),
            Shortened::Over => None,
            Shortened::To(seconds) => Some(seconds),
        },
        Some(seconds) => {
            mark(&mut object, seconds, now);
            Some(seconds)
        }
    };
    set_finalizers(&mut object, options);
    let held = !list(&object, &["metadata", "finalizers"]).is_empty();
    match graceful {
        Some(0) if !held => Ok(Deletion::MarkThenRemove(object)),
        Some(_) => Ok(Deletion::Mark(object)),
        None if held => {
            mark_at_once(&mut object, now);
            Ok(Deletion::Mark(object))
        }
        None => Ok(Deletion::Remove),
    }
}

/// The object is marked first and removed when it is finalized, whatever its grace period.
fn finalized(kind: &Kind, mut object: Value, options: &DeleteOptions, now: Timestamp) -> Deletion {
    if object["metadata"]["deletionTimestamp"].is_null() {
        set_finalizers(&mut object, options);
    }
    kind.strategy.terminate(&mut object, now);
    match kind.strategy.is_finalized(&object) {
        true => Deletion::Remove,
        false => Deletion::Mark(object),
    }
}

enum Shortened {
    Pending,
    /// Its grace period has passed.
    Over,
    To(i64),
}

/// A second delete may only shorten the remaining grace period.
fn shortened(object: &mut Value, asked: Option<i64>, now: Timestamp) -> Shortened {
    let present = number(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default();
    if present == 0 {
        return Shortened::Over;
    }
    let Some(mut period) = asked.filter(|asked| *asked < present) else {
        return Shortened::Pending;
    };
    let end: Option<Timestamp> = text(object, &["metadata", "deletionTimestamp"]).parse().ok();
    let earlier =
        |end: Timestamp| end.checked_sub(SignedDuration::from_secs(present - period)).ok();
    let mut end = end.and_then(earlier).unwrap_or(now);
    if end < now {
        end = now;
        period = period.min(1);
    }
    object["metadata"]["deletionTimestamp"] = seconds(end).into();
    object["metadata"]["deletionGracePeriodSeconds"] = period.into();
    Shortened::To(period)
}

fn mark(object: &mut Value, grace: i64, now: Timestamp) {
    let end = now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(now);
    count_generation(object);
    object["metadata"]["deletionTimestamp"] = seconds(end).into();
    object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
}

fn mark_at_once(object: &mut Value, now: Timestamp) {
    let end: Option<Timestamp> = text(object, &["metadata", "deletionTimestamp"]).parse().ok();
    if end.is_none() {
        count_generation(object);
    }
    if end.is_none_or(|end| end > now) {
        object["metadata"]["deletionTimestamp"] = seconds(now).into();
    }
    object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
}

fn count_generation(object: &mut Value) {
    if let Some(generation) = number(object, &["metadata", "generation"]).filter(|n| *n > 0) {
        object["metadata"]["generation"] = (generation + 1).into();
    }
}

/// Sets the finalizers for the requested propagation.
fn set_finalizers(object: &mut Value, options: &DeleteOptions) {
    let present = list(object, &["metadata", "finalizers"]);
    let has = |name: &str| present.iter().any(|finalizer| finalizer == name);
    let policy = options.propagation.or(match () {
        () if has(ORPHAN) => Some(Propagation::Orphan),
        () if has(FOREGROUND) => Some(Propagation::Foreground),
        () => None,
    });
    let mut next: Vec<Value> =
        present.iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).cloned().collect();
    match policy {
        Some(Propagation::Orphan) => next.push(ORPHAN.into()),
        Some(Propagation::Foreground) => next.push(FOREGROUND.into()),
        Some(Propagation::Background) | None => {}
    }
    let names = |list: &[Value]| list.iter().map(Value::to_string).collect::<BTreeSet<_>>();
    if next.len() == present.len() && names(&next).is_subset(&names(present)) {
        return;
    }
    object["metadata"]["finalizers"] = json!(next);
}

/// An object that does not match the preconditions is not changed.
pub(crate) fn check_preconditions(
    kind: &KindRef,
    object: &Value,
    options: &DeleteOptions,
) -> Result<()> {
    let name = text(object, &["metadata", "name"]);
    let uid = text(object, &["metadata", "uid"]);
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The \
             object might have been deleted and then recreated"
        );
        return Err(Error::Precondition { kind: kind.clone(), name: name.to_owned(), why });
    }
    let version = text(object, &["metadata", "resourceVersion"]);
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the \
             ResourceVersion in record ({version}). The object might have been modified"
        );
        return Err(Error::Precondition { kind: kind.clone(), name: name.to_owned(), why });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
