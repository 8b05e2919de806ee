//! Services in several zones.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mesh_service::{MatchLabels, tcp};
use super::status::{Address, Generator, MeshCondition, Vip};

/// Which MeshServices are joined, and on which ports.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshMultiZoneService",
    plural = "meshmultizoneservices",
    shortname = "mzsvc",
    category = "kuma",
    namespaced,
    status = "MeshMultiZoneServiceStatus",
    derive = "PartialEq",
    doc = "A service in several zones: it joins MeshServices that have the same labels.",
    printcolumn(name = "Hostname", type_ = "string", json_path = ".status.addresses[0].hostname")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshMultiZoneServiceSpec {
    /// Which services are joined.
    pub selector: MultiZoneSelector,
    /// Its ports.
    #[schemars(length(min = 1))]
    pub ports: Vec<MultiZonePort>,
}

/// Selects the services that are joined.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MultiZoneSelector {
    /// MeshServices with these labels.
    pub mesh_service: MatchLabels,
}

/// A port that all joined services have.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MultiZonePort {
    /// The number that clients use.
    pub port: i32,
    /// A name for references. Defaults to the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is spoken on it, such as http or grpc. Defaults to tcp.
    #[serde(default = "tcp", skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
}

/// What control planes report of a service in several zones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeshMultiZoneServiceStatus {
    /// Generated hostnames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// What each HostnameGenerator reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostname_generators: Vec<Generator>,
    /// Its virtual addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vips: Vec<Vip>,
    /// The services that are joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mesh_services: Vec<JoinedService>,
    /// How it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MeshCondition>,
}

/// A service that is joined.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JoinedService {
    /// Its mesh.
    pub mesh: String,
    /// Its zone.
    pub zone: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}
