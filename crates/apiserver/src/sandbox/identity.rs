//! Under which identity a part acts: that of the component it simulates.

use std::sync::Arc;

use serde_json::Value;

use super::Part;
use crate::{
    identity::{User, actors},
    kinds::{KindRef, LEASE, NODE, POD},
    storage::Storage,
};

/// What is written, as far as the identity depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    pub(super) kind: &'static KindRef,
    /// The patch of the object or of its status, if it is one.
    pub(super) patch: Option<&'a Value>,
}

/// The identity of a write of a part, which examined the object at `key`.
pub(super) fn of(part: Part, key: &str, written: Written<'_>, storage: &Storage) -> Arc<User> {
    let actor = match part {
        Part::Node if is_kubelets(written) => return actors::kubelet(key),
        Part::Node | Part::Eviction => &actors::NODE_CONTROLLER,
        Part::Deployment => &actors::DEPLOYMENT_CONTROLLER,
        Part::ReplicaSet => &actors::REPLICA_SET_CONTROLLER,
        Part::DaemonSet => &actors::DAEMON_SET_CONTROLLER,
        Part::Scheduler => &actors::SCHEDULER,
        Part::Kubelet => return actors::kubelet(&node_of(key, storage)),
    };
    Arc::clone(actor)
}

/// Leases, and what a kubelet reports about its Node. Taints are the node controller's, and so is
/// the status of a Node of which nothing is heard.
fn is_kubelets(written: Written<'_>) -> bool {
    if written.kind != &NODE {
        return written.kind == &LEASE;
    }
    let Some(patch) = written.patch else { return false };
    let conditions = patch["status"]["conditions"].as_array().map(Vec::as_slice);
    let mut conditions = conditions.unwrap_or_default().iter();
    patch["spec"].is_null() && conditions.all(|one| one["status"] != "Unknown")
}

/// The Node of a Pod: a selectable field, so there is no need to parse.
fn node_of(key: &str, storage: &Storage) -> String {
    let field = POD.fields.iter().position(|(field, _)| *field == "spec.nodeName");
    let pod = storage.object(&POD, key);
    let node = pod.as_ref().zip(field).and_then(|(pod, field)| pod.fields.get(field));
    node.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kubelet_reports_and_the_node_controller_taints() {
        let alive = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let lost = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        let tainted = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"taints": []}});
        for (kind, patch, expected) in [
            (&NODE, Some(&alive), true),
            (&NODE, Some(&lost), false),
            (&NODE, Some(&label), true),
            (&NODE, Some(&tainted), false),
            (&LEASE, None, true),
            (&crate::kinds::EVENT, None, false),
        ] {
            assert_eq!(is_kubelets(Written { kind, patch }), expected, "{patch:?}");
        }
    }
}
