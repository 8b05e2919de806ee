//! The objects as they travel: `flowcontrol.apiserver.k8s.io/v1`, without status.
//!
//! Decoding is as lenient as Go's: `null` is as good as absent. Lists that Go writes even when
//! empty are optional here, so that what was absent is written as `null` again.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

pub const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

/// Objects annotated with it, and `"true"`, are kept as they are built in.
pub const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FlowSchema {
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    pub spec: FlowSchemaSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PriorityLevelConfiguration {
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    pub spec: PriorityLevelSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Metadata {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Neither kind lives in a namespace; kept so that it can be rejected.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_zero")]
    pub generation: i64,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

// === Flow schemas ===

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FlowSchemaSpec {
    #[serde(deserialize_with = "or_default")]
    pub priority_level_configuration: Reference,
    #[serde(deserialize_with = "or_default")]
    pub matching_precedence: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinguisher_method: Option<DistinguisherMethod>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRules>,
}

/// The name of a level, of a user or of a group.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Reference {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct DistinguisherMethod {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRules {
    pub subjects: Option<Vec<Subject>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resource_rules: Vec<ResourcePolicyRule>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_rules: Vec<NonResourcePolicyRule>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subject {
    #[serde(deserialize_with = "or_default")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccount>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ServiceAccount {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourcePolicyRule {
    pub verbs: Option<Vec<String>>,
    pub api_groups: Option<Vec<String>>,
    pub resources: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "std::ops::Not::not")]
    pub cluster_scope: bool,
    pub namespaces: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NonResourcePolicyRule {
    pub verbs: Option<Vec<String>>,
    #[serde(rename = "nonResourceURLs")]
    pub non_resource_urls: Option<Vec<String>>,
}

// === Priority levels ===

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PriorityLevelSpec {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<Limited>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exempt: Option<Exempt>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limited {
    pub nominal_concurrency_shares: Option<i32>,
    #[serde(deserialize_with = "or_default")]
    pub limit_response: LimitResponse,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lendable_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowing_limit_percent: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exempt {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal_concurrency_shares: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lendable_percent: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct LimitResponse {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queuing: Option<QueuingConfiguration>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueuingConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub queues: i32,
    #[serde(deserialize_with = "or_default")]
    pub hand_size: i32,
    #[serde(deserialize_with = "or_default")]
    pub queue_length_limit: i32,
}

fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(generation: &i64) -> bool {
    *generation == 0
}
