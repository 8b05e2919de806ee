//! What becomes of a packet, by the rules and elements of a table: the kernel's part, for tests.
//!
//! As in the kernel, a lookup without a result ends its rule and the next one is tried; a chain that
//! ends gives the packet back to where it was jumped from; a translation ends the hook; and a packet
//! that no rule decides is accepted. [`Tables::outcomes`] follows all random choices at once and
//! gives each outcome with its probability. [`Tables::send`] follows one path, and remembers clients
//! as the kernel does.
//!
//! Only the first packet of a connection sees these rules. A packet whose address was translated goes
//! on to the input hook if its endpoint has an address of the node, otherwise to postrouting.

mod affinity;
mod path;
mod probability;
mod run;
mod tables;

use core::net::IpAddr;
use std::sync::Arc;

use evenkeel_model::{Backend, Protocol};

use crate::value::number;

pub use self::{affinity::Affinities, probability::Probability, tables::Tables};

/// The first packet of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    pub entry: Entry,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The protocol's number in IP headers.
    pub protocol: u8,
    /// The two bytes of the transport header where TCP, UDP and SCTP have the destination port.
    pub destination_port: u16,
    pub mark: u32,
    /// `meta priority`.
    pub priority: u32,
}

/// Where a packet enters the rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// It came through this interface.
    Prerouting { interface: String },
    /// The node itself sends it.
    Output,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    pub fate: Fate,
    /// Its source becomes an address of the node.
    pub masqueraded: bool,
    /// The packet mark when it leaves the rules.
    pub mark: u32,
    /// The counters that counted it.
    pub counted: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It goes on to where it was sent.
    Accepted,
    TranslatedTo(Backend),
    Dropped,
    /// The sender is told that nobody listens.
    Rejected,
    /// The table has no such meaning in the kernel.
    Broken(String),
}

// === impl Packet ===

impl Packet {
    pub fn new(
        entry: Entry,
        source: IpAddr,
        destination: IpAddr,
        protocol: Protocol,
        port: u16,
    ) -> Packet {
        let protocol = number(protocol);
        Packet {
            entry,
            source,
            destination,
            protocol,
            destination_port: port,
            mark: 0,
            priority: 0,
        }
    }

    fn destination(&self) -> Backend {
        Backend { ip: self.destination, port: self.destination_port }
    }
}

// === impl Outcome ===

impl Outcome {
    pub fn is_broken(&self) -> bool {
        matches!(self.fate, Fate::Broken(_))
    }
}
