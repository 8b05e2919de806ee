//! One client's stream of aggregated discovery (ADS), as a state machine without I/O.
//!
//! ```text
//!   request ──► on_request ──┐                        ┌──► Outcome (acknowledged, rejected, …)
//!   change  ──► on_change  ──┼──► what is due, by type
//!                            └──► poll(now, source) ──┴──► Response, one after the other until None
//! ```
//!
//! A session remembers, for each type, what the client subscribed to and the version of each resource
//! that it holds; never the resources themselves. A change costs time for the names that changed only.
//!
//! Rules, for each type:
//! - At most one response waits for its acknowledgement. Changes meanwhile are noted by name, so that a
//!   slow client is sent the newest state once, and holds no memory for older ones.
//! - A rejected response is cut in halves, which are sent again until the resources that the client
//!   refuses are known by name. The others thereby take effect; those are sent again only once they change.
//!   That takes at most two responses for each resource, each of which the client must answer.
//! - Additions and changes go out in the order clusters, endpoints, listeners, routes; listeners and
//!   routes wait for the acknowledgement of clusters, at most [`CLUSTER_WAIT`]. Endpoints never wait:
//!   Envoy acknowledges clusters only after it has their endpoints.
//! - Clusters, endpoints and routes that are gone are removed last, when listeners and routes are
//!   acknowledged. If the client rejected those, it still uses what they named, and nothing is removed.
//! - A cluster that was sent has its endpoints sent after it, even if these did not change: Envoy
//!   warms it anew, and asks for them again in one variant of the protocol only.

mod delta;
mod draft;
mod held;
mod pending;
mod sotw;
mod status;
mod stream;
mod type_state;

use std::{marker::PhantomData, sync::Arc, time::Duration};

use envoy_types::pb::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};

pub use self::{
    pending::Changes,
    status::{Rejection, SyncState, TypeStatus},
    stream::{CLUSTER_WAIT, Stream},
};
use crate::{
    resource::{Resource, ResourceType, Version},
    response::{Response, Variant},
};

/// What the client is to have at this moment.
pub trait Source {
    fn get(&self, kind: ResourceType, name: &str) -> Option<Arc<Resource>>;
    /// Visits all resources of a type that a client without a list of names is sent.
    fn each(&self, kind: ResourceType, visit: &mut dyn FnMut(&Arc<Resource>));
}

/// A variant of the protocol, which is the type of its requests.
pub trait Protocol: sealed::Sealed {
    type Request;
    const VARIANT: Variant;

    #[doc(hidden)]
    fn apply(
        stream: &mut Stream,
        now: Duration,
        request: &Self::Request,
    ) -> Result<Outcome, Refused>;
}

/// State of the world: each request names all that the client wants.
#[derive(Debug)]
pub enum Sotw {}

/// Incremental: requests and responses carry differences.
#[derive(Debug)]
pub enum Delta {}

pub type SotwSession = Session<Sotw>;
pub type DeltaSession = Session<Delta>;

/// The state of one stream. `now` never goes backwards.
#[derive(Debug)]
pub struct Session<P> {
    stream: Stream,
    protocol: PhantomData<P>,
}

/// Bounds on what one client may make the server remember, for each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub names: usize,
    /// The names' length together.
    pub name_bytes: usize,
}

/// A request that ends the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    #[error("more than {limit} names subscribed in {kind}")]
    TooManyNames { kind: ResourceType, limit: usize },
    #[error("names subscribed in {kind} are longer than {limit} bytes together")]
    NamesTooLong { kind: ResourceType, limit: usize },
}

/// What a request said. In every case [`Session::poll`] may have something to send afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The latest response is in force.
    Acked(Acked),
    /// The latest response was rejected. It is shown in [`TypeStatus`] too.
    Nacked { kind: ResourceType, message: Arc<str>, names: Vec<Arc<str>> },
    /// Acknowledges nothing: a subscription, or the wish to be sent the same again.
    Subscribed { kind: ResourceType },
    /// Answers a response that is not the latest one.
    Stale { kind: ResourceType },
    /// Nobody serves this type. `first`: this stream has not asked for it before.
    UnknownType { first: bool },
}

/// A response that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    pub kind: ResourceType,
    pub version: Version,
    pub sent: Duration,
    pub acked: Duration,
    /// The changes that it carried.
    pub changes: Option<Changes>,
}

/// The name that stands for all.
const WILDCARD: &str = "*";

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Sotw {}
    impl Sealed for super::Delta {}
}

// === impl Session ===

impl<P: Protocol> Session<P> {
    pub fn new(limits: Limits) -> Self {
        Self { stream: Stream::new(P::VARIANT, limits), protocol: PhantomData }
    }

    /// Takes a request. An error ends the stream.
    pub fn on_request(&mut self, now: Duration, request: &P::Request) -> Result<Outcome, Refused> {
        P::apply(&mut self.stream, now, request)
    }

    /// This resource was added, changed or removed. Returns whether the client is concerned.
    pub fn on_change(&mut self, change: u64, kind: ResourceType, name: &Arc<str>) -> bool {
        self.stream.on_change(change, kind, name)
    }

    /// Anything may have changed. The next [`Self::poll`] compares all that the client has.
    pub fn on_snapshot(&mut self, change: u64) {
        self.stream.on_snapshot(change);
    }

    /// The next response that is due. Call it again until it returns `None`.
    pub fn poll(&mut self, now: Duration, source: &impl Source) -> Option<Response> {
        self.stream.poll(now, source)
    }

    /// When to poll again even if nothing happens.
    pub fn deadline(&self) -> Option<Duration> {
        self.stream.deadline()
    }

    /// The state of one type, for the operator.
    pub fn status(&self, kind: ResourceType) -> TypeStatus {
        self.stream.status(kind)
    }
}

// === impl Protocol ===

impl Protocol for Sotw {
    type Request = DiscoveryRequest;
    const VARIANT: Variant = Variant::StateOfTheWorld;

    fn apply(
        stream: &mut Stream,
        now: Duration,
        request: &DiscoveryRequest,
    ) -> Result<Outcome, Refused> {
        sotw::apply(stream, now, request)
    }
}

impl Protocol for Delta {
    type Request = DeltaDiscoveryRequest;
    const VARIANT: Variant = Variant::Incremental;

    fn apply(
        stream: &mut Stream,
        now: Duration,
        request: &DeltaDiscoveryRequest,
    ) -> Result<Outcome, Refused> {
        delta::apply(stream, now, request)
    }
}

// === impl Limits ===

impl Limits {
    fn check<'a>(
        self,
        kind: ResourceType,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), Refused> {
        let (mut n_names, mut bytes) = (0, 0);
        for name in names {
            n_names += 1;
            bytes += name.len();
        }
        if n_names > self.names {
            return Err(Refused::TooManyNames { kind, limit: self.names });
        }
        if bytes > self.name_bytes {
            return Err(Refused::NamesTooLong { kind, limit: self.name_bytes });
        }
        Ok(())
    }
}

impl Default for Limits {
    /// Every service of a mesh of tens of thousands.
    fn default() -> Self {
        Self { names: 65_536, name_bytes: 8 << 20 }
    }
}
