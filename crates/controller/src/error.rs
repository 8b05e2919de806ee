//! Errors of running a controller.

use std::{io, net::SocketAddr};

use evenkeel_admin::lease;
use evenkeel_topology::SettingsError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Election(#[from] lease::SettingsError),
    #[error("cannot listen on {address} for health checks and metrics: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    /// A defect: such a task ends only at shutdown.
    #[error("the task that {task} stopped unexpectedly")]
    Ended { task: &'static str },
}

impl Error {
    /// What to do about it, where the error itself does not say.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("stop the process that listens there, or set another --listen")
            }
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("set --listen to a port above 1023")
            }
            Error::Listen { .. } => Some("set --listen to an address of this host"),
            Error::Ended { .. } => Some("restart it, and report this with its log"),
            Error::Settings(_) | Error::Election(_) => None,
        }
    }
}
