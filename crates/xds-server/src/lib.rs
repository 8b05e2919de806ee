//! Serves a mesh to Envoy proxies over xDS.
//!
//! ```text
//!   folder of files ─┐                            ┌─► Mailbox ─► Conversation ─► Envoy
//!   Intake ──────────┴─► Control ─► Engine ─Push──┤        one task for each stream
//!                        (View)                   └─► …
//!                           └─► /mesh/proxies, /mesh/propagation, /mesh/inspect, /mesh/policies
//! ```
//!
//! `kubernetes` makes destinations of Services, EndpointSlices, Pods and Nodes. [`engine`] keeps what each proxy is
//! sent, encoded once for all proxies alike, and says whom a change concerns. `stream` speaks the protocol, [`source`]
//! reads resources, `admin` shows. Not here: what a policy means (crate
//! `locality`), how messages are encoded and when they are due (crate `xds`).

pub mod engine;
pub mod source;

mod admin;
mod clock;
mod control;
mod error;
mod kubernetes;
mod metrics;
mod propagation;
mod run;
mod settings;
mod stream;

pub use crate::{
    error::Error,
    kubernetes::KubernetesSettings,
    run::{ControlPlane, Ready, prepare, run},
    settings::{Settings, SourceSettings, StreamLimits},
    source::ClusterSource,
};
