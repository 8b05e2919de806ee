//! Changes of HTTP requests on their way.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::header::HeaderModifier;
use super::reference::BackendRef;

/// A change of a request or of its response: type, and the field of that name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filter {
    /// Which change.
    pub r#type: FilterType,
    /// Changes headers of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_header_modifier: Option<HeaderModifier>,
    /// Changes headers of responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_header_modifier: Option<HeaderModifier>,
    /// Answers with a redirection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_redirect: Option<Redirect>,
    /// Changes host and path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_rewrite: Option<Rewrite>,
    /// Sends a copy elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_mirror: Option<Mirror>,
}

/// Changes of requests.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum FilterType {
    #[default]
    RequestHeaderModifier,
    ResponseHeaderModifier,
    RequestRedirect,
    URLRewrite,
    RequestMirror,
}

/// Where requests are redirected to. What is missing stays as it was requested.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Redirect {
    /// The scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub hostname: Option<String>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
    /// The status of the response. Defaults to 302.
    #[serde(default = "found", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [301, 302, 303, 307, 308]))]
    pub status_code: Option<i32>,
    /// The path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
}

/// Schemes of redirections.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    #[default]
    Http,
    Https,
}

/// How host and path are changed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rewrite {
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub hostname: Option<String>,
    /// Reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_to_backend_hostname: Option<bool>,
    /// The path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
}

/// How a path is changed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PathRewrite {
    /// Which of the other fields counts.
    pub r#type: PathRewriteType,
    /// In place of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_full_path: Option<String>,
    /// In place of the part that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_prefix_match: Option<String>,
}

/// Changes of paths.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum PathRewriteType {
    #[default]
    ReplaceFullPath,
    ReplacePrefixMatch,
}

/// Where copies of requests are sent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mirror {
    /// The destination, whose responses are ignored.
    pub backend_ref: BackendRef,
    /// How many of them, from 0 to 100, also as decimal. Defaults to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<IntOrString>,
}

fn found() -> Option<i32> {
    Some(302)
}
