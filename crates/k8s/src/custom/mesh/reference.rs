//! References of policies and routes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reference to proxies or destinations.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// The kind of what is meant.
    pub kind: TargetKind,
    /// Its name. For MeshService: the service in all zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Selects objects by their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A part of it, such as a port by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    /// Selects proxies by their tags, for the kinds of subsets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Limits it to proxies of these types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy_types: Vec<ProxyType>,
    /// Reserved: a mesh other than that of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
}

/// A destination with its part of the traffic.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendRef {
    /// The kind of what is meant.
    pub kind: TargetKind,
    /// Its name. For MeshService: the service in all zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Selects objects by their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A part of it, such as a port by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    /// The port of the service, where a MeshService is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Selects proxies by their tags, for the kinds of subsets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Limits it to proxies of these types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy_types: Vec<ProxyType>,
    /// Reserved: a mesh other than that of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Its part, compared with the other destinations. Defaults to 1.
    #[serde(default = "weight", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_294_967_295_i64))]
    pub weight: Option<i64>,
}

/// What a reference can mean. Which kinds are valid depends on where it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum TargetKind {
    #[default]
    Mesh,
    MeshSubset,
    MeshGateway,
    MeshService,
    MeshExternalService,
    MeshMultiZoneService,
    MeshServiceSubset,
    MeshHTTPRoute,
    Dataplane,
}

/// Types of proxies.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum ProxyType {
    #[default]
    Sidecar,
    Gateway,
}

fn weight() -> Option<i64> {
    Some(1)
}
