//! Services of a mesh.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::{Address, Generator, Vip};

/// Which proxies offer the service, and on which ports.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshService",
    plural = "meshservices",
    shortname = "msvc",
    category = "kuma",
    namespaced,
    status = "MeshServiceStatus",
    derive = "PartialEq",
    doc = "A service of a mesh: the proxies that offer it, and its ports.",
    printcolumn(name = "Hostname", type_ = "string", json_path = ".status.addresses[0].hostname")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshServiceSpec {
    /// Which Dataplanes offer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<ServiceSelector>,
    /// Its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["port", "appProtocol"]))]
    pub ports: Vec<ServicePort>,
    /// What its proxies identify themselves as.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    /// Whether any of its proxies is healthy. Defaults to Unavailable.
    #[serde(default = "unavailable", skip_serializing_if = "Option::is_none")]
    pub state: Option<ServiceState>,
}

/// Selects the Dataplanes of a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSelector {
    /// By their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataplane_labels: Option<MatchLabels>,
    /// By the tags of their inbounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dataplane_tags: BTreeMap<String, String>,
    /// By name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataplane_ref: Option<DataplaneRef>,
}

/// Selects objects that have all of these labels.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchLabels {
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// A reference to a Dataplane.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataplaneRef {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A port of a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// The number that clients use.
    pub port: i32,
    /// A name for references. Defaults to the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The inbound's port, by number or name. Defaults to port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_port: Option<IntOrString>,
    /// What is spoken on it, such as http or grpc. Defaults to tcp.
    #[serde(default = "tcp", skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
}

/// An identity of a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The form of value.
    pub r#type: IdentityType,
    /// The identity.
    pub value: String,
}

/// Forms of identities.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum IdentityType {
    #[default]
    ServiceTag,
    SpiffeID,
}

/// Whether a service has healthy proxies.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum ServiceState {
    Available,
    #[default]
    Unavailable,
}

/// What control planes report of a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeshServiceStatus {
    /// Generated hostnames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// What each HostnameGenerator reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostname_generators: Vec<Generator>,
    /// Its virtual addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vips: Vec<Vip>,
    /// Whether its proxies speak mTLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsStatus>,
    /// How many proxies it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataplane_proxies: Option<ProxyCounts>,
}

/// Whether the proxies of a service speak mTLS.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsStatus {
    /// Ready when all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TlsReadiness>,
}

/// Whether all proxies of a service speak mTLS.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum TlsReadiness {
    Ready,
    #[default]
    NotReady,
}

/// Numbers of proxies.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyCounts {
    /// Connected to a control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<i64>,
    /// With healthy inbounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<i64>,
    /// All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
}

fn unavailable() -> Option<ServiceState> {
    Some(ServiceState::Unavailable)
}

pub(super) fn tcp() -> Option<String> {
    Some("tcp".to_owned())
}
