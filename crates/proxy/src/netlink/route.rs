//! The node's own addresses, and when they change.
//!
//! The watch is level triggered: an event says only that something changed, and the list is read
//! anew. A lost event (the kernel's buffer overflowed) counts as one.

use core::net::IpAddr;
use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
};

use tokio::io::{Interest, unix::AsyncFd};

use super::{
    Error, Result, Socket,
    attribute::{Attribute, Attributes, Message},
    message::flags,
    socket::Protocol,
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    pub interface_index: u32,
    /// Empty if the interface vanished while the list was read.
    pub interface: String,
    pub address: IpAddr,
    pub prefix_length: u8,
    pub scope: Scope,
    /// No longer used for new connections from this node, but still its own.
    pub deprecated: bool,
    /// Not usable yet: IPv6 checks that no other node has it, or found that one does.
    pub tentative: bool,
    /// A further address of the same network on the interface.
    pub secondary: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Global,
    Site,
    Link,
    Host,
    Other(u8),
}

/// Lists the addresses and notices their changes.
#[derive(Debug)]
pub struct Addresses {
    requests: Socket,
    events: Socket,
}

/// [`Addresses`] for an asynchronous task.
#[derive(Debug)]
pub struct AddressWatch(AsyncFd<Addresses>);

// Message kinds of `linux/rtnetlink.h`.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;

// Multicast groups RTNLGRP_IPV4_IFADDR (5) and RTNLGRP_IPV6_IFADDR (9), as a mask.
const GROUPS: u32 = 1 << (5 - 1) | 1 << (9 - 1);

const IFINFOMSG: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_EXT_MASK: u16 = 29;
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;

const IFADDRMSG: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;

const SECONDARY: u32 = 0x01;
const DUPLICATE: u32 = 0x08;
const DEPRECATED: u32 = 0x20;
const TENTATIVE: u32 = 0x40;

// === impl Addresses ===

impl Addresses {
    /// Opens the sockets in the calling thread's network namespace. Changes are noticed from here on.
    pub fn open() -> Result<Self> {
        let events = Socket::open(Protocol::Route, GROUPS)?;
        Ok(Self { requests: Socket::open(Protocol::Route, 0)?, events })
    }

    /// All addresses, sorted. Events up to now are dropped, for the list shows what they announced.
    pub fn list(&mut self) -> Result<Vec<Address>> {
        self.events.discard_events()?;
        let mut addresses = self.requests.collect(
            |writer, sequence| {
                let message = writer.begin(GET_ADDRESS, flags::REQUEST | flags::DUMP, sequence);
                writer.raw(&[0; IFADDRMSG]);
                writer.end(message);
            },
            |message, addresses| {
                addresses.extend(address(&message)?);
                Ok(())
            },
        )?;
        let names = self.names()?;
        for address in &mut addresses {
            address.interface = names.get(&address.interface_index).cloned().unwrap_or_default();
        }
        addresses.sort_unstable();
        Ok(addresses)
    }

    /// Whether an address changed since the last call and since the last list.
    pub fn changed(&mut self) -> Result<bool> {
        self.events.discard_events()
    }

    fn names(&mut self) -> Result<BTreeMap<u32, String>> {
        let names = self.requests.collect(
            |writer, sequence| {
                let message = writer.begin(GET_LINK, flags::REQUEST | flags::DUMP, sequence);
                writer.raw(&[0; IFINFOMSG]);
                writer.bytes(IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
                writer.end(message);
            },
            |message, names| {
                names.extend(name(&message)?);
                Ok(())
            },
        )?;
        Ok(names.into_iter().collect())
    }
}

impl AsFd for Addresses {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl AsRawFd for Addresses {
    fn as_raw_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }
}

// === impl AddressWatch ===

impl AddressWatch {
    /// Must be called within a tokio runtime.
    #[expect(
        deprecated,
        reason = "its successor is unsafe; it asks that the descriptor stays open and the same, \
                  which holds: nothing replaces the socket before the registration is dropped"
    )]
    pub fn new(addresses: Addresses) -> io::Result<Self> {
        AsyncFd::with_interest(addresses, Interest::READABLE).map(Self)
    }

    pub fn list(&mut self) -> Result<Vec<Address>> {
        self.0.get_mut().list()
    }

    /// Waits until an address changed. Cancel safe: an event that was read is reported.
    pub async fn changed(&mut self) -> Result<()> {
        loop {
            let mut ready = self.0.readable_mut().await.map_err(|_| Error::NoAnswer)?;
            let changed = ready.get_inner_mut().changed()?;
            ready.clear_ready();
            if changed {
                return Ok(());
            }
        }
    }
}

// === impl Scope ===

impl From<u8> for Scope {
    fn from(scope: u8) -> Self {
        match scope {
            0 => Self::Global,
            200 => Self::Site,
            253 => Self::Link,
            254 => Self::Host,
            other => Self::Other(other),
        }
    }
}

fn address(message: &Message<'_>) -> Result<Option<Address>> {
    if message.kind != NEW_ADDRESS {
        return Ok(None);
    }
    let Some((header, attributes)) = message.payload.split_first_chunk::<IFADDRMSG>() else {
        return Err(Error::Malformed("ifaddrmsg"));
    };
    let [_, prefix_length, header_flags, scope, i0, i1, i2, i3] = *header;
    let mut flags = u32::from(header_flags);
    // With a peer, the first is the peer's; without one, IPv6 has the first only.
    let (mut peer, mut local) = (None, None);
    for attribute in Attributes::new(attributes) {
        let attribute = attribute?;
        match attribute.kind {
            IFA_ADDRESS => peer = Some(attribute.address()?),
            IFA_LOCAL => local = Some(attribute.address()?),
            IFA_FLAGS => flags = attribute.ne32()?,
            _ => {}
        }
    }
    Ok(local.or(peer).map(|address| Address {
        interface_index: u32::from_ne_bytes([i0, i1, i2, i3]),
        interface: String::new(),
        address,
        prefix_length,
        scope: scope.into(),
        deprecated: flags & DEPRECATED != 0,
        tentative: flags & (TENTATIVE | DUPLICATE) != 0,
        secondary: address.is_ipv4() && flags & SECONDARY != 0,
    }))
}

fn name(message: &Message<'_>) -> Result<Option<(u32, String)>> {
    if message.kind != NEW_LINK {
        return Ok(None);
    }
    let Some((header, attributes)) = message.payload.split_first_chunk::<IFINFOMSG>() else {
        return Err(Error::Malformed("ifinfomsg"));
    };
    let [_, _, _, _, i0, i1, i2, i3, ..] = *header;
    let named = |attribute: &Result<Attribute<'_>>| {
        attribute.as_ref().map_or(true, |attribute| attribute.kind == IFLA_IFNAME)
    };
    match Attributes::new(attributes).find(named) {
        Some(attribute) => {
            Ok(Some((u32::from_ne_bytes([i0, i1, i2, i3]), attribute?.string()?.to_owned())))
        }
        None => Ok(None),
    }
}
