//! A custom resource, as an operator written with kube-rs defines it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "lighting.example.com",
    version = "v1",
    kind = "Lamp",
    namespaced,
    shortname = "lp",
    status = "LampStatus",
    scale(spec_replicas_path = ".spec.bulbs", status_replicas_path = ".status.lit"),
    printcolumn(name = "Watts", type_ = "integer", json_path = ".spec.watts")
)]
#[serde(rename_all = "camelCase")]
pub(super) struct LampSpec {
    /// Of each bulb.
    pub(super) watts: u32,
    #[serde(default = "one")]
    pub(super) bulbs: i32,
    // Kubernetes refuses null where there is an enum, even if that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) colour: Option<Colour>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub(super) enum Colour {
    Warm,
    Cold,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LampStatus {
    #[serde(default)]
    pub(super) lit: i32,
    pub(super) observed_generation: Option<i64>,
}

fn one() -> i32 {
    1
}

impl Lamp {
    /// Whether the controller has seen the latest specification.
    pub(super) fn is_settled(&self) -> bool {
        let observed = self.status.as_ref().and_then(|status| status.observed_generation);
        observed.is_some() && observed == self.metadata.generation
    }
}
