//! Nodes of a watch.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_model::{OwnNode, Topology, mesh::Tags};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

use super::{condition::Condition, lenient, metadata::Metadata};
use crate::{
    FieldError,
    convert::{
        field::ConditionFacts,
        metadata::Meta,
        node::{NodeFacts, with_problem},
        parse_cidr, parse_ip,
    },
};

/// Set by the cluster autoscaler on a Node that it is about to remove.
const LEAVING: &str = "ToBeDeletedByClusterAutoscaler";

/// A Node, as far as its zone and its capacity need it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    spec: Spec,
    #[serde(deserialize_with = "lenient::or_default")]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "podCIDR")]
    pod_cidr: Option<String>,
    #[serde(rename = "podCIDRs", deserialize_with = "lenient::list")]
    pod_cidrs: Vec<String>,
    #[serde(deserialize_with = "lenient::list")]
    taints: Vec<Taint>,
    unschedulable: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Taint {
    key: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "lenient::or_default")]
    allocatable: Allocatable,
    #[serde(deserialize_with = "lenient::list")]
    conditions: Vec<Condition>,
    #[serde(deserialize_with = "lenient::list")]
    addresses: Vec<NodeAddress>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NodeAddress {
    #[serde(rename = "type")]
    kind: Option<String>,
    address: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Allocatable {
    cpu: Option<Quantity>,
}

// === impl Node ===

impl Node {
    /// The Node, and what of it can't be read: its CPU, which is then not known.
    pub fn seen(&self, topology: &mut Topology) -> (evenkeel_model::Node, Option<FieldError>) {
        with_problem(topology, self)
    }

    pub fn name(&self) -> &str {
        self.metadata.object.name.as_deref().unwrap_or_default()
    }

    /// It accepts no new Pods.
    pub fn is_cordoned(&self) -> bool {
        self.spec.unschedulable == Some(true)
    }

    /// The labels that have one of these keys: a mesh tells endpoints by them. Only these are copied, so
    /// that those who keep them don't keep the dozens of labels that a Node has.
    pub fn tags(&self, keys: &BTreeSet<Arc<str>>) -> Tags {
        let labels = &self.metadata.labels;
        let tag = |key: &Arc<str>| Some((Arc::clone(key), labels.get(&**key)?.as_str().into()));
        Arc::new(keys.iter().filter_map(tag).collect())
    }

    /// What the proxy of this Node must know. Values that can't be read are left out.
    pub fn own(&self) -> OwnNode {
        let of = |kind: &'static str| {
            let given = self.status.addresses.iter();
            let given = given.filter(move |address| address.kind.as_deref() == Some(kind));
            given.filter_map(|address| parse_ip(address.address.as_deref()?))
        };
        let only = self.spec.pod_cidr.iter().filter(|_| self.spec.pod_cidrs.is_empty());
        let ranges = self.spec.pod_cidrs.iter().chain(only);
        let is_tainted = self.spec.taints.iter().any(|taint| taint.key.as_deref() == Some(LEAVING));
        OwnNode {
            uid: self.gone().uid,
            addresses: of("InternalIP").chain(of("ExternalIP")).collect(),
            pod_ranges: ranges.filter_map(|range| parse_cidr(range)).collect(),
            is_leaving: self.metadata.deleting || is_tainted,
        }
    }
}

impl NodeFacts for Node {
    fn meta(&self) -> Meta<'_> {
        self.metadata.facts()
    }

    fn cpu(&self) -> Option<&str> {
        self.status.allocatable.cpu.as_ref().map(|cpu| cpu.0.as_str())
    }

    fn conditions(&self) -> impl Iterator<Item = ConditionFacts<'_>> {
        self.status.conditions.iter().map(Condition::facts)
    }
}
