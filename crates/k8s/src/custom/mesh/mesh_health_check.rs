//! Active health checks.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::header::AddedHeaders;
use super::reference::TargetRef;

/// How clients check the endpoints of a service.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshHealthCheck",
    plural = "meshhealthchecks",
    shortname = "mhc",
    category = "kuma",
    namespaced,
    derive = "PartialEq",
    doc = "Active health checks by the clients of a service.",
    printcolumn(name = "TargetRef Kind", type_ = "string", json_path = ".spec.targetRef.kind"),
    printcolumn(name = "TargetRef Name", type_ = "string", json_path = ".spec.targetRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshHealthCheckSpec {
    /// Whom it applies to. Without it: the whole mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// How the endpoints of each service are checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<HealthCheckTo>,
}

/// How the endpoints of a service are checked.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheckTo {
    /// Which destinations.
    pub target_ref: TargetRef,
    /// The check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<HealthCheckConf>,
}

/// A health check. With several protocols, the most specific is used: gRPC, then HTTP, then TCP.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheckConf {
    /// From one check to the next. Defaults to 1m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How long a response may take. Defaults to 15s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// After how many failed checks an endpoint is unhealthy. Defaults to 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unhealthy_threshold: Option<i32>,
    /// After how many checks that passed an endpoint is healthy again. Defaults to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy_threshold: Option<i32>,
    /// The first check waits up to this time, by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_jitter: Option<String>,
    /// The interval is longer by up to this time, by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_jitter: Option<String>,
    /// The interval is longer by up to this part of it, by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_jitter_percent: Option<i32>,
    /// With fewer healthy endpoints, in percent, health is ignored. Moved to MeshCircuitBreaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy_panic_threshold: Option<IntOrString>,
    /// Whether requests fail when health would be ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_traffic_on_panic: Option<bool>,
    /// A file of the proxy for the events of checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_log_path: Option<String>,
    /// Whether every failure is logged, and not the first only. Defaults to false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_log_health_check_failures: Option<bool>,
    /// The interval as long as the service is not used. Defaults to 60s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_traffic_interval: Option<String>,
    /// Whether the connection stays open between checks. Defaults to true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_connection: Option<bool>,
    /// A check by a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpCheck>,
    /// A check by an HTTP request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpCheck>,
    /// A check by the health service of gRPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcCheck>,
}

/// A check by a connection.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpCheck {
    /// Whether it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// What is sent, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<String>,
    /// What must come back, in this order, each in base64. Without it, a connection is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receive: Vec<String>,
}

/// A check by an HTTP request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpCheck {
    /// Whether it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// The path. Defaults to /.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Headers of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_headers_to_add: Option<AddedHeaders>,
    /// Statuses of healthy endpoints. Defaults to 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_statuses: Vec<i32>,
}

/// A check by the health service of gRPC.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrpcCheck {
    /// Whether it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// The service that is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// The authority of the request. Defaults to the name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}
