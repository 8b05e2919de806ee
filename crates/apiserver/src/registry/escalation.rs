//! Nobody may grant more than they hold: the hooks of roles and bindings.
//!
//! Who writes a role must hold all its rules, or be allowed to `escalate` it; who binds one must
//! hold its rules, or be allowed to `bind` it. Source: `pkg/registry/rbac/*/policybased`.

use evenkeel_authorization::{
    Attributes, On,
    rbac::{self, Policy, RoleRef, Rule, Unresolved, escalation},
};
use serde_json::Value;

use super::{
    Error, Registry, Result,
    hooks::{Hooks, Writing},
};
use crate::{
    api::name_of,
    kinds::{
        KindRef,
        read::{list, text},
    },
};

const NEEDS_ALL: &str = "must have cluster-admin privileges to use the aggregationRule";

/// Of Role and ClusterRole.
#[derive(Debug)]
pub(super) struct RoleHooks;

/// Of RoleBinding and ClusterRoleBinding.
#[derive(Debug)]
pub(super) struct BindingHooks;

impl Hooks for RoleHooks {
    fn authorize(&self, by: &Registry<'_>, write: Writing<'_>) -> Result<()> {
        let Writing { kind, value, old } = write;
        let scope = scope(value);
        if by.api.authorizer.is_unrestricted(by.user) || is_cleanup(value, old) {
            return Ok(());
        }
        // The name of a new object is not part of its request.
        let name = if old.is_some() { name_of(value) } else { "" };
        if may(by, "escalate", &kind.plural, scope, name) {
            return Ok(());
        }
        let rules = Rule::all_of(value);
        by.api.authorizer.with_policy(&by.api.storage, |policy| {
            holds(by, policy, write, &rules)?;
            let aggregates = [Some(value), old].into_iter().flatten().any(aggregates);
            if aggregates && holds(by, policy, write, &escalation::everything()).is_err() {
                return Err(forbidden(kind, value, NEEDS_ALL.to_owned()));
            }
            Ok(())
        })
    }
}

impl Hooks for BindingHooks {
    fn authorize(&self, by: &Registry<'_>, write: Writing<'_>) -> Result<()> {
        let Writing { kind, value, old } = write;
        let scope = scope(value);
        if by.api.authorizer.is_unrestricted(by.user) || is_cleanup(value, old) {
            return Ok(());
        }
        let role = RoleRef::of(&value["roleRef"]);
        let plural = match role.kind.as_str() {
            "ClusterRole" => Some("clusterroles"),
            "Role" => Some("roles"),
            _ => None,
        };
        if plural.is_some_and(|plural| may(by, "bind", plural, scope, &role.name)) {
            return Ok(());
        }
        if scope.is_none() && role.kind == "Role" {
            return Err(Error::BadRequest("Namespace parameter required.".to_owned()));
        }
        by.api.authorizer.with_policy(&by.api.storage, |policy| {
            let rules =
                policy.referenced(scope, &role).map_err(|problem| missing(problem, kind))?;
            holds(by, policy, write, rules)
        })
    }
}

fn scope(value: &Value) -> Option<&str> {
    Some(text(value, &["metadata", "namespace"])).filter(|namespace| !namespace.is_empty())
}

fn may(by: &Registry<'_>, verb: &str, resource: &str, scope: Option<&str>, name: &str) -> bool {
    let namespace = scope.unwrap_or_default();
    let on = On::Resource { group: rbac::GROUP, resource, subresource: "", namespace, name };
    let asked = Attributes { verb, on, field_selector: "" };
    by.api.authorizer.allows(&by.api.storage, by.user, &asked)
}

/// Whether the caller holds these rules, or which are missing.
fn holds(by: &Registry<'_>, policy: &Policy, write: Writing<'_>, rules: &[Rule]) -> Result<()> {
    let Writing { kind, value, .. } = write;
    escalation::missing(policy, by.user, scope(value), rules)
        .map_err(|missing| forbidden(kind, value, missing.message(&kind.plural)))
}

fn aggregates(role: &Value) -> bool {
    !list(role, &["aggregationRule", "clusterRoleSelectors"]).is_empty()
}

/// Whether an update changes nothing, or only what garbage collection needs to delete the object.
fn is_cleanup(value: &Value, old: Option<&Value>) -> bool {
    let Some(old) = old else { return false };
    let rest = |object: &Value| {
        let mut rest = object.clone();
        if let Some(metadata) = rest["metadata"].as_object_mut() {
            for field in ["finalizers", "ownerReferences", "managedFields", "resourceVersion"] {
                metadata.remove(field);
            }
        }
        rest
    };
    rest(value) == rest(old)
}

/// Kubernetes names the kind that is written, as if the binding were missing.
fn missing(problem: Unresolved, kind: &KindRef) -> Error {
    match problem {
        Unresolved::ClusterRole(name) | Unresolved::Role(name) => {
            Error::NotFound { kind: kind.clone(), name }
        }
        Unresolved::Kind(_) => Error::Refused(problem.to_string()),
    }
}

fn forbidden(kind: &KindRef, value: &Value, why: String) -> Error {
    Error::Forbidden { kind: kind.clone(), name: name_of(value).to_owned(), why }
}
