//! The instances that share a service's name.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU16,
    sync::Arc,
};

use evenkeel_model::mesh::{MeshEndpoint, MeshProtocol, PlainService};

use super::matching::has_all;
use crate::resource::{Labels, TargetPort};

#[derive(Debug, Default)]
pub(super) struct Service {
    entries: BTreeMap<Source, Entry>,
    protocols: ProtocolCounts,
    /// The port of a Service of Kubernetes that it is, too.
    pub(super) plain: Option<Plain>,
}

/// A port of a Service of Kubernetes. Its instances are entries under their index.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) service: PlainService,
    /// Instances that were ready once.
    pub(super) was_ready: BTreeSet<SocketAddr>,
}

/// From where an instance comes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// An inbound of a Dataplane.
    Inbound(Arc<str>, usize),
    /// An instance of a Service of Kubernetes.
    Plain(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// `None` as long as it was never ready.
    pub(super) endpoint: Option<Arc<MeshEndpoint>>,
    pub(super) port: Option<NonZeroU16>,
    pub(super) port_name: Option<Arc<str>>,
    pub(super) protocol: MeshProtocol,
}

/// How many instances speak each protocol.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProtocolCounts([u32; 4]);

// === impl Service ===

impl Service {
    /// Whether anything changed.
    pub(super) fn set(&mut self, source: Source, entry: Entry) -> bool {
        if self.entries.get(&source) == Some(&entry) {
            return false;
        }
        self.remove(&source);
        *self.protocols.of(entry.protocol) += 1;
        self.entries.insert(source, entry);
        true
    }

    pub(super) fn remove(&mut self, source: &Source) -> bool {
        let removed = self.entries.remove(source);
        if let Some(entry) = &removed {
            *self.protocols.of(entry.protocol) -= 1;
        }
        removed.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.plain.is_none()
    }

    pub(super) fn protocols(&self) -> ProtocolCounts {
        self.protocols
    }

    /// The names of the Dataplanes behind it.
    pub(super) fn dataplanes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.keys().filter_map(|source| match source {
            Source::Inbound(name, _) => Some(name),
            Source::Plain(_) => None,
        })
    }

    /// Whether its own topology decides where no policy does: there is nothing beside the Service.
    pub(super) fn topology(&self) -> Option<&PlainService> {
        let is_alone = !matches!(self.entries.first_key_value(), Some((Source::Inbound(..), _)));
        self.plain.as_ref().map(|plain| &plain.service).filter(|_| is_alone)
    }

    /// The instance of a Service of Kubernetes under this index.
    pub(super) fn instance(&self, index: usize) -> Option<&Arc<MeshEndpoint>> {
        self.entries.get(&Source::Plain(index))?.endpoint.as_ref()
    }

    /// Endpoints behind certain ports that have certain tags.
    pub(super) fn endpoints<'a>(
        &'a self,
        ports: Option<&'a [&'a TargetPort]>,
        subset: &'a Labels,
    ) -> impl Iterator<Item = &'a Arc<MeshEndpoint>> {
        let has_port = move |entry: &Entry| {
            ports.is_none_or(|ports| ports.iter().any(|port| entry.has_port(port)))
        };
        let entries = self.entries.values().filter(move |entry| has_port(entry));
        entries
            .filter_map(|entry| entry.endpoint.as_ref())
            .filter(move |endpoint| has_all(&endpoint.tags, subset))
    }
}

impl Entry {
    fn has_port(&self, port: &TargetPort) -> bool {
        match port {
            TargetPort::Number(number) => self.port == Some(*number),
            TargetPort::Name(name) => self.port_name.as_ref() == Some(name),
        }
    }
}

// === impl ProtocolCounts ===

impl ProtocolCounts {
    fn of(&mut self, protocol: MeshProtocol) -> &mut u32 {
        let [tcp, http, http2, grpc] = &mut self.0;
        match protocol {
            MeshProtocol::Tcp => tcp,
            MeshProtocol::Http => http,
            MeshProtocol::Http2 => http2,
            MeshProtocol::Grpc => grpc,
        }
    }

    pub(super) fn add(&mut self, other: ProtocolCounts) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    /// What all instances understand: gRPC is HTTP/2, anything is TCP. `None` without instances.
    pub(super) fn common(self) -> Option<MeshProtocol> {
        match self.0.map(|n| n > 0) {
            [false, false, false, false] => None,
            [false, true, false, false] => Some(MeshProtocol::Http),
            [false, false, false, true] => Some(MeshProtocol::Grpc),
            [false, false, true, _] => Some(MeshProtocol::Http2),
            _ => Some(MeshProtocol::Tcp),
        }
    }
}
