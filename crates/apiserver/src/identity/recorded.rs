//! Roles, bindings and users of a real server (Kubernetes 1.37), and what they allow: for tests
//! whose answers were recorded there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Attributes, Decision, MASTERS, On, User};
use crate::{
    invalid::quoted,
    kinds::read::{entries, list, text},
};

/// The first line of a recording.
pub(super) struct Recorded {
    objects: Vec<Value>,
    users: BTreeMap<String, User>,
}

/// The first line, and the cases after it.
pub(super) fn read(lines: &str) -> (Recorded, Vec<Value>) {
    let mut lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let first: Value = lines.next().unwrap();
    let users = entries(&first, &["users"]).map(|(key, user)| (key.to_owned(), read_user(user)));
    let objects = list(&first, &["objects"]).to_vec();
    (Recorded { users: users.collect(), objects }, lines.collect())
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
        let by = self.objects.iter().find_map(|binding| self.grant(binding, user, attributes));
        Decision { allowed: by.is_some(), reason: by.unwrap_or_default() }
    }

    /// Which binding allows it to whom, in Kubernetes' words.
    fn grant(&self, binding: &Value, user: &User, attributes: &Attributes<'_>) -> Option<String> {
        let own = text(binding, &["metadata", "namespace"]);
        let asked = match attributes.on {
            On::Resource { namespace, .. } => namespace,
            On::Path(_) => "",
        };
        if !own.is_empty() && own != asked {
            return None;
        }
        let subjects = list(binding, &["subjects"]).iter();
        let to = subjects.filter_map(|subject| applies(subject, own, user)).next()?;
        let (kind, name) =
            (text(binding, &["roleRef", "kind"]), text(binding, &["roleRef", "name"]));
        let is_role = |role: &&Value| {
            let (scope, own) =
                (text(role, &["metadata", "namespace"]), if kind == "Role" { own } else { "" });
            text(role, &["kind"]) == kind
                && text(role, &["metadata", "name"]) == name
                && scope == own
        };
        let rules = list(self.objects.iter().find(is_role)?, &["rules"]);
        if !rules.iter().any(|rule| covers(rule, attributes)) {
            return None;
        }
        let slash = if own.is_empty() { "" } else { "/" };
        let shown = quoted(&format!("{}{slash}{own}", text(binding, &["metadata", "name"])));
        let binding = text(binding, &["kind"]);
        Some(format!("RBAC: allowed by {binding} {shown} of {kind} {} to {to}", quoted(name)))
    }
}

/// The subject as Kubernetes shows it, if the user is it.
fn applies(subject: &Value, own: &str, user: &User) -> Option<String> {
    let (kind, name) = (text(subject, &["kind"]), text(subject, &["name"]));
    let namespace =
        Some(text(subject, &["namespace"])).filter(|text| !text.is_empty()).unwrap_or(own);
    let (is_user, shown) = match kind {
        "User" => (user.name == name, name.to_owned()),
        "Group" => (user.is_in(name), name.to_owned()),
        _ => (
            user.name == format!("system:serviceaccount:{namespace}:{name}"),
            format!("{name}/{namespace}"),
        ),
    };
    is_user.then(|| format!("{kind} {}", quoted(&shown)))
}

fn covers(rule: &Value, attributes: &Attributes<'_>) -> bool {
    let has = |field: &str, value: &str| {
        let values = list(rule, &[field]);
        values.contains(&json!("*")) || values.contains(&json!(value))
    };
    if !has("verbs", attributes.verb) {
        return false;
    }
    match attributes.on {
        On::Path(path) => list(rule, &["nonResourceURLs"]).iter().any(|url| {
            let url = url.as_str().unwrap();
            url == path || url.strip_suffix('*').is_some_and(|start| path.starts_with(start))
        }),
        On::Resource { group, resource, subresource, name, .. } => {
            let (whole, any) = match subresource {
                "" => (resource.to_owned(), resource.to_owned()),
                part => (format!("{resource}/{part}"), format!("*/{part}")),
            };
            let names = list(rule, &["resourceNames"]);
            has("apiGroups", group)
                && (has("resources", &whole) || has("resources", &any))
                && (names.is_empty() || names.contains(&json!(name)))
        }
    }
}
