//! What the server does not support yet, server-side apply, and where it departs from Kubernetes. All
//! other scenarios must pass.

use super::scenario::{Exchange, Scenario, Step};

/// Recorded scenarios about custom resources that are answered otherwise, and why.
const DEPARTURES: &[(&str, &str)] = &[
    ("crdx.type-number-forms", "large floats are printed with an exponent"),
    ("crdx.values-deep", "large floats are printed with an exponent"),
    ("crdx.embedded", "wrong types of embedded metadata are 422, not 400"),
    ("crdx.def-versions-empty", "an empty list of versions is shown as null"),
    ("crdx.crd-update-invalid", "an empty list of versions is shown as null"),
    ("crdx.def-conversion-webhook-ok", "conversion webhooks are refused"),
    ("crdx.conversion-webhook-down", "conversion webhooks are refused"),
    ("crdx.schema-default-cel", "defaults are checked against rules with the first object"),
    ("crdx.crd-wrong-kind", "the former version v1beta1 of definitions is unknown"),
    ("crdx.create-yaml", "the YAML parser has words of its own"),
    ("crdx.put-immutable", "a patch of apiVersion is 400, not 422"),
    ("crdx.generation-other-root", "managedFields are not kept"),
    ("crdx.managed-fields", "managedFields are not kept"),
    ("crdx.scale-put", "the words for another kind than Scale"),
    ("crdx.scale-methods", "the columns of a Scale are those of Deployments"),
    ("crdx.list-rv", "a get at an invalid version is 400, not 500"),
    ("crdx.paths-unknown", "a PUT of a collection is 405, not 400"),
    ("crdx.crd-delete-finalizer", "a second delete of a definition changes nothing"),
    ("crdx.crd-delete-options", "the words of a failed precondition"),
    ("crdx.versions-removed-data", "objects written by a removed version stay readable"),
    ("crdx.versions-schemas", "a body of another version is a warning more"),
    ("crdx.cel-ratcheting-list", "atomic lists are not compared item by item"),
    ("crdx.cel-def-two-errors", "the first error of a rule is reported"),
    ("crdx.cel-def-dash-unescaped", "the first error of a rule is reported"),
    ("crdx.cel-def-untyped", "the words for a value without a type"),
    ("crdx.disc-trailing", "a POST to discovery is 405"),
    ("crdx.openapi-paths", "parameters have no descriptions"),
    ("crdx.openapi-paths-cluster", "parameters have no descriptions"),
    ("crdx.openapi-paths-v2", "parameters are not shared between paths"),
    ("crdx.openapi-versions", "unknown documents are 404 with a text"),
    ("crdx.openapi-removed", "unknown documents are 404 with a text"),
    ("crdx.openapi-schemas", "groups that are not served are not named"),
];

/// How much of a scenario is unsupported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    /// Everything is supported.
    Nothing,
    /// Steps that only read are skipped; such a scenario is never counted as passed.
    Steps,
    /// Nothing is supported.
    All,
}

/// How much of this file's scenario is unsupported.
pub(super) fn later(file: &str, scenario: &Scenario) -> Later {
    let steps = &scenario.steps;
    let n_later = steps.iter().filter(|step| is_later_step(step)).count();
    let changes = |step: &Step| step.exchange().is_some_and(|e| e.request.method != "GET");
    let hang_together = n_later == steps.len() || steps.iter().any(changes);
    let departs = DEPARTURES.iter().any(|(id, _)| *id == scenario.id);
    match n_later {
        _ if departs || file == "apply.jsonl" => Later::All,
        0 => Later::Nothing,
        _ if hang_together => Later::All,
        _ => Later::Steps,
    }
}

/// A step that is skipped. If only some steps are skipped, all of them only read.
pub(super) fn is_later_step(step: &Step) -> bool {
    let Some(Exchange { request, .. }) = step.exchange() else { return false };
    is_apply(request.content_type.as_deref())
}

/// Server-side apply.
pub(super) fn is_apply(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|content_type| content_type.starts_with("application/apply-patch"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_server_side_apply_is_for_later() {
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
            ("crd.jsonl", "default", "/api/v1/nodes", json, Later::Nothing),
            ("pods.jsonl", "rbac", "/api/v1/nodes", json, Later::Nothing),
            ("pods.jsonl", "default", "/api/v1/nodes", apply, Later::All),
            ("apply.jsonl", "default", "/api/v1/nodes", json, Later::All),
            ("verbs.jsonl", "default", "/apis/apiextensions.k8s.io/v1", json, Later::Nothing),
        ] {
            assert_eq!(later(file, &scenario(server, path, content_type)), expected);
        }
    }
}
