//! What a client is to have, and short ways to write requests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use envoy_types::pb::{
    envoy::{
        config::endpoint::v3::{ClusterLoadAssignment, cluster_load_assignment::Policy},
        service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest},
    },
    google::{protobuf::UInt32Value, rpc::Status},
};
use evenkeel_xds::{
    Outcome, Resource, ResourceType, Response, Session, Source,
    session::{Limits, Protocol},
};
use prost::Message;

pub(crate) const CDS: ResourceType = ResourceType::Cluster;
pub(crate) const EDS: ResourceType = ResourceType::Endpoint;
pub(crate) const LDS: ResourceType = ResourceType::Listener;
pub(crate) const RDS: ResourceType = ResourceType::Route;

pub(crate) const NOW: Duration = Duration::from_secs(1);

#[derive(Default, Debug)]
pub(crate) struct World {
    pub(crate) resources: BTreeMap<(ResourceType, Arc<str>), Arc<Resource>>,
    changes: u64,
}

/// A session with what it serves.
pub(crate) struct Server<P> {
    pub(crate) world: World,
    pub(crate) session: Session<P>,
    pub(crate) now: Duration,
}

/// A resource whose body carries its name and a number, whatever its type.
pub(crate) fn resource(kind: ResourceType, name: &str, content: u32) -> Arc<Resource> {
    let body = ClusterLoadAssignment {
        cluster_name: name.to_owned(),
        policy: Some(Policy {
            overprovisioning_factor: Some(UInt32Value { value: content }),
            ..Policy::default()
        }),
        ..ClusterLoadAssignment::default()
    };
    Arc::new(Resource::new(kind, name.into(), &body.encode_to_vec()))
}

pub(crate) fn status(message: &str) -> Option<Status> {
    Some(Status { code: 13, message: message.to_owned(), details: Vec::new() })
}

/// `[names] -[removed]` of a response.
pub(crate) fn summary(response: &Response) -> String {
    let names: Vec<&str> = response.resources.iter().map(|r| &**r.name()).collect();
    let removed: String = response.removed.iter().map(|name| format!(" -{name}")).collect();
    format!("{} {}{removed}", response.kind, names.join(",")).trim().to_owned()
}

impl World {
    pub(crate) fn set(&mut self, kind: ResourceType, name: &str, content: Option<u32>) -> u64 {
        let key = (kind, Arc::from(name));
        match content {
            Some(content) => self.resources.insert(key, resource(kind, name, content)),
            None => self.resources.remove(&key),
        };
        self.changes += 1;
        self.changes
    }

    pub(crate) fn names(&self, kind: ResourceType) -> Vec<Arc<str>> {
        self.resources.keys().filter(|(k, _)| *k == kind).map(|(_, name)| name.clone()).collect()
    }
}

impl Source for World {
    fn get(&self, kind: ResourceType, name: &str) -> Option<Arc<Resource>> {
        self.resources.get(&(kind, Arc::from(name))).cloned()
    }

    fn each(&self, kind: ResourceType, visit: &mut dyn FnMut(&Arc<Resource>)) {
        self.resources.values().filter(|r| r.kind() == kind).for_each(visit);
    }
}

impl<P: Protocol> Server<P> {
    pub(crate) fn new(resources: &[(ResourceType, &str, u32)]) -> Self {
        let mut world = World::default();
        for (kind, name, content) in resources {
            world.set(*kind, name, Some(*content));
        }
        Self { world, session: Session::new(Limits::default()), now: NOW }
    }

    /// The same server after a restart, or another replica.
    pub(crate) fn reconnect(self) -> Self {
        Self { session: Session::new(Limits::default()), ..self }
    }

    pub(crate) fn set(&mut self, kind: ResourceType, name: &str, content: Option<u32>) -> bool {
        let change = self.world.set(kind, name, content);
        self.session.on_change(change, kind, &Arc::from(name))
    }

    pub(crate) fn request(&mut self, request: &P::Request) -> Outcome {
        self.session.on_request(self.now, request).unwrap()
    }

    /// All responses that are due.
    pub(crate) fn poll(&mut self) -> Vec<Response> {
        std::iter::from_fn(|| self.session.poll(self.now, &self.world)).collect()
    }

    pub(crate) fn summaries(&mut self) -> Vec<String> {
        self.poll().iter().map(summary).collect()
    }

    /// Sends a request and returns what is due then.
    pub(crate) fn ask(&mut self, request: &P::Request) -> Vec<Response> {
        self.request(request);
        self.poll()
    }

    pub(crate) fn asked(&mut self, request: &P::Request) -> Vec<String> {
        self.ask(request).iter().map(summary).collect()
    }
}

// === requests ===

pub(crate) fn delta(kind: ResourceType, subscribe: &[&str]) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: kind.type_url().to_owned(),
        resource_names_subscribe: subscribe.iter().map(ToString::to_string).collect(),
        ..DeltaDiscoveryRequest::default()
    }
}

pub(crate) fn delta_with(
    kind: ResourceType,
    subscribe: &[&str],
    has: &[(&str, u32)],
) -> DeltaDiscoveryRequest {
    let versions = has
        .iter()
        .map(|(name, content)| {
            (name.to_string(), resource(kind, name, *content).version().to_string())
        })
        .collect();
    DeltaDiscoveryRequest { initial_resource_versions: versions, ..delta(kind, subscribe) }
}

pub(crate) fn delta_ack(response: &Response) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        response_nonce: response.nonce.to_string(),
        ..delta(response.kind, &[])
    }
}

pub(crate) fn delta_nack(response: &Response, message: &str) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest { error_detail: status(message), ..delta_ack(response) }
}

pub(crate) fn sotw(kind: ResourceType, names: &[&str]) -> DiscoveryRequest {
    DiscoveryRequest {
        type_url: kind.type_url().to_owned(),
        resource_names: names.iter().map(ToString::to_string).collect(),
        ..DiscoveryRequest::default()
    }
}

pub(crate) fn sotw_ack(response: &Response, names: &[&str]) -> DiscoveryRequest {
    DiscoveryRequest {
        version_info: response.version_text(),
        response_nonce: response.nonce.to_string(),
        ..sotw(response.kind, names)
    }
}

pub(crate) fn sotw_nack(
    response: &Response,
    names: &[&str],
    version: &str,
    message: &str,
) -> DiscoveryRequest {
    DiscoveryRequest {
        version_info: version.to_owned(),
        error_detail: status(message),
        ..sotw_ack(response, names)
    }
}
