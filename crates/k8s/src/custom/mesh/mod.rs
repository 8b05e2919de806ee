//! Kinds of `kuma.io/v1alpha1`, as Kuma defines them: names, scopes, fields and limits.
//!
//! They accept what Kuma 2.14 and the development line of Kuma 3 accept (August 2026): references by
//! name and by labels, `from` and `rules`, hash policies in both places. What of it has an effect is
//! decided where specs are read. A definition that Kuma installed stays as it is, so each of these has
//! to be replaceable by Kuma's own.

mod freeform;
mod hash_policy;
mod header;
mod http_filter;
mod mesh_circuit_breaker;
mod mesh_external_service;
mod mesh_health_check;
mod mesh_http_route;
mod mesh_load_balancing_strategy;
mod mesh_multi_zone_service;
mod mesh_service;
mod mesh_tcp_route;
mod reference;
mod status;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

pub use self::{
    freeform::{Dataplane, Mesh},
    hash_policy::*,
    header::{AddedHeaders, Header, HeaderModifier},
    http_filter::*,
    mesh_circuit_breaker::*,
    mesh_external_service::*,
    mesh_health_check::*,
    mesh_http_route::*,
    mesh_load_balancing_strategy::*,
    mesh_multi_zone_service::*,
    mesh_service::*,
    mesh_tcp_route::*,
    reference::*,
    status::*,
};

/// Each kind, by its definition.
const KINDS: &[fn() -> CustomResourceDefinition] = &[
    Dataplane::definition,
    Mesh::definition,
    MeshCircuitBreaker::crd,
    MeshExternalService::crd,
    MeshHealthCheck::crd,
    MeshHTTPRoute::crd,
    MeshLoadBalancingStrategy::crd,
    MeshMultiZoneService::crd,
    MeshService::crd,
    MeshTCPRoute::crd,
];

/// The CustomResourceDefinitions of the kinds of a mesh, each with the version of this program.
pub fn definitions() -> Vec<Value> {
    let of = |definition: &fn() -> CustomResourceDefinition| {
        let mut value = super::manifest(&definition());
        let version = &mut value["spec"]["versions"][0];
        // Status is a field like others in Kuma's definitions.
        version["subresources"] = json!({});
        let schema = &mut version["schema"]["openAPIV3Schema"];
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        without_null(schema);
        value
    };
    KINDS.iter().map(of).collect()
}

/// What is optional in Rust may be missing, but not null, and no number has more than 53 bits.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("nullable");
            if fields.get("format").is_some_and(|format| format == "int64") {
                fields.remove("format");
            }
            if let Some(Value::Array(values)) = fields.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            fields.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
