//! `ClusterLoadAssignment`, written field by field: the order of metadata is that of the tags, and nothing
//! is built up in memory only to be encoded. Time is linear in the bytes.
//!
//! Limits of Envoy that are kept: priorities end at 128; weights are at least 1, and those of one locality's
//! endpoints and of one priority's localities add up to 32 bits; of two endpoints with the same address
//! only the first is sent.

use core::net::SocketAddr;
use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint};
use rustc_hash::FxHashSet;

use crate::{
    resource::{Resource, ResourceType},
    wire::{put_bytes, put_number},
};

/// The namespace of metadata that load balancing looks at.
const LB_NAMESPACE: &str = "envoy.lb";

const ZONE_TAG: &str = "kuma.io/zone";

/// Envoy refuses higher ones.
const LAST_PRIORITY: u32 = 128;

mod field {
    /// Of `ClusterLoadAssignment`.
    pub(super) const CLUSTER_NAME: u32 = 1;
    pub(super) const ENDPOINTS: u32 = 2;
    pub(super) const POLICY: u32 = 4;
    pub(super) const OVERPROVISIONING_FACTOR: u32 = 3;

    /// Of `LocalityLbEndpoints`.
    pub(super) const LOCALITY: u32 = 1;
    pub(super) const LB_ENDPOINTS: u32 = 2;
    pub(super) const LOCALITY_WEIGHT: u32 = 3;
    pub(super) const PRIORITY: u32 = 5;
    pub(super) const ZONE: u32 = 2;
    pub(super) const SUB_ZONE: u32 = 3;

    /// Of `LbEndpoint`.
    pub(super) const ENDPOINT: u32 = 1;
    pub(super) const HEALTH_STATUS: u32 = 2;
    pub(super) const METADATA: u32 = 3;
    pub(super) const ENDPOINT_WEIGHT: u32 = 4;

    /// Of `Endpoint`, `Address` and `SocketAddress`.
    pub(super) const ENDPOINT_ADDRESS: u32 = 1;
    pub(super) const SOCKET_ADDRESS: u32 = 1;
    pub(super) const ADDRESS: u32 = 2;
    pub(super) const PORT: u32 = 3;

    /// Of a map's entry, of `Struct`, `Value` and the number types.
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
    pub(super) const MAP: u32 = 1;
    pub(super) const STRING_VALUE: u32 = 3;
    pub(super) const NUMBER: u32 = 1;
}

/// The endpoints of a cluster.
pub fn load_assignment(name: &Arc<str>, assignment: &LoadAssignment) -> Resource {
    let mut body = Vec::new();
    put_bytes(&mut body, field::CLUSTER_NAME, name.as_bytes());
    let divisors = locality_divisors(assignment);
    let mut sent = FxHashSet::default();
    for group in &assignment.groups {
        let endpoints: Vec<&MeshEndpoint> = group
            .endpoints
            .iter()
            .map(|endpoint| &**endpoint)
            .filter(|endpoint| sent.insert(endpoint.address))
            .collect();
        if !endpoints.is_empty() {
            let divisor = divisors.get(&priority(group)).copied().unwrap_or(1);
            put_message(&mut body, field::ENDPOINTS, |out| {
                put_group(out, group, &endpoints, divisor);
            });
        }
    }
    if let Some(factor) = assignment.overprovisioning_factor {
        put_message(&mut body, field::POLICY, |out| {
            put_wrapped(out, field::OVERPROVISIONING_FACTOR, factor.get());
        });
    }
    Resource::new(ResourceType::Endpoint, name.clone(), &body)
}

/// A load assignment without endpoints, which lets a cluster become active.
pub fn no_endpoints(name: &Arc<str>) -> Resource {
    load_assignment(name, &LoadAssignment::default())
}

fn put_group(out: &mut Vec<u8>, group: &Group, endpoints: &[&MeshEndpoint], locality_divisor: u64) {
    if group.zone.is_some() || !group.sub_zone.is_empty() {
        put_message(out, field::LOCALITY, |out| {
            put_text(out, field::ZONE, group.zone.as_deref().unwrap_or_default());
            put_text(out, field::SUB_ZONE, &group.sub_zone);
        });
    }
    let weights = endpoints.iter().map(|e| e.weight.map_or(1, |w| u64::from(w.get())));
    let divisor = divisor(weights);
    for endpoint in endpoints {
        put_message(out, field::LB_ENDPOINTS, |out| put_endpoint(out, endpoint, divisor));
    }
    if let Some(weight) = group.weight {
        put_weight(out, field::LOCALITY_WEIGHT, weight, locality_divisor);
    }
    let priority = priority(group);
    if priority > 0 {
        put_number(out, field::PRIORITY, priority.into());
    }
}

fn put_endpoint(out: &mut Vec<u8>, endpoint: &MeshEndpoint, divisor: u64) {
    put_message(out, field::ENDPOINT, |out| {
        put_message(out, field::ENDPOINT_ADDRESS, |out| {
            put_message(out, field::SOCKET_ADDRESS, |out| put_address(out, endpoint.address));
        });
    });
    put_number(out, field::HEALTH_STATUS, health_status(endpoint.health));
    put_metadata(out, endpoint);
    if let Some(weight) = endpoint.weight {
        put_weight(out, field::ENDPOINT_WEIGHT, weight, divisor);
    }
}

fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    put_bytes(out, field::ADDRESS, address.ip().to_string().as_bytes());
    put_number(out, field::PORT, address.port().into());
}

/// All tags, in their order, and the zone among them.
fn put_metadata(out: &mut Vec<u8>, endpoint: &MeshEndpoint) {
    let zone = endpoint.zone.as_deref().filter(|_| endpoint.tag(ZONE_TAG).is_none());
    let tags = endpoint.tags.iter().map(|(key, value)| (&**key, &**value));
    let before = tags.clone().filter(|(key, _)| *key < ZONE_TAG);
    let after = tags.filter(|(key, _)| *key >= ZONE_TAG);
    let all = before.chain(zone.map(|zone| (ZONE_TAG, zone))).chain(after);
    let mut fields = Vec::new();
    for (key, value) in all {
        put_message(&mut fields, field::MAP, |out| {
            put_bytes(out, field::KEY, key.as_bytes());
            put_message(out, field::VALUE, |out| {
                put_bytes(out, field::STRING_VALUE, value.as_bytes());
            });
        });
    }
    if fields.is_empty() {
        return;
    }
    put_message(out, field::METADATA, |out| {
        put_message(out, field::MAP, |out| {
            put_bytes(out, field::KEY, LB_NAMESPACE.as_bytes());
            put_bytes(out, field::VALUE, &fields);
        });
    });
}

fn priority(group: &Group) -> u32 {
    group.priority.min(LAST_PRIORITY)
}

/// By what the weights of each priority's localities are divided.
fn locality_divisors(assignment: &LoadAssignment) -> BTreeMap<u32, u64> {
    let mut weights: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for group in &assignment.groups {
        let weight = group.weight.map_or(0, |weight| u64::from(weight.get()));
        weights.entry(priority(group)).or_default().push(weight);
    }
    weights
        .into_iter()
        .map(|(priority, weights)| (priority, divisor(weights.into_iter())))
        .collect()
}

/// By what weights are divided so that they add up to 32 bits.
fn divisor(weights: impl Iterator<Item = u64>) -> u64 {
    let (n, total) = weights.fold((0, 0_u64), |(n, total), weight| (n + 1, total + weight));
    let bound = u64::from(u32::MAX);
    // Each quotient may be rounded up to 1, which takes at most `n` more.
    if total <= bound { 1 } else { total.div_ceil(bound.saturating_sub(n).max(1)) }
}

/// Numbers of `envoy.config.core.v3.HealthStatus`.
fn health_status(health: EndpointHealth) -> u64 {
    match health {
        EndpointHealth::Healthy => 1,
        EndpointHealth::Unhealthy => 2,
        EndpointHealth::Draining => 3,
        EndpointHealth::Degraded => 5,
    }
}

fn put_text(out: &mut Vec<u8>, field: u32, text: &str) {
    if !text.is_empty() {
        put_bytes(out, field, text.as_bytes());
    }
}

fn put_wrapped(out: &mut Vec<u8>, field: u32, number: u32) {
    put_message(out, field, |out| put_number(out, field::NUMBER, number.into()));
}

fn put_weight(out: &mut Vec<u8>, field: u32, weight: NonZeroU32, divisor: u64) {
    let weight = (u64::from(weight.get()) / divisor).max(1);
    put_message(out, field, |out| put_number(out, field::NUMBER, weight));
}

/// An embedded message, whose length is known only once it is written.
fn put_message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    write(&mut message);
    put_bytes(out, field, &message);
}
