//! Roles and bindings as they are read from stored objects.
//!
//! Reading never fails: what the API would not have accepted grants nothing.

use std::borrow::Cow;

use serde_json::Value;

use super::Rule;
use crate::SERVICE_ACCOUNT;

/// A Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    pub rules: Vec<Rule>,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    pub role_ref: RoleRef,
    pub subjects: Vec<Subject>,
}

/// Which role a binding gives. The API group is not looked at, as in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RoleRef {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    pub name: String,
}

/// Whom a binding gives it to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: String,
    pub name: String,
    /// Of a ServiceAccount; within a RoleBinding it may be empty.
    pub namespace: String,
}

/// Whom a subject means: a ServiceAccount is the user that its tokens identify.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who<'a> {
    User(Cow<'a, str>),
    Group(&'a str),
}

// === impl Role ===

impl Role {
    pub fn of(stored: &Value) -> Role {
        Role { rules: Rule::all_of(stored) }
    }
}

// === impl Binding ===

impl Binding {
    pub fn of(stored: &Value) -> Binding {
        let subjects = stored.get("subjects").and_then(Value::as_array);
        Binding {
            role_ref: stored.get("roleRef").map(RoleRef::of).unwrap_or_default(),
            subjects: subjects.into_iter().flatten().filter_map(Subject::of).collect(),
        }
    }
}

// === impl RoleRef ===

impl RoleRef {
    pub fn of(value: &Value) -> RoleRef {
        RoleRef { kind: text(value, "kind").to_owned(), name: text(value, "name").to_owned() }
    }
}

// === impl Subject ===

impl Subject {
    /// `None` for what is no object with a kind and a name.
    pub fn of(value: &Value) -> Option<Subject> {
        let kind = value.get("kind")?.as_str()?.to_owned();
        let name = value.get("name")?.as_str()?.to_owned();
        Some(Subject { kind, name, namespace: text(value, "namespace").to_owned() })
    }

    /// Whom it means in a binding of this namespace, which is empty for a ClusterRoleBinding.
    pub(crate) fn who(&self, binding_namespace: &str) -> Option<Who<'_>> {
        match self.kind.as_str() {
            "User" => Some(Who::User(Cow::Borrowed(&self.name))),
            "Group" => Some(Who::Group(&self.name)),
            "ServiceAccount" => {
                let namespace = self.namespace_within(binding_namespace);
                let user = || format!("{SERVICE_ACCOUNT}{namespace}:{}", self.name);
                (!namespace.is_empty()).then(|| Who::User(Cow::Owned(user())))
            }
            _ => None,
        }
    }

    pub(crate) fn namespace_within<'a>(&'a self, binding_namespace: &'a str) -> &'a str {
        if self.namespace.is_empty() { binding_namespace } else { &self.namespace }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_malformed_binding_gives_nothing_to_nobody() {
        for stored in [json!(null), json!([]), json!({"roleRef": 1, "subjects": {}})] {
            assert_eq!(Binding::of(&stored), Binding::default());
        }
        let stored = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects":
            [1, {"kind": "User"}, {"kind": "User", "name": 1}, {"kind": "Group", "name": ""}]});
        let binding = Binding::of(&stored);
        assert_eq!(binding.subjects.len(), 1);
        assert_eq!(binding.role_ref.name, "r");
    }

    #[test]
    fn a_service_account_is_a_user() {
        let account = |namespace: &str| Subject {
            kind: "ServiceAccount".to_owned(),
            name: "s".to_owned(),
            namespace: namespace.to_owned(),
        };
        let user = |name: &str| Some(Who::User(Cow::Owned(name.to_owned())));
        assert_eq!(account("a").who("b"), user("system:serviceaccount:a:s"));
        assert_eq!(account("").who("b"), user("system:serviceaccount:b:s"));
        assert_eq!(account("").who(""), None);
        let other = Subject { kind: "Robot".to_owned(), ..account("a") };
        assert_eq!(other.who("b"), None);
    }
}
