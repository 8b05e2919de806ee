//! EndpointSlices of a watch.

use evenkeel_model::{Conditions, SeenSlice, Topology};
use serde::Deserialize;

use super::{
    annotations::Annotations,
    lenient::{self, Number},
    metadata::{Metadata, Owners},
};
use crate::{
    FieldError,
    convert::{
        endpoint_slice::from_facts,
        field::{self, PortFacts},
        metadata::Meta,
        slice_facts::{EndpointFacts, OwnerFacts, SliceFacts, TargetFacts},
    },
};

/// An EndpointSlice. Where only slices are read, and no watcher of kube's is in between,
/// [`slim`](crate::slim) is faster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EndpointSlice {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) metadata: Metadata<Annotations, Owners>,
    #[serde(deserialize_with = "lenient::or_default")]
    address_type: String,
    #[serde(deserialize_with = "lenient::list")]
    ports: Vec<Port>,
    #[serde(deserialize_with = "lenient::list")]
    endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    name: Option<String>,
    port: Option<Number>,
    protocol: Option<String>,
    app_protocol: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Endpoint {
    #[serde(deserialize_with = "lenient::list")]
    addresses: Vec<String>,
    conditions: Option<EndpointConditions>,
    hostname: Option<String>,
    target_ref: Option<Target>,
    node_name: Option<String>,
    zone: Option<String>,
    hints: Option<Hints>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct EndpointConditions {
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Hints {
    #[serde(deserialize_with = "lenient::list")]
    for_zones: Vec<Hinted>,
    #[serde(deserialize_with = "lenient::list")]
    for_nodes: Vec<Hinted>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Hinted {
    #[serde(deserialize_with = "lenient::or_default")]
    name: String,
}

// === impl EndpointSlice ===

impl EndpointSlice {
    pub fn seen(&self, topology: &mut Topology) -> Result<SeenSlice, FieldError> {
        Ok(SeenSlice {
            namespace: field::text(self.metadata.object.namespace.as_deref()),
            slice: from_facts(topology, self)?,
            version: self.metadata.version(),
            deleting: self.metadata.deleting,
        })
    }
}

impl SliceFacts for EndpointSlice {
    type Endpoint = Endpoint;

    fn meta(&self) -> Meta<'_> {
        self.metadata.annotated_facts()
    }

    fn owners(&self) -> impl Iterator<Item = OwnerFacts<'_>> {
        self.metadata.owners.iter()
    }

    fn address_type(&self) -> &str {
        &self.address_type
    }

    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>> {
        self.ports.iter().map(|given| PortFacts {
            name: given.name.as_deref(),
            number: given.port.map(|Number(number)| number),
            protocol: given.protocol.as_deref(),
            app_protocol: given.app_protocol.as_deref(),
        })
    }

    fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

// === impl Endpoint ===

impl EndpointFacts for Endpoint {
    fn addresses(&self) -> &[String] {
        &self.addresses
    }

    fn conditions(&self) -> Option<Conditions> {
        self.conditions.as_ref().map(|given| Conditions {
            ready: given.ready,
            serving: given.serving,
            terminating: given.terminating,
        })
    }

    fn hostname(&self) -> Option<&str> {
        self.hostname.as_deref()
    }

    fn target(&self) -> Option<TargetFacts<'_>> {
        self.target_ref.as_ref().map(|given| TargetFacts {
            kind: given.kind.as_deref(),
            namespace: given.namespace.as_deref(),
            name: given.name.as_deref(),
            uid: given.uid.as_deref(),
        })
    }

    fn node_name(&self) -> Option<&str> {
        self.node_name.as_deref()
    }

    fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    fn has_hints(&self) -> bool {
        self.hints.is_some()
    }

    fn zone_hints(&self) -> impl Iterator<Item = &str> {
        let zones = self.hints.iter().flat_map(|hints| &hints.for_zones);
        zones.map(|zone| zone.name.as_str())
    }

    fn node_hints(&self) -> impl Iterator<Item = &str> {
        let nodes = self.hints.iter().flat_map(|hints| &hints.for_nodes);
        nodes.map(|node| node.name.as_str())
    }
}
