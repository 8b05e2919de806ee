//! Routes of TCP connections.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::{BackendRef, TargetRef};

/// Where connections to a service go.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshTCPRoute",
    plural = "meshtcproutes",
    shortname = "mtcpr",
    category = "kuma",
    namespaced,
    derive = "PartialEq",
    doc = "Splits TCP connections between destinations.",
    printcolumn(name = "TargetRef Kind", type_ = "string", json_path = ".spec.targetRef.kind"),
    printcolumn(name = "TargetRef Name", type_ = "string", json_path = ".spec.targetRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshTCPRouteSpec {
    /// Whom it applies to. Without it: the whole mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// Where connections to each service go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub to: Vec<TcpTo>,
}

/// Where connections to a service go.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpTo {
    /// Which destinations.
    pub target_ref: TargetRef,
    /// At most one rule.
    #[schemars(length(max = 1))]
    pub rules: Vec<TcpRule>,
}

/// A rule that all connections match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpRule {
    /// What is done with them.
    pub default: TcpRuleConf,
}

/// What is done with connections.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpRuleConf {
    /// They are split between these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backend_refs: Vec<BackendRef>,
}
