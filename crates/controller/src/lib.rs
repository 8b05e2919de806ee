//! The EndpointSlice controller: Services, Pods and Nodes in; EndpointSlices with hints, Service
//! conditions and Events out. On the embedded API and on a cluster alike.
//!
//! ```text
//!  watches ─► Engine: cache ─► queue by Service ─► topology::plan ─► fewest writes ─┐
//!              ▲                                                                     ▼
//!              └──────── what became of each write ◄──────── shell: kube, Events, metrics
//! ```
//!
//! [`engine`] decides and does nothing else: no clock, no task, no socket; so it is tested in
//! virtual time, with every fault there is. The rest carries its effects out: [`run`] until it is
//! told to stop, and [`handover`] once, to give slices to Kubernetes' own controller or take them.

pub mod engine;
pub mod handover;

mod ask;
mod error;
mod health;
mod intake;
mod metrics;
mod owner;
mod recent;
mod recorder;
mod run;
mod watches;
mod writes;

pub use crate::{
    error::Error,
    run::{Ready, Settings, run},
    watches::WatchSettings,
};

#[cfg(test)]
#[path = "../tests/api/server.rs"]
mod server;
