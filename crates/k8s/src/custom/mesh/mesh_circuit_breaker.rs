//! Limits of connections, and outlier detection.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::TargetRef;

/// Limits of connections, and when endpoints are ejected.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshCircuitBreaker",
    plural = "meshcircuitbreakers",
    shortname = "mcb",
    category = "kuma",
    namespaced,
    derive = "PartialEq",
    doc = "Limits connections, and ejects endpoints that fail.",
    printcolumn(name = "TargetRef Kind", type_ = "string", json_path = ".spec.targetRef.kind"),
    printcolumn(name = "TargetRef Name", type_ = "string", json_path = ".spec.targetRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshCircuitBreakerSpec {
    /// Whom it applies to. Without it: the whole mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// For connections to each service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<BreakerTo>,
    /// For connections that a proxy accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<BreakerRule>,
    /// For connections that a proxy accepts, by client. Replaced by rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<BreakerTo>,
}

/// For connections with a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerTo {
    /// Which services.
    pub target_ref: TargetRef,
    /// The limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<BreakerConf>,
}

/// For all connections that a proxy accepts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerRule {
    /// The limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<BreakerConf>,
}

/// Limits, and when endpoints are ejected.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerConf {
    /// Limits of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limits: Option<ConnectionLimits>,
    /// When endpoints are ejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlier_detection: Option<OutlierDetection>,
}

/// Limits of a proxy for a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionLimits {
    /// Connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<i32>,
    /// Pools of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connection_pools: Option<i32>,
    /// Requests that wait; connections, where HTTP is not spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pending_requests: Option<i32>,
    /// Requests at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<i32>,
    /// Retries at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i32>,
}

/// When endpoints are ejected, judged by responses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutlierDetection {
    /// Whether none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// How often endpoints are judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How long the first ejection lasts; the next ones last longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_ejection_time: Option<String>,
    /// How many may be ejected, but at least one. Defaults to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ejection_percent: Option<i32>,
    /// Whether failed connections are counted apart from failed responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_external_and_local_errors: Option<bool>,
    /// With fewer healthy endpoints, in percent, health is ignored. Defaults to 50; 0 turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy_panic_threshold: Option<IntOrString>,
    /// What counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectors: Option<Detectors>,
}

/// What counts against an endpoint.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detectors {
    /// Failures of all sorts in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_failures: Option<Consecutive>,
    /// Responses with 502, 503 or 504 in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_failures: Option<Consecutive>,
    /// Failed connections in a row, if they are counted apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_origin_failures: Option<Consecutive>,
    /// A rate of success far below that of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<SuccessRate>,
    /// A rate of failures above a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_percentage: Option<FailurePercentage>,
}

/// A number in a row.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consecutive {
    /// With so many, an endpoint is ejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive: Option<i32>,
}

/// Ejects endpoints whose rate of success is far below that of the others.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SuccessRate {
    /// Only with so many endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_hosts: Option<i32>,
    /// Only endpoints with so many requests in an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_volume: Option<i32>,
    /// How many standard deviations below the mean, also as decimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_deviation_factor: Option<IntOrString>,
}

/// Ejects endpoints whose rate of failures is above a limit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailurePercentage {
    /// Only with so many endpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_hosts: Option<i32>,
    /// Only endpoints with so many requests in an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_volume: Option<i32>,
    /// The limit in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<i32>,
}
