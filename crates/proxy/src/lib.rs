//! The node's Service proxy: traffic to a Service from this node goes to the endpoints that `topology`
//! chose for it, by rules that `nft` plans and the kernel's nftables carry out.
//!
//! ```text
//!  API server ─k8s::watch─► intake ─► Engine ─► Transaction ─► kernel: one netlink commit
//!  kernel: addresses ───────────────────┘  └─► flows (stale UDP), health ports, reports, metrics
//! ```
//!
//! [`engine`] decides and does nothing else. [`netlink`] speaks to the kernel. The rest carries one
//! to the other: [`run`] until it is told to stop, [`clean_up`] and [`render`] once.

pub mod engine;
pub mod namespace;
pub mod netlink;
pub mod report;

mod error;
mod flows;
mod health;
mod health_ports;
mod intake;
mod kernel;
mod metrics;
mod once;
mod owner;
mod run;
mod settings;
mod zone_counters;

pub use crate::{
    error::Error,
    namespace::NetworkNamespace,
    once::{clean_up, render},
    run::{Ready, run},
    settings::Settings,
};
