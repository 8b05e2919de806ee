//! What the server says of an object of fairness.

#![expect(unreachable_pub, reason = "`KubeSchema` copies each type into a function")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What the API server found out about the object, together with all others.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
pub struct FairnessStatus {
    /// `InForce` says whether requests are treated as this object says. The others tell how the
    /// object relates to others: `Dangling` and `DistinguisherIgnored` of a FlowSchema, `ExemptConflict`
    /// and `Backstop` of a RequestPriority; they are True where something should be changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}
