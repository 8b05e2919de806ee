//! Errors of running the dashboard.

use std::{io, net::SocketAddr};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "cannot listen on {address}: it is not a loopback address, and TLS is not supported yet"
    )]
    NotLoopback { address: SocketAddr },
    #[error("no random numbers from the operating system")]
    NoRandomness,
}

impl Error {
    /// What to do about it, where the error itself does not say.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("stop the process that listens there, or set another address")
            }
            Error::Listen { .. } => Some("set an address of this host"),
            Error::NotLoopback { .. } => {
                Some("set a loopback address, and reach it from elsewhere with ssh -L")
            }
            Error::NoRandomness => None,
        }
    }
}
