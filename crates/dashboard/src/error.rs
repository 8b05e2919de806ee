//! Errors of running the dashboard.

use std::{io, net::SocketAddr, path::PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot listen on {address}: it is not a loopback address, which needs TLS")]
    NotLoopback { address: SocketAddr },
    #[error("no name is known by which browsers reach {address}")]
    NoHost { address: SocketAddr },
    #[error("cannot use {}: {problem}", path.display())]
    Certificate { path: PathBuf, problem: String },
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
            Error::NotLoopback { .. } => Some(
                "set --tls-cert-file and --tls-private-key-file, or a loopback address that is reached with ssh -L",
            ),
            Error::NoHost { .. } => Some("set --host to a name of this host"),
            Error::Certificate { .. } => {
                Some("set a certificate and the private key that belongs to it, both as PEM")
            }
            Error::NoRandomness => None,
        }
    }
}
