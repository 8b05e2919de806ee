//! Names of clusters, listeners and route tables. They depend on what they name alone, so that they
//! are equal on every replica.

use core::net::SocketAddr;
use std::{num::NonZeroU16, sync::Arc};

use crate::{TargetKind, resource::Labels};

/// The service's name, and a hash of what else there is: its kind, its port, the tags of a split.
pub(super) fn cluster(
    kind: TargetKind,
    name: &Arc<str>,
    port: Option<NonZeroU16>,
    subset: &Labels,
) -> Arc<str> {
    if kind == TargetKind::MeshService && port.is_none() && subset.is_empty() {
        return name.clone();
    }
    let mut hash = Fnv::default();
    hash.text(kind.as_str());
    hash.text(&port.map_or(0, NonZeroU16::get).to_string());
    for (key, value) in subset {
        hash.text(key);
        hash.text(value);
    }
    format!("{name}-{:016x}", hash.0).into()
}

/// Of the listener, its route table and the cluster of the workload behind it.
pub(super) fn inbound(address: SocketAddr) -> Arc<str> {
    format!("inbound:{address}").into()
}

pub(super) fn outbound(address: SocketAddr) -> Arc<str> {
    format!("outbound:{address}").into()
}

pub(super) fn route_table(cluster: &str) -> Arc<str> {
    format!("outbound:{cluster}").into()
}

/// FNV-1a, 64 bits: small, and the same everywhere.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// The end of the text counts too.
    fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
