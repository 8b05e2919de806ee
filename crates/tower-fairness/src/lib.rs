//! Priority and fairness as a [tower](https://docs.rs/tower) layer, for servers on axum, hyper or
//! tonic: requests that are too many wait in fair queues, and those that would wait too long are
//! answered with 429.
//!
//! ```text
//!   request ─► who sends what? ─► Dispatcher: schema, level, flow ─┬─► inner service ─► response
//!                                    ▲                             ├─► waits, then inner service
//!                                    │ seats come back             └─► 429, Retry-After
//!                                    └── end of the body, its drop, a dropped future
//! ```
//!
//! What is decided, and how, is in [`evenkeel_fairness`]; here are its clock, its wakers, and HTTP.
//! Not here: reading configurations, and authentication. A layer before this one puts a [`User`]
//! into the request's extensions.
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
//! What a client says of itself is not believed: it takes an authenticating layer to be a [`User`],
//! and the server ([`Builder::identify`], [`Builder::kubernetes_api`]) to be a watch. Who is turned
//! away learns when to come back and a [`RejectionId`]; why is in the log under that id.
//!
//! Cancellation: dropping a response future or body, as servers do when a client goes away, gives
//! up the place in the queue or frees the seats at once. No task and no timer belongs to a single
//! request. One that does not wait costs two short locks of its level, three if it has a body, and
//! no allocation.

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
mod top_flows;
mod watch_counts;

pub use evenkeel_fairness;

pub use crate::{
    body::ResponseBody,
    error::ConfigureError,
    future::ResponseFuture,
    head::{ANONYMOUS, Head, RequestTimeout, UNAUTHENTICATED, User},
    layer::{Builder, FairnessLayer},
    metrics::Metrics,
    policy::{BodyPolicy, Estimate, LongRunning},
    rejection::{Rejection, RejectionId, answer, answer_in_detail},
    service::Fairness,
    top_flows::{FlowWeight, LevelFlows},
};
