//! Roles, bindings and users of a real server (Kubernetes 1.37), and what they allow: for tests
//! whose answers were recorded there.

use std::collections::BTreeMap;

use evenkeel_authorization::rbac::{Binding, Policy, Role};
use serde_json::Value;

use super::{Attributes, MASTERS, User};
use crate::{
    authorizer::Decision,
    kinds::read::{entries, list, text},
};

/// The first line of a recording.
pub(super) struct Recorded {
    policy: Policy,
    users: BTreeMap<String, User>,
}

/// The first line, and the cases after it.
pub(super) fn read(lines: &str) -> (Recorded, Vec<Value>) {
    let mut lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let first: Value = lines.next().unwrap();
    let users = entries(&first, &["users"]).map(|(key, user)| (key.to_owned(), read_user(user)));
    let mut policy = Policy::default();
    for object in list(&first, &["objects"]) {
        add(&mut policy, object);
    }
    (Recorded { users: users.collect(), policy }, lines.collect())
}

fn add(policy: &mut Policy, object: &Value) {
    let [name, namespace] = ["name", "namespace"].map(|field| text(object, &["metadata", field]));
    let scope = Some(namespace).filter(|namespace| !namespace.is_empty());
    match text(object, &["kind"]) {
        "Role" | "ClusterRole" => policy.set_role(scope, name, Some(Role::of(object))),
        _ => policy.set_binding(scope, name, Some(Binding::of(object))),
    }
}

fn read_user(user: &Value) -> User {
    let texts = |value: &Value| {
        list(value, &[]).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    User {
        name: text(user, &["name"]).to_owned(),
        uid: text(user, &["uid"]).to_owned(),
        groups: texts(&user["groups"]),
        extra: entries(user, &["extra"])
            .map(|(key, values)| (key.to_owned(), texts(values)))
            .collect(),
    }
}

// === impl Recorded ===

impl Recorded {
    pub(super) fn user(&self, key: &str) -> &User {
        &self.users[key]
    }

    /// What RBAC says.
    pub(super) fn may(&self, user: &User, attributes: &Attributes<'_>) -> Decision {
        if user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        match self.policy.authorize(user, attributes) {
            Some(reason) => Decision { allowed: true, reason: reason.to_string() },
            None => Decision::default(),
        }
    }
}
