//! Objects from a running cluster, read once.
//!
//! Lists are read in pages, so that a large cluster neither overloads its API server nor keeps
//! people waiting without a sign. Nothing is written and nothing is watched (that is
//! [`watch`](crate::watch)). Controllers, which do both, get a client that detects lost connections.

mod client;
mod error;
mod list;
mod mesh;
mod raw;
mod source;
mod transport;

pub use self::{
    client::{Connection, client, controller_client, patient_client},
    error::{LiveError, in_short, innermost, is_unreachable},
    list::{Scope, beside, objects},
    mesh::{mesh_objects, mesh_resource},
    raw::{FlowControl, flow_control, raw_services},
    source::{ClusterSource, SourceRule},
    transport::{Timeouts, long_lived},
};
