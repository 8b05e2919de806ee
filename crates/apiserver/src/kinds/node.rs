//! Node.

mod annotations;
mod columns;
mod taints;
mod validate;
mod warnings;

use serde_json::{Value, json};

use super::{
    Admission, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource, fixed,
    read::{at, carry_over, entry, flag, list, remove, text},
};
use crate::invalid::Errors;

pub(crate) static NODE: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Node"),
    plural: fixed("nodes"),
    singular: fixed("node"),
    short_names: Held::Static(&[fixed("no")]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.core.v1.Node"),
    verbs: EVERY_VERB,
    subresources: &[
        Subresource::NotSupported(
            "proxy",
            "NodeProxyOptions",
            &["create", "delete", "get", "patch", "update"],
        ),
        Subresource::Status,
    ],
    fields: &[("spec.unschedulable", |object| {
        flag(object, &["spec", "unschedulable"]).to_string()
    })],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&NodeStrategy),
    custom: None,
});

#[derive(Debug)]
struct NodeStrategy;

impl Strategy for NodeStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        agree_on_pod_cidr(object);
        let capacity = at(object, &["status", "capacity"]);
        if !capacity.is_null() && at(object, &["status", "allocatable"]).is_null() {
            *entry(object, &["status", "allocatable"]) = capacity.clone();
        }
    }

    /// A kubelet registers its node with its status, so a create may set all of it.
    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        remove(object, &["spec", "configSource"]);
        remove(object, &["spec", "podPreemptionPolicy"]);
        remove(object, &["status", "config"]);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate::node(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        match part {
            Part::Main => {
                carry_over(new, old, &["status"]);
                drop_unused(new, old, &["spec", "configSource"]);
                drop_unused(new, old, &["spec", "podPreemptionPolicy"]);
            }
            Part::Status => {
                carry_over(new, old, &["spec"]);
                drop_unused(new, old, &["status", "config"]);
            }
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        // Kubernetes runs both validations on an update, so some errors occur twice.
        let mut errors = if part == Part::Main { validate::node(new) } else { Errors::new() };
        errors.extend(validate::update(new, old));
        errors
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings::of(new)
    }
}

/// Fields of disabled features are kept only if already stored.
fn drop_unused(new: &mut Value, old: &Value, path: &[&str]) {
    if at(old, path).is_null() {
        remove(new, path);
    }
}

/// `podCIDR` is the first of `podCIDRs`; it takes precedence if they differ.
fn agree_on_pod_cidr(object: &mut Value) {
    let single = text(object, &["spec", "podCIDR"]).to_owned();
    let first = list(object, &["spec", "podCIDRs"]).first().and_then(Value::as_str);
    match first.map(str::to_owned) {
        Some(first) if single.is_empty() => *entry(object, &["spec", "podCIDR"]) = json!(first),
        Some(first) if first == single => {}
        _ if single.is_empty() => {}
        _ => *entry(object, &["spec", "podCIDRs"]) = json!([single]),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn pod_cidr_and_capacity_are_filled_in() {
        for (given, stored) in [
            (
                json!({"spec": {"podCIDR": "a"}}),
                json!({"spec": {"podCIDR": "a", "podCIDRs": ["a"]}}),
            ),
            (
                json!({"spec": {"podCIDRs": ["a", "b"]}}),
                json!({"spec": {"podCIDR": "a", "podCIDRs": ["a", "b"]}}),
            ),
            (
                json!({"spec": {"podCIDR": "c", "podCIDRs": ["a", "b"]}}),
                json!({"spec": {"podCIDR": "c", "podCIDRs": ["c"]}}),
            ),
            (json!({"spec": {}}), json!({"spec": {}})),
            (
                json!({"status": {"capacity": {"cpu": "1"}}}),
                json!({"status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}}),
            ),
        ] {
            let mut object = given;
            NodeStrategy.default(&mut object, &facts::admission());
            assert_eq!(object, stored);
        }
    }

    #[test]
    fn each_part_leaves_the_other_alone() {
        let at = facts::admission();
        let old = json!({"spec": {"unschedulable": true}, "status": {"phase": "Running"}});
        let given = json!({"spec": {"configSource": {}}, "status": {"config": {}}});
        let mut main = given.clone();
        NodeStrategy.prepare_update(Part::Main, &mut main, &old, &at);
        assert_eq!(main, json!({"spec": {}, "status": {"phase": "Running"}}));
        let mut status = given;
        NodeStrategy.prepare_update(Part::Status, &mut status, &old, &at);
        assert_eq!(status, json!({"spec": {"unschedulable": true}, "status": {}}));
    }
}
