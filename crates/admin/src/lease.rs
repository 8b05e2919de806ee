//! Leader election on a Lease of `coordination.k8s.io/v1`: of several processes, one leads.
//!
//! `election` decides, `record` words the Lease, `run` carries it out against an API server.

mod election;
mod record;
mod settings;
mod shell;

pub use self::{
    election::{Answer, Election, Seen, Step},
    settings::{Settings, SettingsError, identity},
    shell::run,
};
