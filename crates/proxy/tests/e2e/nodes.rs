//! The Node objects of the cluster's hosts.

use evenkeel_testkit::netns::Host;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{cluster::Cluster, space::object};

impl Cluster {
    pub(crate) fn create_nodes(&self) {
        self.network.hosts().iter().for_each(|host| self.create_node(host));
    }

    /// Only nodes with Pods count for the CPU of zones, and zones have equal parts.
    fn create_node(&self, host: &Host) {
        let (cpu, is_counted) = match &*host.name {
            "node-a1" | "node-a2" => ("2", true),
            "node-b1" | "node-c1" => ("4", true),
            _ => ("1", false),
        };
        let mut labels = json!({"topology.kubernetes.io/zone": host.zone});
        if !is_counted {
            labels["node-role.kubernetes.io/control-plane"] = json!("");
        }
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node = object(json!({"metadata": {"name": host.name, "labels": labels}}));
        self.runtime.block_on(nodes.create(&PostParams::default(), &node)).unwrap();
        let status = Patch::Merge(json!({"status": {
            "addresses": [
                {"type": "InternalIP", "address": host.v4},
                {"type": "InternalIP", "address": host.v6},
            ],
            "allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu},
            "conditions": [{"type": "Ready", "status": "True"}],
        }}));
        self.runtime
            .block_on(nodes.patch_status(&host.name, &PatchParams::default(), &status))
            .unwrap();
    }

    /// Gives a Node another zone, or none.
    pub(crate) fn move_node(&self, node: &str, zone: Option<&str>) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let zone = zone.map_or(Value::Null, Value::from);
        let labels = json!({"topology.kubernetes.io/zone": zone});
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        self.runtime.block_on(nodes.patch(node, &PatchParams::default(), &patch)).unwrap();
    }
}
