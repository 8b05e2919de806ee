//! One thing that Envoy is served: named, versioned by its content, encoded once, shared by all streams.

use std::{borrow::Borrow, cmp::Ordering, fmt, str::FromStr, sync::Arc};

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use crate::wire;

/// The kinds of resources, in the order in which additions are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceType {
    Cluster,
    Endpoint,
    Listener,
    Route,
}

/// A hash of content, the same in every replica and after every restart.
///
/// That of a set of resources is the sum of theirs, so that it follows one change without work for
/// the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(u128);

/// Text that is not a version of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version has 32 hexadecimal digits")]
pub struct NotAVersion;

/// Name and version of a resource: what a stream remembers of what it sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub name: Arc<str>,
    pub version: Version,
}

/// An encoded resource. Cloning it is cheap, but it is meant to be shared in an [`Arc`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    kind: ResourceType,
    head: Arc<Head>,
    /// The message inside a `google.protobuf.Any`, as responses carry it.
    any: Bytes,
    body_len: usize,
}

/// Heads in the order of their names, found by name.
#[derive(Clone, Debug)]
pub(crate) struct ByName(pub(crate) Arc<Head>);

// === impl ResourceType ===

impl ResourceType {
    pub const ALL: [Self; 4] = [Self::Cluster, Self::Endpoint, Self::Listener, Self::Route];

    pub fn type_url(self) -> &'static str {
        match self {
            Self::Cluster => "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            Self::Endpoint => "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
            Self::Listener => "type.googleapis.com/envoy.config.listener.v3.Listener",
            Self::Route => "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
        }
    }

    pub fn from_type_url(url: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.type_url() == url)
    }

    /// The short name that operators know: `CDS`, `EDS`, `LDS`, `RDS`.
    pub fn service(self) -> &'static str {
        match self {
            Self::Cluster => "CDS",
            Self::Endpoint => "EDS",
            Self::Listener => "LDS",
            Self::Route => "RDS",
        }
    }

    /// A first request without names asks for all resources of this type, and a state-of-the-world
    /// response must hold all that the client may keep.
    pub fn is_full_state(self) -> bool {
        matches!(self, Self::Cluster | Self::Listener)
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.service())
    }
}

// === impl Version ===

impl Version {
    /// Of nothing, and of the empty set.
    pub const NONE: Self = Self(0);

    /// The first half of SHA-256 over type, name and body.
    pub fn of(kind: ResourceType, name: &str, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(kind.type_url());
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        hash.update(body);
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finalize()[..16]);
        Self(u128::from_be_bytes(half))
    }

    /// Of this set with one more resource.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Of this set without one of its resources.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or(NotAVersion)
    }
}

// === impl Resource ===

impl Resource {
    /// Takes the encoded message of a resource.
    pub fn new(kind: ResourceType, name: Arc<str>, body: &[u8]) -> Self {
        let version = Version::of(kind, &name, body);
        let mut any = BytesMut::with_capacity(wire::any_len(kind.type_url(), body.len()));
        wire::put_bytes(&mut any, wire::ANY_TYPE_URL, kind.type_url().as_bytes());
        wire::put_bytes(&mut any, wire::ANY_VALUE, body);
        Self {
            kind,
            head: Arc::new(Head { name, version }),
            any: any.freeze(),
            body_len: body.len(),
        }
    }

    pub fn kind(&self) -> ResourceType {
        self.kind
    }

    pub fn name(&self) -> &Arc<str> {
        &self.head.name
    }

    pub fn version(&self) -> Version {
        self.head.version
    }

    pub fn head(&self) -> &Arc<Head> {
        &self.head
    }

    /// The encoded message.
    pub fn body(&self) -> Bytes {
        self.any.slice(self.any.len() - self.body_len..)
    }

    /// The encoded `google.protobuf.Any` around the message.
    pub fn any(&self) -> &Bytes {
        &self.any
    }
}

// === impl ByName ===

impl Borrow<str> for ByName {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for ByName {}

impl PartialOrd for ByName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name.cmp(&other.0.name)
    }
}
