//! nftables: commits transactions, and lists what a table holds.
//!
//! ```text
//!   Transaction ─► encode: one batch ─► commit ─► generation, or what was refused and why
//!   kernel ─► list: chains, counters, elements as values; counters; generation; table
//! ```
//!
//! One socket is kept open: the kernel ties the ownership of a table to it.

mod commit;
mod compare;
mod element;
mod encode;
mod expression;
mod generation;
mod list;
mod object;
mod rule;
mod set;

use evenkeel_nft::Family;

use super::{Result, Socket, socket::Protocol};

pub use self::{
    commit::{CommitError, Operation, Reason},
    generation::{Generation, Table},
    list::{ListedRule, Listing},
    object::Counter,
};

#[derive(Debug)]
pub struct Nftables {
    socket: Socket,
}

/// Whether others may change a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Anybody with CAP_NET_ADMIN may.
    Shared,
    /// Only this socket may. When it closes, the table stays, and a new socket may adopt it. Linux 6.9.
    OwnedPersistent,
}

/// `NFNL_SUBSYS_NFTABLES`.
const SUBSYSTEM: u8 = 10;

/// Kinds of messages of `enum nf_tables_msg_types`.
mod kind {
    pub(super) const NEW_TABLE: u8 = 0;
    pub(super) const GET_TABLE: u8 = 1;
    pub(super) const DELETE_TABLE: u8 = 2;
    pub(super) const NEW_CHAIN: u8 = 3;
    pub(super) const GET_CHAIN: u8 = 4;
    pub(super) const DELETE_CHAIN: u8 = 5;
    pub(super) const NEW_RULE: u8 = 6;
    pub(super) const GET_RULE: u8 = 7;
    pub(super) const NEW_SET: u8 = 9;
    pub(super) const GET_SET: u8 = 10;
    pub(super) const NEW_ELEMENT: u8 = 12;
    pub(super) const GET_ELEMENT: u8 = 13;
    pub(super) const DELETE_ELEMENT: u8 = 14;
    pub(super) const NEW_GENERATION: u8 = 15;
    pub(super) const GET_GENERATION: u8 = 16;
    pub(super) const NEW_OBJECT: u8 = 18;
    pub(super) const GET_OBJECT: u8 = 19;
    pub(super) const DELETE_OBJECT: u8 = 20;
}

// === impl Nftables ===

impl Nftables {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> Result<Self> {
        Ok(Self { socket: Socket::open(Protocol::Netfilter, 0)? })
    }

    /// The number that the kernel reports as the owner of tables of this socket.
    pub fn port(&self) -> u32 {
        self.socket.port()
    }
}

// === impl Ownership ===

impl Ownership {
    fn flags(self) -> u32 {
        match self {
            Self::Shared => 0,
            Self::OwnedPersistent => generation::OWNER | generation::PERSIST,
        }
    }
}

fn family_number(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 2,
        Family::Ipv6 => 10,
    }
}
