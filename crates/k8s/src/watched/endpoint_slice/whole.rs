//! Whole slices in the form of a watch's.

use k8s_openapi::api::{core::v1 as core, discovery::v1 as discovery};

use super::{Endpoint, EndpointConditions, EndpointSlice, Hinted, Hints, Port, Target};
use crate::watched::{
    lenient::{Number, Text},
    metadata::Metadata,
};

impl From<&discovery::EndpointSlice> for EndpointSlice {
    fn from(given: &discovery::EndpointSlice) -> EndpointSlice {
        EndpointSlice {
            metadata: Metadata::from(&given.metadata),
            address_type: given.address_type.clone(),
            ports: given.ports.iter().flatten().map(Port::from).collect(),
            endpoints: given.endpoints.iter().flatten().map(Endpoint::from).collect(),
        }
    }
}

impl From<&discovery::EndpointPort> for Port {
    fn from(given: &discovery::EndpointPort) -> Port {
        Port {
            name: given.name.clone(),
            port: given.port.map(|port| Number(port.into())),
            protocol: given.protocol.clone(),
            app_protocol: given.app_protocol.clone(),
        }
    }
}

impl From<&discovery::Endpoint> for Endpoint {
    fn from(given: &discovery::Endpoint) -> Endpoint {
        Endpoint {
            addresses: given.addresses.iter().cloned().collect(),
            conditions: given.conditions.as_ref().map(EndpointConditions::from).unwrap_or_default(),
            hostname: given.hostname.as_deref().map(Text::from),
            target_ref: given.target_ref.as_ref().map(Target::from),
            node_name: given.node_name.clone(),
            zone: given.zone.clone(),
            hints: given.hints.as_ref().map(Hints::from),
        }
    }
}

impl From<&discovery::EndpointConditions> for EndpointConditions {
    fn from(given: &discovery::EndpointConditions) -> EndpointConditions {
        let discovery::EndpointConditions { ready, serving, terminating } = *given;
        EndpointConditions { ready, serving, terminating }
    }
}

impl From<&core::ObjectReference> for Target {
    fn from(given: &core::ObjectReference) -> Target {
        let text = |text: &Option<String>| Text::from(text.as_deref().unwrap_or_default());
        Target {
            kind: text(&given.kind),
            namespace: text(&given.namespace),
            name: text(&given.name),
            uid: text(&given.uid),
        }
    }
}

impl From<&discovery::EndpointHints> for Hints {
    fn from(given: &discovery::EndpointHints) -> Hints {
        let hinted = |name: &String| Hinted { name: name.clone() };
        let (zones, nodes) = (given.for_zones.iter().flatten(), given.for_nodes.iter().flatten());
        Hints {
            for_zones: zones.map(|zone| hinted(&zone.name)).collect(),
            for_nodes: nodes.map(|node| hinted(&node.name)).collect(),
        }
    }
}
