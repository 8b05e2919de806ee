//! Selectors: of Nodes by a Pod, of Pods by their labels.
//! They are evaluated in place, since each is matched with few objects. Source:
//! `component-helpers/scheduling/corev1/nodeaffinity`.

use std::collections::BTreeMap;

use evenkeel_model::labels::Operator;
use k8s_openapi::{
    api::core::v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};

use super::world::name_of;

pub(super) type Labels = BTreeMap<String, String>;

/// The field by which a term names a Node.
pub(super) const NAME_FIELD: &str = "metadata.name";

/// An empty selector selects everything.
pub(super) fn selects(selector: &LabelSelector, labels: Option<&Labels>) -> bool {
    let mut expressions = selector.match_expressions.iter().flatten();
    contains(labels, selector.match_labels.as_ref())
        && expressions.all(|one| {
            let values = one.values.as_deref().unwrap_or_default();
            is_met(&one.operator, values, label(labels, &one.key))
        })
}

/// Whether a selector has no requirements.
pub(super) fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.iter().flatten().next().is_none()
        && selector.match_expressions.iter().flatten().next().is_none()
}

/// Whether all these labels are among those.
pub(super) fn contains(labels: Option<&Labels>, all: Option<&Labels>) -> bool {
    all.into_iter().flatten().all(|(key, value)| label(labels, key) == Some(value))
}

/// Whether a Pod selects this Node: by its node selector and its required node affinity.
pub(super) fn selects_node(spec: &PodSpec, node: &Node) -> bool {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    contains(node.metadata.labels.as_ref(), spec.node_selector.as_ref())
        && required.is_none_or(|required| {
            required.node_selector_terms.iter().any(|term| suits(term, node))
        })
}

/// How much a Pod prefers this Node: the sum of the weights of its preferred terms that select it.
pub(super) fn preference(spec: &PodSpec, node: &Node) -> i64 {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let preferred = affinity.and_then(|affinity| {
        affinity.preferred_during_scheduling_ignored_during_execution.as_ref()
    });
    let suiting = preferred.into_iter().flatten().filter(|term| suits(&term.preference, node));
    suiting.map(|term| i64::from(term.weight)).sum()
}

/// All requirements of a term; a term without any selects nothing.
fn suits(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let names = |one: &NodeSelectorRequirement| {
        one.key == NAME_FIELD
            && one.values.as_ref().is_some_and(|values| values.len() == 1)
            && holds(one, Some(name_of(&node.metadata)))
    };
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|one| holds(one, label(labels, &one.key)))
        && fields.iter().all(names)
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    is_met(&requirement.operator, requirement.values.as_deref().unwrap_or_default(), value)
}

fn is_met(operator: &str, values: &[String], value: Option<&str>) -> bool {
    Operator::named(operator).is_some_and(|operator| operator.is_met(values, value))
}

fn label<'a>(labels: Option<&'a Labels>, key: &str) -> Option<&'a str> {
    labels?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    #[test]
    fn all_requirements_must_hold() {
        let labels: Labels = serde_json::from_value(json!({"app": "a", "tier": "web"})).unwrap();
        for (selector, matching) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "a"}}), true),
            (json!({"matchLabels": {"app": "a", "x": "y"}}), false),
            (expression("app", "In", &["a", "b"]), true),
            (expression("app", "In", &["b"]), false),
            (expression("x", "In", &["b"]), false),
            (expression("app", "NotIn", &["a"]), false),
            (expression("x", "NotIn", &["a"]), true),
            (expression("app", "Exists", &[]), true),
            (expression("x", "Exists", &[]), false),
            (expression("x", "DoesNotExist", &[]), true),
            (expression("app", "Like", &[]), false),
        ] {
            let parsed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(selects(&parsed, Some(&labels)), matching, "{selector}");
            assert_eq!(is_empty(&parsed), selector == json!({}), "{selector}");
        }
        let none = serde_json::from_value(json!({"matchLabels": {}, "matchExpressions": []}));
        assert!(is_empty(&none.unwrap()));
        let one = serde_json::from_value(json!({"app": "a"})).unwrap();
        assert!(contains(Some(&labels), Some(&one)) && contains(Some(&labels), None));
        assert!(!contains(Some(&one), Some(&labels)) && !contains(None, Some(&one)));
    }

    #[test]
    fn nodes_are_chosen_by_labels_and_affinity() {
        let node = json!({"metadata": {"name": "n", "labels": {"zone": "a", "size": "8"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let is_chosen = |part: &Value| {
            let mut spec = json!({"containers": []});
            spec.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            selects_node(&serde_json::from_value(spec).unwrap(), &node)
        };
        assert!(is_chosen(&json!({})));
        assert!(is_chosen(&json!({"nodeSelector": {"zone": "a"}})));
        assert!(!is_chosen(&json!({"nodeSelector": {"zone": "b"}})));
        let field = |operator: &str, values: &[&str]| json!({"matchFields": [{"key": NAME_FIELD, "operator": operator, "values": values}]});
        let both = |one: Value, other: Value| {
            let mut both = one;
            both.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
            both
        };
        for (terms, chosen) in [
            (json!([]), false),
            (json!([{}]), false),
            (json!([expression("zone", "In", &["a", "b"])]), true),
            (json!([expression("zone", "In", &["b"])]), false),
            (json!([expression("rack", "NotIn", &["b"])]), true),
            (json!([expression("zone", "NotIn", &["a"])]), false),
            (json!([expression("zone", "Exists", &[])]), true),
            (json!([expression("zone", "DoesNotExist", &[])]), false),
            (json!([expression("size", "Gt", &["7"])]), true),
            (json!([expression("size", "Gt", &["8"])]), false),
            (json!([expression("size", "Lt", &["9"])]), true),
            (json!([expression("size", "Lt", &["9", "10"])]), false),
            (json!([expression("zone", "Lt", &["9"])]), false),
            (json!([expression("zone", "Like", &["a"])]), false),
            (json!([field("In", &["n"])]), true),
            (json!([field("In", &["m"])]), false),
            (json!([field("In", &["m", "n"])]), false),
            (json!([field("NotIn", &["m"])]), true),
            (json!([expression("zone", "In", &["b"]), field("In", &["n"])]), true),
            (json!([both(expression("zone", "In", &["b"]), field("In", &["n"]))]), false),
        ] {
            let required = json!({"nodeSelectorTerms": terms});
            let affinity = json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required}});
            assert_eq!(is_chosen(&json!({"affinity": affinity})), chosen, "{required}");
        }
    }
}
