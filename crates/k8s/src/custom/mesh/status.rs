//! What objects of the mesh have in their status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A generated hostname.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The hostname.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// What generated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The HostnameGenerator that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname_generator_ref: Option<GeneratorRef>,
}

/// A reference to a HostnameGenerator.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorRef {
    /// Its name.
    pub core_name: String,
}

/// What a HostnameGenerator made of the object.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Generator {
    /// The HostnameGenerator.
    pub hostname_generator_ref: GeneratorRef,
    /// What it reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<MeshCondition>,
}

/// A condition, without times.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeshCondition {
    /// Which condition.
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub r#type: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, as a code.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// Why, in words.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum ConditionStatus {
    True,
    False,
    #[default]
    Unknown,
}

/// A virtual IP address.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vip {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
}
