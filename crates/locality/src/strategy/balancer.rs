//! Load balancer and hash policies: as written, and as they reach the model.

use std::{sync::Arc, time::Duration};

use evenkeel_model::mesh;
use serde::{Serialize, Serializer};

use super::{IntOrText, decimal::Decimal};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    pub r#type: LoadBalancerType,
    /// It has no settings; written or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_robin: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_request: Option<LeastRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_hash: Option<RingHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maglev: Option<Maglev>,
}

/// A section without settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Empty {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum LoadBalancerType {
    #[default]
    RoundRobin,
    LeastRequest,
    RingHash,
    Random,
    Maglev,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeastRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_request_bias: Option<IntOrText>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RingHash {
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "function_name")]
    pub hash_function: Option<mesh::RingHashFunction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ring_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ring_size: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Maglev {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_size: Option<u32>,
}

/// What is hashed. The type says which section counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HashPolicy {
    /// As written; [`HashPolicy::policy_type`] says which it is.
    pub r#type: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie: Option<Cookie>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_parameter: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_state: Option<Keyed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashPolicyType {
    Header,
    Cookie,
    Connection,
    QueryParameter,
    FilterState,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Named {
    pub name: Arc<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keyed {
    pub key: Arc<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cookie {
    pub name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "duration_text")]
    pub ttl: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Connection {
    #[serde(rename = "sourceIP", skip_serializing_if = "Option::is_none")]
    pub source_ip: Option<bool>,
}

pub(super) const TYPES: [(&str, LoadBalancerType); 5] = [
    ("RoundRobin", LoadBalancerType::RoundRobin),
    ("LeastRequest", LoadBalancerType::LeastRequest),
    ("RingHash", LoadBalancerType::RingHash),
    ("Random", LoadBalancerType::Random),
    ("Maglev", LoadBalancerType::Maglev),
];

pub(super) const FUNCTIONS: [(&str, mesh::RingHashFunction); 2] = [
    ("XXHash", mesh::RingHashFunction::XxHash),
    ("MurmurHash2", mesh::RingHashFunction::MurmurHash2),
];

// === impl LoadBalancer ===

impl LoadBalancer {
    /// For a cluster. Settings that are not valid are left out.
    pub fn to_model(&self) -> mesh::LoadBalancer {
        match self.r#type {
            LoadBalancerType::RoundRobin => mesh::LoadBalancer::RoundRobin,
            LoadBalancerType::Random => mesh::LoadBalancer::Random,
            LoadBalancerType::LeastRequest => {
                let LeastRequest { choice_count, active_request_bias } =
                    self.least_request.clone().unwrap_or_default();
                let bias = active_request_bias.and_then(|bias| Decimal::read(&bias).ok());
                let bias = bias.filter(|bias| !bias.is_negative() && !bias.is_huge());
                let active_request_bias = bias.map(|bias| bias.to_string().into());
                mesh::LoadBalancer::LeastRequest(mesh::LeastRequest {
                    choice_count,
                    active_request_bias,
                })
            }
            LoadBalancerType::RingHash => {
                let RingHash { hash_function, min_ring_size, max_ring_size } =
                    self.ring_hash.clone().unwrap_or_default();
                mesh::LoadBalancer::RingHash(mesh::RingHash {
                    hash_function: hash_function.unwrap_or_default(),
                    min_ring_size,
                    max_ring_size,
                })
            }
            LoadBalancerType::Maglev => {
                let Maglev { table_size } = self.maglev.clone().unwrap_or_default();
                mesh::LoadBalancer::Maglev(mesh::Maglev { table_size })
            }
        }
    }
}

// === impl HashPolicy ===

impl HashPolicy {
    /// `None` if the type is not known; case matters.
    pub fn policy_type(&self) -> Option<HashPolicyType> {
        match &*self.r#type {
            "Header" => Some(HashPolicyType::Header),
            "Cookie" => Some(HashPolicyType::Cookie),
            "Connection" => Some(HashPolicyType::Connection),
            "QueryParameter" => Some(HashPolicyType::QueryParameter),
            "FilterState" => Some(HashPolicyType::FilterState),
            _ => None,
        }
    }

    /// For a route; `None` if it hashes nothing, such as a connection without `sourceIP`.
    pub fn to_model(&self) -> Option<mesh::HashPolicy> {
        let key = match self.policy_type()? {
            HashPolicyType::Header => mesh::HashKey::Header(self.header.as_ref()?.name.clone()),
            HashPolicyType::Cookie => {
                let Cookie { name, ttl, path } = self.cookie.clone()?;
                mesh::HashKey::Cookie { name, ttl, path }
            }
            HashPolicyType::Connection => {
                self.connection.as_ref()?.source_ip.filter(|&hashed| hashed)?;
                mesh::HashKey::SourceIp
            }
            HashPolicyType::QueryParameter => {
                mesh::HashKey::QueryParameter(self.query_parameter.as_ref()?.name.clone())
            }
            HashPolicyType::FilterState => {
                mesh::HashKey::FilterState(self.filter_state.as_ref()?.key.clone())
            }
        };
        Some(mesh::HashPolicy { key, terminal: self.terminal.unwrap_or_default() })
    }
}

fn function_name<S: Serializer>(
    function: &Option<mesh::RingHashFunction>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let name = FUNCTIONS.iter().find(|(_, known)| Some(*known) == *function);
    name.map(|(name, _)| name).serialize(serializer)
}

fn duration_text<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    duration.map(|duration| format!("{}ns", duration.as_nanos())).serialize(serializer)
}
