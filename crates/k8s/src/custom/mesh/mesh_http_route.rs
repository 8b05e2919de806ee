//! Routes of HTTP requests.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::header::NAME;
use super::http_filter::Filter;
use super::reference::{BackendRef, TargetRef};

/// Where requests to a service go.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshHTTPRoute",
    plural = "meshhttproutes",
    shortname = "mhttpr",
    category = "kuma",
    namespaced,
    derive = "PartialEq",
    doc = "Routes HTTP requests: by path, method, headers and parameters, split between destinations.",
    printcolumn(name = "TargetRef Kind", type_ = "string", json_path = ".spec.targetRef.kind"),
    printcolumn(name = "TargetRef Name", type_ = "string", json_path = ".spec.targetRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshHTTPRouteSpec {
    /// Whom it applies to. Without it: the whole mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// Where requests to each service go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<HttpTo>,
}

/// Where requests to a service go.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpTo {
    /// Which destinations.
    pub target_ref: TargetRef,
    /// Only requests to these hosts. For gateways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostnames: Vec<String>,
    /// Tried from the most specific match on.
    pub rules: Vec<HttpRule>,
}

/// What is done with requests that match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRule {
    /// The rule applies if any of these does.
    #[schemars(length(min = 1))]
    pub matches: Vec<HttpMatch>,
    /// What is done with them.
    pub default: HttpRuleConf,
}

/// What is done with requests.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRuleConf {
    /// How they are changed on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// They are split between these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backend_refs: Vec<BackendRef>,
}

/// Matches a request if all of its parts do.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpMatch {
    /// The path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathMatch>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderMatch>,
    /// Parameters of the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query_params: Vec<QueryMatch>,
}

/// Matches a path.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathMatch {
    /// How it is compared.
    pub r#type: PathMatchType,
    /// The path, the beginning of it up to a slash, or the expression.
    #[schemars(length(min = 1))]
    pub value: String,
}

/// How paths are compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum PathMatchType {
    #[default]
    Exact,
    PathPrefix,
    RegularExpression,
}

/// Methods of HTTP.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Connect,
    Delete,
    #[default]
    Get,
    Head,
    Options,
    Patch,
    Post,
    Put,
    Trace,
}

/// Matches a header.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderMatch {
    /// The name, in lower case.
    #[schemars(length(min = 1, max = 256), regex(pattern = NAME))]
    pub name: String,
    /// How it is compared. Defaults to Exact.
    #[serde(default = "exact", skip_serializing_if = "Option::is_none")]
    pub r#type: Option<HeaderMatchType>,
    /// The value, its beginning, or the expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// How headers are compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum HeaderMatchType {
    #[default]
    Exact,
    Present,
    RegularExpression,
    Absent,
    Prefix,
}

/// Matches a parameter of the query.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryMatch {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// How it is compared.
    pub r#type: QueryMatchType,
    /// The value or the expression.
    pub value: String,
}

/// How parameters are compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum QueryMatchType {
    #[default]
    Exact,
    RegularExpression,
}

fn exact() -> Option<HeaderMatchType> {
    Some(HeaderMatchType::Exact)
}
