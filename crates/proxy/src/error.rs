//! Errors of running a proxy.

use std::{io, net::SocketAddr, path::PathBuf};

use evenkeel_topology::SettingsError;

use crate::netlink::{self, nftables::CommitError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot enter the network namespace {}: {source}", path.display())]
    Namespace { path: PathBuf, source: io::Error },
    #[error("nftables table {table} exists and was not created by Evenkeel")]
    ForeignTable { table: String },
    #[error("nftables table {table} is owned by another process")]
    OwnedTable { table: String },
    #[error("netlink: {0}")]
    Netlink(#[from] netlink::Error),
    #[error("cannot watch the node's addresses: {0}")]
    Addresses(io::Error),
    #[error("cannot program nftables: {0}")]
    Commit(#[from] CommitError),
    /// A defect: such a task ends only at shutdown.
    #[error("the task that {task} stopped unexpectedly")]
    Ended { task: &'static str },
}

impl Error {
    /// What to do about it, where the error itself does not say.
    pub fn help(&self) -> Option<&'static str> {
        use rustix::io::Errno;
        Some(match self {
            Error::ForeignTable { .. } => {
                "delete the table, set another --table, or replace it with --adopt"
            }
            Error::OwnedTable { .. } => "stop the other proxy on this node, or set another --table",
            Error::Namespace { .. } => "run as root, and check the name with `ip netns list`",
            Error::Netlink(error) if error.errno() == Some(Errno::PERM) => {
                "run as root, or with the capability CAP_NET_ADMIN"
            }
            Error::Netlink(error)
                if matches!(error.errno(), Some(Errno::PROTONOSUPPORT | Errno::INVAL)) =>
            {
                "use a kernel with nf_tables (CONFIG_NF_TABLES), Linux 5.13 or newer"
            }
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                "stop the process that listens there, or set another address"
            }
            Error::Listen { .. } => "set an address of this host",
            Error::Ended { .. } => "restart it, and report this with its log",
            Error::Settings(_) | Error::Netlink(_) | Error::Commit(_) | Error::Addresses(_) => {
                return None;
            }
        })
    }
}
