//! Binding a pod to a node. Source: `BindingREST` in `pkg/registry/core/pod/storage`,
//! `ValidatePodBinding`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{conditions, validate};
use crate::{
    invalid::{Errors, FieldError, Path, aggregated},
    kinds::{
        names,
        read::{entries, entry, list, remove, text},
    },
};

/// Why a pod was not bound.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum BindError {
    /// The binding itself is invalid: a 500 without reason, with this message.
    #[error("{}", aggregated(.0))]
    Invalid(Errors),
    /// The pod can't be bound: a 409 on `pods/binding` that wraps this text.
    #[error("{0}")]
    Conflict(String),
}

/// Validates a binding on its own, before the pod is looked up.
pub(crate) fn check(binding: &Value) -> Result<(), BindError> {
    let mut errors = Errors::new();
    let path = Path::root("target");
    let (kind, name) = (text(binding, &["target", "kind"]), text(binding, &["target", "name"]));
    let for_node = kind.is_empty() || kind == "Node";
    if !for_node {
        let supported = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(path.child("kind"), &json!(kind), &supported));
    }
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    } else if for_node {
        validate::invalid(&mut errors, name, &path.child("name"), names::dns1123_subdomain(name));
    }
    if errors.is_empty() { Ok(()) } else { Err(BindError::Invalid(errors)) }
}

/// Assigns a pod to the node of a binding, with the labels and annotations of the binding. The
/// caller checks preconditions (uid and resource version of the binding).
pub(crate) fn bind(pod: &mut Value, binding: &Value, now: Timestamp) -> Result<(), BindError> {
    check(binding)?;
    free(pod)?;
    *entry(pod, &["spec", "nodeName"]) = binding["target"]["name"].clone();
    remove(pod, &["status", "nominatedNodeName"]);
    for name in ["annotations", "labels"] {
        for (key, value) in entries(binding, &["metadata", name]) {
            *entry(pod, &["metadata", name, key]) = value.clone();
        }
    }
    conditions::set(
        entry(pod, &["status"]),
        &json!({"type": "PodScheduled", "status": "True"}),
        now,
    );
    Ok(())
}

fn free(pod: &Value) -> Result<(), BindError> {
    let name = text(pod, &["metadata", "name"]);
    let node = text(pod, &["spec", "nodeName"]);
    let words = if !text(pod, &["metadata", "deletionTimestamp"]).is_empty() {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !node.is_empty() {
        format!("pod {name} is already assigned to node {node:?}")
    } else if !list(pod, &["spec", "schedulingGates"]).is_empty() {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    Err(BindError::Conflict(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_names_a_node() {
        for (target, expected) in [
            (json!({"kind": "Node", "name": "n1"}), None),
            (json!({"name": "n1"}), None),
            (
                json!({"kind": "Rack", "name": "n1"}),
                Some(
                    "target.kind: Unsupported value: \"Rack\": supported values: \"Node\", \"<empty>\"",
                ),
            ),
            (json!({"name": ""}), Some("target.name: Required value")),
        ] {
            let result = check(&json!({"target": target}));
            assert_eq!(result.err().map(|error| error.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn only_a_free_pod_is_bound() {
        let binding = json!({"target": {"name": "n1"}, "metadata": {"labels": {"zone": "a"}}});
        let now = "2020-01-01T00:00:00.5Z".parse().unwrap();
        let mut pod =
            json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Pending"}});
        bind(&mut pod, &binding, now).unwrap();
        assert_eq!(
            pod,
            json!({"metadata": {"name": "a", "labels": {"zone": "a"}}, "spec": {"nodeName": "n1"},
                "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True",
                    "lastProbeTime": null, "lastTransitionTime": "2020-01-01T00:00:00Z"}]}})
        );
        let again = bind(&mut pod, &binding, now).unwrap_err().to_string();
        assert_eq!(again, "pod a is already assigned to node \"n1\"");
        let mut gated =
            json!({"metadata": {"name": "a"}, "spec": {"schedulingGates": [{"name": "g"}]}});
        let error = bind(&mut gated, &binding, now).unwrap_err().to_string();
        assert_eq!(error, "pod a has non-empty .spec.schedulingGates");
    }
}
