//! Headers of HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What HTTP allows in lower case.
pub(super) const NAME: &str = r"^[a-z0-9!#$%&'*+\-.^_\x60|~]+$";

/// A header with its value.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The name, in lower case.
    #[schemars(length(min = 1, max = 256), regex(pattern = NAME))]
    pub name: String,
    /// The value, or several separated by commas.
    pub value: String,
}

/// Changes headers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderModifier {
    /// Replaced, or added where they are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub set: Vec<Header>,
    /// Added to those there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub add: Vec<Header>,
    /// Removed, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub remove: Vec<String>,
}

/// Headers of the requests of a health check.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedHeaders {
    /// Replaced, or added where they are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub set: Vec<Header>,
    /// Added to those there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("maxItems" = 16, "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub add: Vec<Header>,
}
