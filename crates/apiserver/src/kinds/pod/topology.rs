//! Topology labels of a Pod, copied from its Node. Source:
//! `plugin/pkg/admission/podtopologylabels`.

use serde_json::Value;

use crate::kinds::read::{at, entry};

const COPIED: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// Copies the topology labels of the Node to a Pod or to its binding, replacing existing ones.
pub(crate) fn label(object: &mut Value, node: &Value) {
    for key in COPIED {
        let value = at(node, &["metadata", "labels", key]);
        if value.is_string() {
            *entry(object, &["metadata", "labels", key]) = value.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_gets_only_the_zone_and_region_of_its_node() {
        let (zone, region) = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region");
        for (node, pod, expected) in [
            (json!({zone: "a", region: "r", "x": "y"}), json!({}), json!({zone: "a", region: "r"})),
            (
                json!({zone: "a"}),
                json!({zone: "b", "app": "web"}),
                json!({zone: "a", "app": "web"}),
            ),
            (json!({"x": "y"}), json!({"app": "web"}), json!({"app": "web"})),
        ] {
            let mut object = json!({"metadata": {"labels": pod}});
            label(&mut object, &json!({"metadata": {"labels": node}}));
            assert_eq!(object["metadata"]["labels"], expected);
        }
        let mut object = json!({"metadata": {}});
        label(&mut object, &json!({"metadata": {"name": "n"}}));
        assert_eq!(object, json!({"metadata": {}}));
    }
}
