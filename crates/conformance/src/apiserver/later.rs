//! What the server does not support yet. The list is exhaustive: a scenario that is not on it must
//! pass.

use serde_json::Value;

use super::scenario::{Exchange, Scenario, Step};

/// Groups that are not served yet. They are removed from both sides of a discovery response, so
/// that the rest of it is still compared; such a scenario is never counted as passed.
const GROUPS: [&str; 1] = ["apiextensions.k8s.io"];

/// How much of a scenario is unsupported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    /// Everything is supported.
    Nothing,
    /// Everything except groups that are not served.
    Groups,
    /// Nothing is supported.
    All,
}

/// How much of this file's scenario is unsupported.
pub(super) fn later(file: &str, scenario: &Scenario) -> Later {
    let whole_file = matches!(file, "apply.jsonl" | "crd.jsonl");
    let steps = &scenario.steps;
    let n_later = steps.iter().filter(|step| is_later_step(step)).count();
    let changes = |step: &Step| step.exchange().is_some_and(|e| e.request.method != "GET");
    let hang_together = n_later == steps.len() || steps.iter().any(changes);
    if whole_file || (n_later > 0 && hang_together) {
        return Later::All;
    }
    let mut bodies = steps.iter().filter_map(|step| step.exchange()?.response.body.as_ref());
    if n_later > 0 || bodies.any(|body| without_later_groups(body.clone()) != *body) {
        return Later::Groups;
    }
    Later::Nothing
}

/// A step that is skipped. If only some steps are skipped, all of them only read.
pub(super) fn is_later_step(step: &Step) -> bool {
    let Some(Exchange { request, .. }) = step.exchange() else { return false };
    is_apply(request.content_type.as_deref()) || is_later_path(&request.path)
}

/// Server-side apply.
pub(super) fn is_apply(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|content_type| content_type.starts_with("application/apply-patch"))
}

/// Custom resources.
pub(super) fn is_later_path(path: &str) -> bool {
    path.starts_with("/apis/apiextensions.k8s.io")
}

/// A discovery or OpenAPI response without the groups that are not served.
pub(super) fn without_later_groups(mut body: Value) -> Value {
    let is_later = |name: &Value| name.as_str().is_some_and(|name| GROUPS.contains(&name));
    let list = match body["kind"].as_str() {
        Some("APIGroupList") => body.get_mut("groups"),
        Some("APIGroupDiscoveryList") => body.get_mut("items"),
        _ => None,
    };
    if let Some(groups) = list.and_then(Value::as_array_mut) {
        groups.retain(|group| !is_later(&group["name"]) && !is_later(&group["metadata"]["name"]));
    }
    let names_later = |path: &str| GROUPS.iter().any(|group| path.contains(group));
    match body.get_mut("paths") {
        Some(Value::Object(paths)) => paths.retain(|path, _| !names_later(path)),
        Some(Value::Array(paths)) => paths.retain(|p| !p.as_str().is_some_and(names_later)),
        _ => {}
    }
    body
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FLOW_SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";

    #[test]
    fn only_the_listed_features_are_for_later() {
        let scenario = |server: &str, path: &str, content_type: &str| -> Scenario {
            let request = json!({"method": "PATCH", "path": path, "content_type": content_type});
            let steps = json!([{"request": request, "response": {"status": 200}}]);
            let line = json!({"id": "a", "server": server, "steps": steps}).to_string();
            serde_json::from_str(&line).unwrap()
        };
        let (json, apply) = ("application/json", "application/apply-patch+yaml");
        for (file, server, path, content_type, expected) in [
            ("pods.jsonl", "default", "/api/v1/nodes", json, Later::Nothing),
            ("pods.jsonl", "dualstack", "/api/v1/nodes", json, Later::Nothing),
            ("crd.jsonl", "default", "/api/v1/nodes", json, Later::All),
            ("pods.jsonl", "rbac", "/api/v1/nodes", json, Later::Nothing),
            ("pods.jsonl", "fairness", "/api/v1/nodes", json, Later::Nothing),
            ("pods.jsonl", "default", "/api/v1/nodes", apply, Later::All),
            ("verbs.jsonl", "default", "/apis/apiextensions.k8s.io/v1", json, Later::All),
            ("flowcontrol.jsonl", "default", FLOW_SCHEMAS, json, Later::Nothing),
            ("flowcontrol.jsonl", "fairness", FLOW_SCHEMAS, json, Later::Nothing),
        ] {
            assert_eq!(later(file, &scenario(server, path, content_type)), expected);
        }
    }

    #[test]
    fn only_unserved_groups_are_removed_from_discovery() {
        let groups = json!({"kind": "APIGroupList",
            "groups": [{"name": "apps"}, {"name": "apiextensions.k8s.io"}]});
        let left = json!({"kind": "APIGroupList", "groups": [{"name": "apps"}]});
        assert_eq!(without_later_groups(groups), left);
        let other =
            json!({"kind": "List", "items": [{"metadata": {"name": "apiextensions.k8s.io"}}]});
        assert_eq!(without_later_groups(other.clone()), other);
    }
}
