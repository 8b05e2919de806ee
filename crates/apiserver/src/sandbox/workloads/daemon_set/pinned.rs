//! Pods bound to one Node. Source: `k8s.io/kubernetes/pkg/controller/daemon/util`.

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodTemplateSpec,
};

use super::eligible::tolerations;
use crate::sandbox::selectors::NAME_FIELD;
use crate::sandbox::world::node_of;

pub(super) const REVISION_HASH: &str = "controller-revision-hash";
pub(super) const TEMPLATE_GENERATION: &str = "pod-template-generation";

/// The template with the parts common to all Pods of this revision.
pub(super) fn revised(
    template: &PodTemplateSpec,
    hash: &str,
    generation: Option<i64>,
) -> PodTemplateSpec {
    let mut template = template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(REVISION_HASH.to_owned(), hash.to_owned());
    if let Some(generation) = generation {
        labels.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string());
    }
    let spec = template.spec.get_or_insert_default();
    spec.tolerations = Some(tolerations(spec));
    template
}

/// The same for one Node, with an affinity to no other. Other requirements on the Node are already
/// satisfied.
pub(super) fn pinned(template: &PodTemplateSpec, node: &str) -> PodTemplateSpec {
    let mut template = template.clone();
    let spec = template.spec.get_or_insert_default();
    let affinity = spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    let is_node = NodeSelectorRequirement {
        key: NAME_FIELD.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![is_node]), match_expressions: None };
    affinity.required_during_scheduling_ignored_during_execution =
        Some(NodeSelector { node_selector_terms: vec![term] });
    template
}

/// The Node that a Pod is on, or waits for.
pub(super) fn target(pod: &Pod) -> Option<&str> {
    let node = node_of(pod);
    if !node.is_empty() {
        return Some(node);
    }
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let mut fields =
        required.node_selector_terms.iter().flat_map(|term| term.match_fields.iter().flatten());
    let named = fields.find(|field| field.key == NAME_FIELD && field.operator == "In")?;
    match named.values.as_deref()? {
        [node] => Some(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pinned_pod_waits_for_its_node_and_keeps_what_it_prefers() {
        let prefers = json!([{"weight": 1, "preference": {"matchExpressions": [
            {"key": "zone", "operator": "Exists"}]}}]);
        let template: PodTemplateSpec = serde_json::from_value(json!({
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [], "affinity": {"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": prefers,
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]},
            }}},
        }))
        .unwrap();
        let pinned = pinned(&revised(&template, "h", Some(3)), "n1");
        let pod = Pod { spec: pinned.spec.clone(), ..Pod::default() };
        assert_eq!(target(&pod), Some("n1"));
        let shown = serde_json::to_value(&pinned).unwrap();
        assert_eq!(
            shown["metadata"]["labels"],
            json!({"app": "d", REVISION_HASH: "h", TEMPLATE_GENERATION: "3"})
        );
        assert_eq!(
            shown["spec"]["affinity"]["nodeAffinity"],
            json!({
                "preferredDuringSchedulingIgnoredDuringExecution": prefers,
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
            })
        );
        assert_eq!(shown["spec"]["tolerations"].as_array().map(Vec::len), Some(6));
        assert_eq!(target(&Pod::default()), None);
    }
}
