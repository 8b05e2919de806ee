//! Nodes of a watch.

use evenkeel_model::Topology;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

use super::{condition::Condition, lenient, metadata::Metadata};
use crate::{
    FieldError,
    convert::{
        field::ConditionFacts,
        metadata::Meta,
        node::{NodeFacts, with_problem},
    },
};

/// A Node, as far as its zone and its capacity need it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "lenient::or_default")]
    allocatable: Allocatable,
    #[serde(deserialize_with = "lenient::list")]
    conditions: Vec<Condition>,
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
