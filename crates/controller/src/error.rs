//! Why a controller does not run.

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
    #[error("can't listen on {address} for health and metrics: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    /// A defect: such a task ends only when it is told to.
    #[error("the task that {task} ended by itself")]
    Ended { task: &'static str },
}

impl Error {
    /// What to do about it, where the error itself does not say.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("stop what listens there, or give another --listen")
            }
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("give a port from 1024 up with --listen")
            }
            Error::Listen { .. } => Some("give an address of this host with --listen"),
            Error::Ended { .. } => Some("start it again, and report what its log says"),
            Error::Settings(_) | Error::Election(_) => None,
        }
    }
}
