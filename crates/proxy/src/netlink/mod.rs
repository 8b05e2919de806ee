//! Netlink, the kernel's interface for nftables, connection tracking and addresses, written out by
//! hand on `rustix`: messages are bytes in a vector, the kernel's answers are read by bounds-checked
//! iterators, and the whole needs no C library and no `unsafe`.
//!
//! Requests run in the calling thread: the kernel handles a request inside `sendmsg` and fills a dump
//! inside `recvmsg`, so no call waits for anything but the kernel's own work. A receive timeout
//! bounds it nevertheless.

pub mod attribute;
pub mod conntrack;
pub mod message;
pub mod nftables;
pub mod route;
pub mod socket;

use rustix::io::Errno;

pub use socket::Socket;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call on the socket failed.
    #[error("netlink: {call}: {errno}")]
    Call { call: &'static str, errno: Errno },
    /// The kernel refused the message with this sequence number.
    #[error("netlink: the kernel refused message {sequence}: {errno}")]
    Refused { sequence: u32, errno: Errno },
    /// The send buffer can't be made large enough for the message.
    #[error(
        "netlink: a message of {length} bytes exceeds the send buffer of {limit} bytes; \
         run with CAP_NET_ADMIN or raise net.core.wmem_max"
    )]
    TooLarge { length: usize, limit: usize },
    /// An attribute's payload is longer than its 16-bit length can say.
    #[error("netlink: attribute {kind} is longer than 65,531 bytes")]
    AttributeTooLong { kind: u16 },
    /// What the kernel sent can't be read.
    #[error("netlink: malformed {0}")]
    Malformed(&'static str),
    /// The receive buffer overflowed: answers or events are lost.
    #[error("netlink: the receive buffer overflowed")]
    Overrun,
    /// The dumped objects changed while they were dumped, on every attempt.
    #[error("netlink: a dump was interrupted by changes {attempts} times")]
    Interrupted { attempts: u32 },
    /// The kernel did not answer within the receive timeout.
    #[error("netlink: no answer from the kernel")]
    NoAnswer,
}

pub type Result<T, E = Error> = core::result::Result<T, E>;

// === impl Error ===

impl Error {
    /// The kernel's or the system call's error number.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Call { errno, .. } | Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}
