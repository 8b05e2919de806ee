//! What a control plane is told at its start.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use evenkeel_locality::Compat;

use crate::source::ClusterSource;
pub use crate::stream::StreamLimits;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Where proxies connect.
    pub listen: SocketAddr,
    /// The address of `/healthz`, `/livez`, `/readyz`, `/metrics` and `/mesh/…`.
    pub admin: Option<SocketAddr>,
    pub source: SourceSettings,
    pub compat: Compat,
    /// The zone of this control plane, which is that of Dataplanes that name none.
    pub zone: Option<Arc<str>>,
    pub limits: StreamLimits,
}

/// Where resources come from.
#[derive(Clone, Debug)]
pub enum SourceSettings {
    /// A folder of YAML files.
    Folder(PathBuf),
    /// Custom resources.
    Cluster(Box<ClusterSource>),
    /// Whoever holds the intake, see [`prepare`](crate::prepare).
    Intake,
}

impl Settings {
    /// For files in a folder, all else by default.
    pub fn folder(listen: SocketAddr, folder: impl Into<PathBuf>) -> Self {
        Self {
            listen,
            admin: None,
            source: SourceSettings::Folder(folder.into()),
            compat: Compat::default(),
            zone: None,
            limits: StreamLimits::default(),
        }
    }

    /// For resources that come through the intake, all else by default.
    pub fn intake(listen: SocketAddr) -> Self {
        Self { source: SourceSettings::Intake, ..Self::folder(listen, "") }
    }
}
