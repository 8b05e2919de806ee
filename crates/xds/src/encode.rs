//! The shared types of the mesh as Envoy's messages.

use std::sync::Arc;

use crate::{
    resource::{Resource, ResourceType},
    wire::put_bytes,
};

/// A load assignment without endpoints, which lets a cluster without any become active.
pub fn no_endpoints(name: Arc<str>) -> Resource {
    let mut body = Vec::new();
    put_bytes(&mut body, 1, name.as_bytes());
    Resource::new(ResourceType::Endpoint, name, &body)
}
