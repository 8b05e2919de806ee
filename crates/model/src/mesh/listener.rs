//! Where a proxy accepts connections.

use core::net::SocketAddr;
use std::sync::Arc;

use super::{MeshProtocol, Split};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub name: Arc<str>,
    pub address: SocketAddr,
    pub direction: Direction,
    pub traffic: Traffic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Inbound,
    Outbound,
}

/// What becomes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Each request takes a route of this table.
    Http { route_table: Arc<str>, protocol: MeshProtocol },
    /// The connection as a whole goes to one cluster of the split; it is closed if there is none.
    Tcp(Split),
}
