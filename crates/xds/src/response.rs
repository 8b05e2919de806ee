//! A response, written from pieces that all streams share.
//!
//! Protobuf fields may be concatenated, so that the encoded resources are copied as they are; only
//! versions, names and the nonce are written for each response. Time and size are linear in the bytes.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    resource::{Resource, ResourceType, Version},
    wire::{bytes_len, put_bytes, put_head},
};

/// A message to the client. It holds the resources, not their encoding, until it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub variant: Variant,
    pub kind: ResourceType,
    pub nonce: Nonce,
    /// Of all resources of this type that the client holds once it has accepted the response.
    pub version: Version,
    /// The client rejected some of those resources: the version must not be recognised later.
    pub tainted: bool,
    /// In the order of their names.
    pub resources: Vec<Arc<Resource>>,
    /// Only in the incremental protocol.
    pub removed: Vec<Arc<str>>,
}

/// The two variants of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    StateOfTheWorld,
    Incremental,
}

/// Counts the responses of a stream, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nonce(pub u64);

/// Fields of `DiscoveryResponse`.
mod sotw {
    pub(super) const VERSION_INFO: u32 = 1;
    pub(super) const RESOURCES: u32 = 2;
    pub(super) const TYPE_URL: u32 = 4;
    pub(super) const NONCE: u32 = 5;
}

/// Fields of `DeltaDiscoveryResponse` and, from the fourth on, of the `Resource` in it.
mod delta {
    pub(super) const SYSTEM_VERSION_INFO: u32 = 1;
    pub(super) const RESOURCES: u32 = 2;
    pub(super) const TYPE_URL: u32 = 4;
    pub(super) const NONCE: u32 = 5;
    pub(super) const REMOVED_RESOURCES: u32 = 6;

    pub(super) const RESOURCE_VERSION: u32 = 1;
    pub(super) const RESOURCE_RESOURCE: u32 = 2;
    pub(super) const RESOURCE_NAME: u32 = 3;
}

/// Digits of a version.
const VERSION_LEN: usize = 32;

// === impl Response ===

impl Response {
    /// The version as the client sees it.
    pub fn version_text(&self) -> String {
        let mark = if self.tainted { "-rejected" } else { "" };
        format!("{}{mark}", self.version)
    }

    /// The encoded message.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.encoded_len());
        self.encode_into(&mut out);
        out.freeze()
    }

    /// Bytes that [`Self::encode_into`] writes.
    pub fn encoded_len(&self) -> usize {
        let nonce = self.nonce.to_string();
        // Both variants have the same numbers for these fields.
        let fixed = bytes_len(sotw::VERSION_INFO, self.version_text().len())
            + bytes_len(sotw::TYPE_URL, self.kind.type_url().len())
            + bytes_len(sotw::NONCE, nonce.len());
        let content: usize = match self.variant {
            Variant::StateOfTheWorld => {
                self.resources.iter().map(|r| bytes_len(sotw::RESOURCES, r.any().len())).sum()
            }
            Variant::Incremental => {
                let resources =
                    self.resources.iter().map(|r| bytes_len(delta::RESOURCES, delta_len(r)));
                let removed =
                    self.removed.iter().map(|n| bytes_len(delta::REMOVED_RESOURCES, n.len()));
                resources.chain(removed).sum()
            }
        };
        fixed + content
    }

    /// Appends the encoded message.
    pub fn encode_into(&self, out: &mut impl BufMut) {
        let version = self.version_text();
        let nonce = self.nonce.to_string();
        match self.variant {
            Variant::StateOfTheWorld => {
                put_bytes(out, sotw::VERSION_INFO, version.as_bytes());
                for resource in &self.resources {
                    put_bytes(out, sotw::RESOURCES, resource.any());
                }
                put_bytes(out, sotw::TYPE_URL, self.kind.type_url().as_bytes());
                put_bytes(out, sotw::NONCE, nonce.as_bytes());
            }
            Variant::Incremental => {
                put_bytes(out, delta::SYSTEM_VERSION_INFO, version.as_bytes());
                for resource in &self.resources {
                    put_delta(out, resource);
                }
                put_bytes(out, delta::TYPE_URL, self.kind.type_url().as_bytes());
                put_bytes(out, delta::NONCE, nonce.as_bytes());
                for name in &self.removed {
                    put_bytes(out, delta::REMOVED_RESOURCES, name.as_bytes());
                }
            }
        }
    }
}

fn delta_len(resource: &Resource) -> usize {
    bytes_len(delta::RESOURCE_VERSION, VERSION_LEN)
        + bytes_len(delta::RESOURCE_RESOURCE, resource.any().len())
        + bytes_len(delta::RESOURCE_NAME, resource.name().len())
}

fn put_delta(out: &mut impl BufMut, resource: &Resource) {
    put_head(out, delta::RESOURCES, delta_len(resource));
    put_bytes(out, delta::RESOURCE_VERSION, resource.version().to_string().as_bytes());
    put_bytes(out, delta::RESOURCE_RESOURCE, resource.any());
    put_bytes(out, delta::RESOURCE_NAME, resource.name().as_bytes());
}

// === impl Nonce ===

impl std::fmt::Display for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
