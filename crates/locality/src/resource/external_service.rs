//! MeshExternalService: addresses outside of the mesh.

use core::net::SocketAddr;
use std::num::NonZeroU16;

use evenkeel_model::mesh::MeshProtocol;
use serde_json::Value;

use super::{
    dataplane::PROTOCOLS,
    scalar::{address, required_port},
};
use crate::{Errors, FieldPath, decode::Fields};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshExternalService {
    /// Under which clients know it.
    pub port: NonZeroU16,
    pub protocol: MeshProtocol,
    /// Never empty.
    pub endpoints: Vec<SocketAddr>,
}

impl MeshExternalService {
    pub(super) fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &["match", "endpoints"], errors)?;
        let matched = fields.nested("match", errors, decode_match);
        if fields.get("match").is_none() {
            errors.push(&fields.path.field("match"), "must be set");
        }
        let endpoints = fields.list("endpoints", errors, decode_endpoint).unwrap_or_default();
        if endpoints.is_empty() && errors.is_empty() {
            errors.push(&fields.path.field("endpoints"), "must not be empty");
        }
        let (port, protocol) = matched?;
        Some(MeshExternalService { port, protocol, endpoints })
    }
}

fn decode_match(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<(NonZeroU16, MeshProtocol)> {
    const TYPES: [(&str, ()); 1] = [("HostnameGenerator", ())];
    let fields = Fields::of(value, path, &["type", "port", "protocol"], errors)?;
    fields.one_of("type", &TYPES, errors);
    let protocol = fields.one_of("protocol", &PROTOCOLS, errors).unwrap_or_default();
    Some((required_port(&fields, "port", errors)?, protocol))
}

fn decode_endpoint(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<SocketAddr> {
    let fields = Fields::of(value, path, &["address", "port"], errors)?;
    if fields.get("address").is_none() {
        errors.push(&fields.path.field("address"), "must be set");
    }
    let port = required_port(&fields, "port", errors);
    Some(SocketAddr::new(address(&fields, "address", errors)?, port?.get()))
}
