//! Priority and fairness for the requests to a server, as a library: which level, flow and queue a
//! request belongs to, and when it is dispatched.
//!
//! ```text
//!   YAML ─► dialect ─► config ─┐
//!                              ▼
//!   request ─────────► dispatcher ─► classify, flow, shard ─► queues ─► a seat, a wait, or a rejection
//!                              ▲                                │
//!                              └──── limits, every 10 s ◄───────┘ demand
//! ```
//!
//! Not here: clocks, tasks, wakers, HTTP. Time is an argument, and calls return wakers; the
//! crate `tower-fairness` does the rest for servers, [`simulate`] does it in simulated time.
//!
//! ```
//! use std::time::Duration;
//! use evenkeel_fairness::{
//!     Request, Settings, Time, Width, dialect,
//!     dispatcher::{Admission, Cost, Dispatcher},
//! };
//!
//! // No objects at all: Kubernetes' mandatory ones are implied.
//! let config = dialect::load("none.yaml", "").compile().unwrap().config;
//! let dispatcher = Dispatcher::new(Time(0), config, 10, Settings::default()).unwrap();
//!
//! let request = Request { user: "alice", verb: "get", path: "/orders", ..Request::default() };
//! let wait_until = Time(0) + Duration::from_secs(15);
//! let cost = |_: &_| Cost { width: Width::ONE, wait_until, watch: false };
//! let mut woken = Vec::new();
//! let admitted = dispatcher.admit(Time(0), &request, cost, || "how to wake alice", &mut woken);
//! assert_eq!(&*admitted.destination.level.name, "catch-all");
//! let Admission::Dispatched(handle) = admitted.admission else { panic!("seats are free") };
//! // … it is served …
//! dispatcher.leave(Time(1_000_000), handle, &mut woken);
//! assert!(woken.is_empty(), "nobody waited");
//! ```

pub mod classify;
pub mod collisions;
pub mod config;
pub mod dialect;
pub mod dispatcher;
pub mod flow;
pub mod limits;
pub mod matching;
pub mod queues;
mod request;
pub mod retry_after;
mod seats;
mod settings;
pub mod shard;
pub mod simulate;
pub mod stripes;
mod time;
pub mod top_flows;
pub mod width;

pub use crate::{
    request::{Groups, Request},
    seats::Width,
    settings::{Pick, Settings, SlowFlows},
    time::Time,
};
