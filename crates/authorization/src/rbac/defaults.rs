//! The roles and bindings that every cluster has, and how they are kept.
//!
//! They are Kubernetes' own (`defaults.txt`). At each start those that are missing are created, and
//! the others get what they lack: rules, subjects, labels, annotations. What an administrator added
//! stays; who sets the annotation `autoupdate` to `false` keeps the object as it is.

mod data;
mod reconcile;

use std::sync::LazyLock;

use serde_json::Value;

pub use self::reconcile::{Action, reconcile};

/// `false` on an object keeps it from being reconciled.
pub const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// One object that every cluster has.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultObject {
    /// `ClusterRole`, `ClusterRoleBinding`, `Role` or `RoleBinding`.
    pub kind: &'static str,
    pub namespace: Option<&'static str>,
    pub name: &'static str,
    pub value: Value,
}

/// All default objects, in the order in which Kubernetes creates them.
pub fn objects() -> Vec<DefaultObject> {
    static OBJECTS: LazyLock<Vec<DefaultObject>> =
        LazyLock::new(|| data::read(data::TEXT).unwrap_or_default());
    OBJECTS.clone()
}

#[cfg(test)]
mod tests;
