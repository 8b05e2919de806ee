//! Priority and fairness as a [tower](https://docs.rs/tower) layer, for servers on axum, hyper or
//! tonic: excess requests wait in fair queues, and those that would wait too long get 429.
//!
//! ```text
//!   request ─► identify: user, verb, path ─► Dispatcher: schema, level, flow ─┬─► inner service ─► response
//!                                    ▲                                        ├─► waits, then inner service
//!                                    │ seats are released                     └─► 429, Retry-After
//!                                    └── end of the body, its drop, a dropped future
//! ```
//!
//! The decisions are made in [`evenkeel_fairness`]; this crate adds a clock, wakers and HTTP. It does
//! not read configurations and does not authenticate: an earlier layer puts a [`User`] into the
//! request's extensions.
//!
//! ```no_run
//! # fn f(config: evenkeel_fairness::config::Config) -> Result<(), tower_fairness::ConfigureError> {
//! use tower_fairness::FairnessLayer;
//!
//! let fairness = FairnessLayer::builder().kubernetes_headers(true).build(config, 600)?;
//! let app: axum::Router = axum::Router::new().layer(fairness.clone());
//! # Ok(()) }
//! ```
//!
//! Claims of a client are not trusted: only an authenticating layer makes it a [`User`], and only the
//! server ([`Builder::identify`], [`Builder::kubernetes_api`]) makes its request a watch. A rejected
//! client learns when to retry and a [`RejectionId`]; the log has the reason under that id.
//!
//! Cancellation: dropping a response future or body, as servers do when a client disconnects, leaves
//! the queue or releases the seats at once. No task and no timer belongs to a single request. A request
//! that does not wait costs two short locks of its level, three if it has a body, and no allocation.

mod admit;
mod body;
mod clock;
mod driver;
mod error;
mod future;
mod head;
mod in_flight;
mod kubernetes;
mod layer;
mod metrics;
mod policy;
mod rejection;
mod seat;
mod service;
mod shared;
mod striped;
mod top_flows;
mod watch_counts;

pub use evenkeel_fairness;

pub use crate::{
    admit::{Admission, Arrival, Rejected, Waiting},
    body::ResponseBody,
    error::ConfigureError,
    future::ResponseFuture,
    head::{ANONYMOUS, Head, RequestTimeout, UNAUTHENTICATED, User},
    layer::{Builder, FairnessLayer},
    metrics::Metrics,
    policy::{BodyPolicy, Estimate, LongRunning},
    rejection::{Rejection, RejectionId, detailed_rejection_response, rejection_response},
    seat::Seat,
    service::Fairness,
    shared::Destination,
    top_flows::{FlowWeight, LevelFlows},
};
