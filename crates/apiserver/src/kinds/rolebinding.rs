//! RoleBinding and ClusterRoleBinding: who has a role.
//!
//! Sources: `pkg/apis/rbac/validation`, `pkg/apis/rbac/v1/defaults.go` and `pkg/registry/rbac` of
//! Kubernetes. The checks that Kubernetes declares on its types (subjects and the role have names)
//! are reported after all others.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    metadata, names,
    read::{entry, list, text},
    role::RBAC,
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) static ROLE_BINDING: KindRef = Held::Static(&Kind {
    group: fixed(RBAC),
    version: fixed("v1"),
    kind: fixed("RoleBinding"),
    plural: fixed("rolebindings"),
    singular: fixed("rolebinding"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.rbac.v1.RoleBinding"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        role(
            "roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
        ),
        table::AGE,
        users("Users in the roleBinding"),
        groups("Groups in the roleBinding"),
        service_accounts("ServiceAccounts in the roleBinding"),
    ],
    strategy: Held::Static(&BindingStrategy { roles: &["Role", "ClusterRole"], namespaced: true }),
    custom: None,
});

pub(crate) static CLUSTER_ROLE_BINDING: KindRef = Held::Static(&Kind {
    group: fixed(RBAC),
    version: fixed("v1"),
    kind: fixed("ClusterRoleBinding"),
    plural: fixed("clusterrolebindings"),
    singular: fixed("clusterrolebinding"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.rbac.v1.ClusterRoleBinding"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        role(
            "roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
        ),
        table::AGE,
        users("Users in the clusterRoleBinding"),
        groups("Groups in the clusterRoleBinding"),
        service_accounts("ServiceAccounts in the clusterRoleBinding"),
    ],
    strategy: Held::Static(&BindingStrategy { roles: &["ClusterRole"], namespaced: false }),
    custom: None,
});

#[derive(Debug)]
struct BindingStrategy {
    /// The kinds of role that it may name.
    roles: &'static [&'static str],
    /// A RoleBinding; otherwise a ClusterRoleBinding.
    namespaced: bool,
}

// === impl BindingStrategy ===

impl Strategy for BindingStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        if text(object, &["roleRef", "apiGroup"]).is_empty() {
            *entry(object, &["roleRef", "apiGroup"]) = json!(RBAC);
        }
        for subject in object["subjects"].as_array_mut().into_iter().flatten() {
            let by_kind = matches!(text(subject, &["kind"]), "User" | "Group");
            if by_kind && text(subject, &["apiGroup"]).is_empty() {
                *entry(subject, &["apiGroup"]) = json!(RBAC);
            }
        }
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        let (mut errors, role_unnamed) = self.validate(object);
        errors.extend(subjects_unnamed(object));
        errors.extend(role_unnamed);
        errors
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let (mut errors, role_unnamed) = self.validate(new);
        // A role that changed is not looked at further by the declared checks.
        if new["roleRef"] != old["roleRef"] {
            let at = errors.iter().position(|error| error.path.as_str().starts_with("subjects"));
            let at = at.unwrap_or(errors.len());
            errors.splice(at..at, role_unnamed);
            errors.push(FieldError::immutable(Path::root("roleRef"), &printed(&new["roleRef"])));
        }
        errors.extend(subjects_unnamed(new));
        errors
    }

    fn name(&self) -> names::Check {
        names::Check::PathSegment
    }
}

impl BindingStrategy {
    /// The errors, and that of a role without a name, whose place differs.
    fn validate(&self, object: &Value) -> (Errors, Option<FieldError>) {
        let (role, path) = (&object["roleRef"], Path::root("roleRef"));
        let mut errors = Errors::new();
        let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| text(role, &[field]));
        if group != RBAC {
            let path = path.child("apiGroup");
            errors.push(FieldError::not_supported(path, &json!(group), &[RBAC]));
        }
        if !self.roles.contains(&kind) {
            let path = path.child("kind");
            errors.push(FieldError::not_supported(path, &json!(kind), self.roles));
        }
        let path = path.child("name");
        errors.extend(metadata::invalid(&path, name, names::path_segment_name(name)));
        for (i, subject) in list(object, &["subjects"]).iter().enumerate() {
            let path = Path::root("subjects").index(i);
            validate_subject(&mut errors, subject, &path, self.namespaced);
        }
        let unnamed = name.is_empty().then(|| FieldError::required(path, ""));
        (errors, unnamed)
    }
}

fn validate_subject(errors: &mut Errors, subject: &Value, path: &Path, namespaced: bool) {
    let [kind, name, group, namespace] =
        ["kind", "name", "apiGroup", "namespace"].map(|field| text(subject, &[field]));
    let mut of_group = |wanted: &str| {
        if group != wanted {
            let path = path.child("apiGroup");
            errors.push(FieldError::not_supported(path, &json!(group), &[wanted]));
        }
    };
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = names::dns1123_subdomain(name);
                errors.extend(metadata::invalid(&path.child("name"), name, wrong));
            }
            if !group.is_empty() {
                let path = path.child("apiGroup");
                errors.push(FieldError::not_supported(path, &json!(group), &[""]));
            }
            if !namespaced && namespace.is_empty() {
                errors.push(FieldError::required(path.child("namespace"), ""));
            }
        }
        "User" | "Group" => of_group(RBAC),
        _ => {
            let kinds = &["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(path.child("kind"), &json!(kind), kinds));
        }
    }
}

fn subjects_unnamed(object: &Value) -> Errors {
    let subjects = list(object, &["subjects"]).iter().enumerate();
    let unnamed = subjects.filter(|(_, subject)| text(subject, &["name"]).is_empty());
    let path = |i: usize| Path::root("subjects").index(i).child("name");
    unnamed.map(|(i, _)| FieldError::required(path(i), "")).collect()
}

/// A role as Kubernetes prints it: by the names of its internal type.
fn printed(role: &Value) -> Value {
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| text(role, &[field]));
    json!({"APIGroup": group, "Kind": kind, "Name": name})
}

// === Columns ===

const fn role(description: &'static str) -> Column {
    Column {
        name: "Role",
        type_: "string",
        format: "",
        priority: 0,
        description,
        cell: |object, _| {
            let [kind, name] = ["kind", "name"].map(|field| text(object, &["roleRef", field]));
            json!(format!("{kind}/{name}"))
        },
    }
}

const fn users(description: &'static str) -> Column {
    let cell = |object: &Value, _| json!(subjects(object, "User"));
    Column { name: "Users", type_: "string", format: "", priority: 1, description, cell }
}

const fn groups(description: &'static str) -> Column {
    let cell = |object: &Value, _| json!(subjects(object, "Group"));
    Column { name: "Groups", type_: "string", format: "", priority: 1, description, cell }
}

const fn service_accounts(description: &'static str) -> Column {
    let cell = |object: &Value, _| json!(subjects(object, "ServiceAccount"));
    Column { name: "ServiceAccounts", type_: "string", format: "", priority: 1, description, cell }
}

/// The names of the subjects of a kind; ServiceAccounts with their namespaces.
fn subjects(object: &Value, kind: &str) -> String {
    let of_kind = list(object, &["subjects"]).iter().filter(|one| text(one, &["kind"]) == kind);
    let names: Vec<String> = of_kind
        .map(|subject| match (kind, text(subject, &["name"])) {
            ("ServiceAccount", name) => format!("{}/{name}", text(subject, &["namespace"])),
            (_, name) => name.to_owned(),
        })
        .collect();
    names.join(", ")
}
