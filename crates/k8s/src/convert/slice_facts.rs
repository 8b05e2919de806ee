//! What is read of an EndpointSlice, from wherever it is.

use evenkeel_model::Conditions;
use k8s_openapi::api::discovery::v1 as discovery;

use crate::convert::{field::PortFacts, metadata::Meta};

pub(crate) trait SliceFacts {
    type Endpoint: EndpointFacts;

    fn meta(&self) -> Meta<'_>;
    fn owners(&self) -> impl Iterator<Item = OwnerFacts<'_>>;
    fn address_type(&self) -> &str;
    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>>;
    fn endpoints(&self) -> &[Self::Endpoint];
}

pub(crate) trait EndpointFacts {
    fn addresses(&self) -> &[String];
    fn conditions(&self) -> Option<Conditions>;
    fn hostname(&self) -> Option<&str>;
    fn target(&self) -> Option<TargetFacts<'_>>;
    fn node_name(&self) -> Option<&str>;
    fn zone(&self) -> Option<&str>;
    /// Present but empty hints are not the same as absent ones.
    fn has_hints(&self) -> bool;
    fn zone_hints(&self) -> impl Iterator<Item = &str>;
    fn node_hints(&self) -> impl Iterator<Item = &str>;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerFacts<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) uid: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetFacts<'a> {
    pub(crate) kind: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) uid: Option<&'a str>,
}

// === impl SliceFacts, EndpointFacts ===

impl SliceFacts for discovery::EndpointSlice {
    type Endpoint = discovery::Endpoint;

    fn meta(&self) -> Meta<'_> {
        Meta::from(&self.metadata)
    }

    fn owners(&self) -> impl Iterator<Item = OwnerFacts<'_>> {
        self.metadata.owner_references.iter().flatten().map(|owner| OwnerFacts {
            api_version: &owner.api_version,
            kind: &owner.kind,
            uid: &owner.uid,
        })
    }

    fn address_type(&self) -> &str {
        &self.address_type
    }

    fn ports(&self) -> impl Iterator<Item = PortFacts<'_>> {
        self.ports.iter().flatten().map(|given| PortFacts {
            name: given.name.as_deref(),
            number: given.port.map(Into::into),
            protocol: given.protocol.as_deref(),
            app_protocol: given.app_protocol.as_deref(),
        })
    }

    fn endpoints(&self) -> &[discovery::Endpoint] {
        self.endpoints.as_deref().unwrap_or_default()
    }
}

impl EndpointFacts for discovery::Endpoint {
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
        let zones = self.hints.iter().flat_map(|hints| &hints.for_zones).flatten();
        zones.map(|zone| zone.name.as_str())
    }

    fn node_hints(&self) -> impl Iterator<Item = &str> {
        let nodes = self.hints.iter().flat_map(|hints| &hints.for_nodes).flatten();
        nodes.map(|node| node.name.as_str())
    }
}
