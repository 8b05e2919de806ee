//! The end of a definition: first its objects are removed, then itself.
//!
//! A delete marks it ([`terminate`]). While it [`is_due`], the server says that it has begun
//! ([`begin`]), follows the [`plan`], and enters the result ([`end`]), which removes the finalizer,
//! and thereby the definition, once no object is left. Sources: `Delete` in the kind's registry,
//! and `controller/finalizer/crd_finalizer.go`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition, ESTABLISHED, TERMINATING};
use crate::kinds::{
    metadata::seconds,
    read::{at, entry, list},
};

pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What is to be done with the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// They are deleted, and the definition waits until none is left.
    Delete,
    /// There is nothing to be done: [`end`] is called with this.
    End(Ended),
}

/// How far the objects are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// None is left.
    Removed,
    /// There never were any.
    NeverEstablished,
    /// They are those of a built-in resource, and stay.
    OfBuiltIn,
    /// They can't be listed: why.
    NotListed(String),
    /// Some can't be deleted: why.
    NotDeleted(String),
    /// Some were still there at last: why, or how many.
    Remaining(String),
}

/// Marks a definition as deleted. Once it is, nothing changes.
pub(crate) fn terminate(definition: &mut Value, now: Timestamp) {
    if !at(definition, &["metadata", "deletionTimestamp"]).is_null() {
        return;
    }
    *entry(definition, &["metadata", "deletionTimestamp"]) = json!(seconds(now));
    let finalizers = entry(definition, &["metadata", "finalizers"]);
    match finalizers.as_array_mut() {
        Some(finalizers) if finalizers.iter().any(|name| name == FINALIZER) => {}
        Some(finalizers) => finalizers.push(json!(FINALIZER)),
        None => *finalizers = json!([FINALIZER]),
    }
    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set(definition, "True", "InstanceDeletionPending", message.to_owned(), now);
}

/// Whether a definition is deleted and its objects are not known to be removed.
pub(crate) fn is_due(definition: &Value) -> bool {
    let mut finalizers = list(definition, &["metadata", "finalizers"]).iter();
    !at(definition, &["metadata", "deletionTimestamp"]).is_null()
        && finalizers.any(|name| name == FINALIZER)
}

/// Says that the objects are being removed.
pub(crate) fn begin(definition: &mut Value, now: Timestamp) -> bool {
    let message = "CustomResource deletion is in progress".to_owned();
    set(definition, "True", "InstanceDeletionInProgress", message, now)
}

/// What is to be done with the objects of a definition; `is_built_in` if its group and plural are
/// those of a built-in resource.
pub(crate) fn plan(definition: &Value, is_built_in: bool) -> Plan {
    match conditions::is_true(definition, ESTABLISHED) {
        _ if is_built_in => Plan::End(Ended::OfBuiltIn),
        true => Plan::Delete,
        false => Plan::End(Ended::NeverEstablished),
    }
}

/// Enters the result. Removes the finalizer if no object is left; else all is to be repeated.
pub(crate) fn end(definition: &mut Value, ended: &Ended, now: Timestamp) -> bool {
    let (status, reason, message) = match ended {
        Ended::Removed => {
            ("False", "InstanceDeletionCompleted", "removed all instances".to_owned())
        }
        Ended::NeverEstablished => {
            ("False", "NeverEstablished", "resource was never established".to_owned())
        }
        Ended::OfBuiltIn => (
            "False",
            "OverlappingBuiltInResource",
            "instances overlap with built-in resources in storage".to_owned(),
        ),
        Ended::NotListed(why) => {
            ("True", "InstanceDeletionFailed", format!("could not list instances: {why}"))
        }
        Ended::NotDeleted(why) => {
            ("True", "InstanceDeletionFailed", format!("could not issue all deletes: {why}"))
        }
        Ended::Remaining(why) => (
            "True",
            "InstanceDeletionCheck",
            format!("could not confirm zero CustomResources remaining: {why}"),
        ),
    };
    let mut changed = set(definition, status, reason, message, now);
    if status == "False"
        && let Value::Array(finalizers) = entry(definition, &["metadata", "finalizers"])
    {
        let before = finalizers.len();
        finalizers.retain(|name| name != FINALIZER);
        changed |= finalizers.len() != before;
    }
    changed
}

fn set(
    definition: &mut Value,
    status: &'static str,
    reason: &'static str,
    message: String,
    now: Timestamp,
) -> bool {
    let condition = Condition { type_: TERMINATING, status, reason, message };
    conditions::set(definition, &condition, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn terminated() -> Value {
        let mut definition = json!({"metadata": {"name": "a"}});
        terminate(&mut definition, now());
        definition
    }

    fn reason(definition: &Value) -> &str {
        conditions::find(definition, TERMINATING).unwrap()["reason"].as_str().unwrap()
    }

    #[test]
    fn a_delete_marks_a_definition_once() {
        let mut definition = terminated();
        assert_eq!(
            definition,
            json!({
                "metadata": {
                    "name": "a",
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "finalizers": [FINALIZER],
                },
                "status": {"conditions": [{
                    "type": "Terminating",
                    "status": "True",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "reason": "InstanceDeletionPending",
                    "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                }]},
            })
        );
        assert!(is_due(&definition) && !is_due(&json!({"metadata": {"finalizers": [FINALIZER]}})));
        assert!(begin(&mut definition, now()) && !begin(&mut definition, now()));
        assert_eq!(reason(&definition), "InstanceDeletionInProgress");
        terminate(&mut definition, now());
        assert_eq!(reason(&definition), "InstanceDeletionInProgress");
    }

    #[test]
    fn objects_are_deleted_only_if_they_are_the_definition_s() {
        let established =
            json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}});
        for (definition, is_built_in, expected) in [
            (&established, false, Plan::Delete),
            (&established, true, Plan::End(Ended::OfBuiltIn)),
            (&json!({}), false, Plan::End(Ended::NeverEstablished)),
        ] {
            assert_eq!(plan(definition, is_built_in), expected);
        }
    }

    #[test]
    fn the_finalizer_stays_while_objects_are_left() {
        let why = || "why".to_owned();
        for (ended, reason_, message, is_over) in [
            (Ended::Removed, "InstanceDeletionCompleted", "removed all instances", true),
            (Ended::NeverEstablished, "NeverEstablished", "resource was never established", true),
            (
                Ended::OfBuiltIn,
                "OverlappingBuiltInResource",
                "instances overlap with built-in resources in storage",
                true,
            ),
            (
                Ended::NotListed(why()),
                "InstanceDeletionFailed",
                "could not list instances: why",
                false,
            ),
            (
                Ended::NotDeleted(why()),
                "InstanceDeletionFailed",
                "could not issue all deletes: why",
                false,
            ),
            (
                Ended::Remaining(why()),
                "InstanceDeletionCheck",
                "could not confirm zero CustomResources remaining: why",
                false,
            ),
        ] {
            let mut definition = terminated();
            assert!(end(&mut definition, &ended, now()), "{ended:?}");
            assert_eq!(reason(&definition), reason_);
            assert_eq!(definition["status"]["conditions"][0]["message"], message);
            assert_eq!(is_due(&definition), !is_over, "{ended:?}");
            assert!(!end(&mut definition, &ended, now()), "{ended:?}");
        }
    }
}
