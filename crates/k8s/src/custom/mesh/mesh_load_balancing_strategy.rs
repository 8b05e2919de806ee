//! How traffic is spread over endpoints.

#![expect(clippy::duplicated_attributes, reason = "columns of a table have the same type")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash_policy::HashPolicy;
use super::reference::TargetRef;

/// How traffic is spread over the endpoints of a service.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshLoadBalancingStrategy",
    plural = "meshloadbalancingstrategies",
    shortname = "mlbs",
    category = "kuma",
    namespaced,
    derive = "PartialEq",
    doc = "Which endpoints of a service get how much traffic: near ones first, others when too few are healthy.",
    printcolumn(name = "TargetRef Kind", type_ = "string", json_path = ".spec.targetRef.kind"),
    printcolumn(name = "TargetRef Name", type_ = "string", json_path = ".spec.targetRef.name")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshLoadBalancingStrategySpec {
    /// Whom it applies to. Without it: the whole mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// How traffic to each service is spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<StrategyTo>,
}

/// How traffic to a service is spread.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategyTo {
    /// Which destinations.
    pub target_ref: TargetRef,
    /// The strategy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<StrategyConf>,
}

/// A strategy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategyConf {
    /// Which endpoints are near, and which come next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality_awareness: Option<LocalityAwareness>,
    /// How one of several equal endpoints is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// What is hashed, for load balancers that hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hash_policies: Vec<HashPolicy>,
}

/// Which endpoints are near, and which come next.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalityAwareness {
    /// Whether all endpoints are equal, wherever they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Inside of the client's zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_zone: Option<LocalZone>,
    /// Between zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_zone: Option<CrossZone>,
}

/// Inside of the client's zone.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalZone {
    /// Endpoints that have the client's value of a tag are near. The first that is shared counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affinity_tags: Vec<AffinityTag>,
}

/// A tag that tells how near an endpoint is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AffinityTag {
    /// The tag.
    pub key: String,
    /// Its part of the traffic. All tags have one, or none; then each has 9 times that of all after
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// Between zones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CrossZone {
    /// Which zones are used when the client's has too few healthy endpoints, in this order. Without
    /// rules, none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failover: Vec<Failover>,
    /// When there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover_threshold: Option<FailoverThreshold>,
}

/// Which zones come next.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failover {
    /// For clients in these zones. Without it, for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<FromZones>,
    /// The zones that are used.
    pub to: ToZones,
}

/// Zones of clients.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FromZones {
    /// Their names.
    pub zones: Vec<String>,
}

/// Zones that are used.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToZones {
    /// Which zones: those named, none, all, or all but those named.
    pub r#type: ToZonesType,
    /// Names of zones, for Only and AnyExcept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// Which zones are used.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum ToZonesType {
    #[default]
    None,
    Only,
    Any,
    AnyExcept,
}

/// When there are too few healthy endpoints.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverThreshold {
    /// Below this part of healthy endpoints, in percent, also as decimal. Defaults to 50.
    pub percentage: IntOrString,
}

/// How an endpoint is chosen: type, and settings in the field of that name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    /// Which load balancer.
    pub r#type: LoadBalancerType,
    /// One after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_robin: Option<RoundRobin>,
    /// The one with the fewest requests of a few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_request: Option<LeastRequest>,
    /// By a hash, on a ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_hash: Option<RingHash>,
    /// By chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<Random>,
    /// By a hash, in a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maglev: Option<Maglev>,
}

/// Load balancers.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum LoadBalancerType {
    #[default]
    RoundRobin,
    LeastRequest,
    RingHash,
    Random,
    Maglev,
}

/// It has no settings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundRobin {}

/// It has no settings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Random {}

/// The endpoint with the fewest requests of a few, chosen by chance.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeastRequest {
    /// Of how many. Defaults to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub choice_count: Option<i32>,
    /// How much requests count against weights, also as decimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_request_bias: Option<IntOrString>,
}

/// By a hash, on a ring with a point for each part of an endpoint.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RingHash {
    /// How endpoints are hashed. Defaults to XXHash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_function: Option<HashFunction>,
    /// Points at least. Defaults to 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8_000_000))]
    pub min_ring_size: Option<i32>,
    /// Points at most. Defaults to 8000000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8_000_000))]
    pub max_ring_size: Option<i32>,
    /// What is hashed. Moved beside loadBalancer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hash_policies: Vec<HashPolicy>,
}

/// How endpoints are hashed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum HashFunction {
    #[default]
    XXHash,
    MurmurHash2,
}

/// By a hash, in a table.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Maglev {
    /// The size of the table, a prime. Defaults to 65537.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5_000_011))]
    pub table_size: Option<i32>,
    /// What is hashed. Moved beside loadBalancer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hash_policies: Vec<HashPolicy>,
}
