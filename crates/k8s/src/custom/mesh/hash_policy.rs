//! What load balancers hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is hashed: type, and settings in the field of that name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HashPolicy {
    /// What is hashed.
    pub r#type: HashPolicyType,
    /// Whether policies after it are left out if it gives a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
    /// A header of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<ByName>,
    /// A cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie: Option<Cookie>,
    /// The connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// A parameter of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_parameter: Option<ByName>,
    /// An object in the state of the proxy's filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_state: Option<FilterState>,
}

/// What is hashed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum HashPolicyType {
    #[default]
    Header,
    Cookie,
    Connection,
    SourceIP,
    QueryParameter,
    FilterState,
}

/// A header or a parameter.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByName {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// A cookie.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cookie {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Requests without the cookie get one that lasts so long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
    /// The path of a cookie that is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The connection.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Whether the address of the client is hashed.
    #[serde(rename = "sourceIP", skip_serializing_if = "Option::is_none")]
    pub source_ip: Option<bool>,
}

/// An object in the state of the proxy's filters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterState {
    /// Its key.
    #[schemars(length(min = 1))]
    pub key: String,
}
