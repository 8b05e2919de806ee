//! Role and ClusterRole: rules that say what may be done.
//!
//! Sources: `pkg/apis/rbac/validation` and `pkg/registry/rbac` of Kubernetes. The checks that
//! Kubernetes declares on its types (a rule has verbs) are reported after all others.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    names,
    pod::validate,
    read::{list, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

pub(crate) static ROLE: KindRef = Held::Static(&Kind {
    group: fixed(RBAC),
    version: fixed("v1"),
    kind: fixed("Role"),
    plural: fixed("roles"),
    singular: fixed("role"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.rbac.v1.Role"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[table::NAME, CREATED_AT],
    strategy: Held::Static(&RoleStrategy { namespaced: true }),
    custom: None,
});

pub(crate) static CLUSTER_ROLE: KindRef = Held::Static(&Kind {
    group: fixed(RBAC),
    version: fixed("v1"),
    kind: fixed("ClusterRole"),
    plural: fixed("clusterroles"),
    singular: fixed("clusterrole"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.rbac.v1.ClusterRole"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[table::NAME, CREATED_AT],
    strategy: Held::Static(&RoleStrategy { namespaced: false }),
    custom: None,
});

/// The second column of kinds without a printer of their own.
const CREATED_AT: Column = Column {
    name: "Created At",
    type_: "date",
    format: "",
    priority: 0,
    description: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta#creationTimestamp",
    cell: |object, _| json!(text(object, &["metadata", "creationTimestamp"])),
};

#[derive(Debug)]
struct RoleStrategy {
    /// A Role; otherwise a ClusterRole.
    namespaced: bool,
}

// === impl RoleStrategy ===

impl Strategy for RoleStrategy {
    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        self.validate(object)
    }

    fn validate_update(&self, _: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        self.validate(new)
    }

    fn name(&self) -> names::Check {
        names::Check::PathSegment
    }
}

impl RoleStrategy {
    fn validate(&self, object: &Value) -> Errors {
        let (mut errors, mut without_verbs) = (Errors::new(), Errors::new());
        for (i, rule) in list(object, &["rules"]).iter().enumerate() {
            let path = Path::root("rules").index(i);
            validate_rule(&mut errors, rule, &path, self.namespaced);
            if list(rule, &["verbs"]).is_empty() {
                without_verbs.push(FieldError::required(path.child("verbs"), ""));
            }
        }
        if !self.namespaced {
            validate_aggregation(&mut errors, &object["aggregationRule"]);
        }
        errors.extend(without_verbs);
        errors
    }
}

/// A rule is about paths, or about resources.
fn validate_rule(errors: &mut Errors, rule: &Value, path: &Path, namespaced: bool) {
    let has = |field: &str| !list(rule, &[field]).is_empty();
    if !has("nonResourceURLs") {
        if !has("apiGroups") {
            let words = "resource rules must supply at least one api group";
            errors.push(FieldError::required(path.child("apiGroups"), words));
        }
        if !has("resources") {
            let words = "resource rules must supply at least one resource";
            errors.push(FieldError::required(path.child("resources"), words));
        }
        return;
    }
    let mut invalid = |words: &str| {
        let path = path.child("nonResourceURLs");
        errors.push(FieldError::invalid(path, &rule["nonResourceURLs"], words));
    };
    if namespaced {
        invalid("namespaced rules cannot apply to non-resource URLs");
    }
    if has("apiGroups") || has("resources") || has("resourceNames") {
        invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
}

fn validate_aggregation(errors: &mut Errors, aggregation: &Value) {
    if !aggregation.is_object() {
        return;
    }
    let path = Path::root("aggregationRule").child("clusterRoleSelectors");
    let selectors = list(aggregation, &["clusterRoleSelectors"]);
    if selectors.is_empty() {
        let words = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path.clone(), words));
    }
    for (i, selector) in selectors.iter().enumerate() {
        let (path, before) = (path.index(i), errors.len());
        validate::label_selector(errors, selector, &path);
        if errors.len() > before {
            // Kubernetes shows the selector that could not be made of it.
            errors.push(FieldError::invalid(path, &Value::Null, "invalid label selector."));
        }
    }
}

#[cfg(test)]
mod exchanges;
