//! Connection tracking: finds flows and removes single ones.
//!
//! A flow is removed by its original tuple, its zone and its id, so that a newer flow with the same
//! addresses is not hit. Flows stream through: a table of a million is never held in memory.

use core::net::{IpAddr, SocketAddr};

use rustix::io::Errno;

use super::{
    Error, Result, Socket,
    attribute::{Attribute, Attributes, Message},
    message::{Writer, flags},
    socket::Protocol,
};

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const SCTP: u8 = 132;

/// Bits of [`Flow::status`], from `linux/netfilter/nf_conntrack_common.h`.
pub mod status {
    pub const SEEN_REPLY: u32 = 1 << 1;
    pub const ASSURED: u32 = 1 << 2;
    pub const SOURCE_NAT: u32 = 1 << 4;
    pub const DESTINATION_NAT: u32 = 1 << 5;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    Ipv4,
    Ipv6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuple {
    pub src: SocketAddr,
    pub dst: SocketAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    pub family: Family,
    pub protocol: u8,
    /// As the client sent it.
    pub orig: Tuple,
    /// As the answer comes back: its source is the endpoint that was chosen.
    pub reply: Tuple,
    pub id: u32,
    pub status: u32,
    /// The zone of the original direction.
    pub zone: u16,
}

/// Which flows to see. The kernel filters where it can (since 5.8); the rest is done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    pub family: Family,
    pub protocol: u8,
    /// The destination as the client sent it: a Service's address and port.
    pub destination: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    pub seen: usize,
    pub removed: usize,
}

#[derive(Debug)]
pub struct Conntrack {
    dumps: Socket,
    edits: Socket,
}

const SUBSYSTEM: u8 = 1;
const GET: u8 = 1;
const DELETE: u8 = 2;

// Attributes of `enum ctattr_type`.
const TUPLE_ORIG: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const STATUS: u16 = 3;
const ID: u16 = 12;
const ZONE: u16 = 18;
const FILTER: u16 = 25;

// Attributes of `enum ctattr_tuple` and below.
const TUPLE_IP: u16 = 1;
const TUPLE_PROTO: u16 = 2;
const TUPLE_ZONE: u16 = 3;
const PROTO_NUM: u16 = 1;
const PROTO_SRC_PORT: u16 = 2;
const PROTO_DST_PORT: u16 = 3;
const FILTER_ORIG_FLAGS: u16 = 1;
const FILTER_REPLY_FLAGS: u16 = 2;

// Bits of the filter flags, from the kernel's `nf_internals.h`.
const BY_IP_DST: u32 = 1 << 1;
const BY_PROTO_NUM: u32 = 1 << 3;
const BY_PROTO_DST_PORT: u32 = 1 << 5;

// === impl Conntrack ===

impl Conntrack {
    /// Opens the sockets in the calling thread's network namespace.
    pub fn open() -> Result<Self> {
        Ok(Self {
            dumps: Socket::open(Protocol::Netfilter, 0)?,
            edits: Socket::open(Protocol::Netfilter, 0)?,
        })
    }

    /// Hands every flow that matches `filter` to `each`. Flows that come or go meanwhile may be
    /// missed or be seen twice.
    pub fn each(&mut self, filter: &Filter, mut each: impl FnMut(&Flow)) -> Result<()> {
        each_flow(&mut self.dumps, filter, |flow| {
            each(flow);
            Ok(())
        })
    }

    /// Removes the flows of `filter` that are `stale`.
    pub fn remove(
        &mut self,
        filter: &Filter,
        mut stale: impl FnMut(&Flow) -> bool,
    ) -> Result<Removed> {
        let Self { dumps, edits } = self;
        let mut removed = Removed::default();
        each_flow(dumps, filter, |flow| {
            removed.seen += 1;
            if stale(flow) && delete(edits, flow)? {
                removed.removed += 1;
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// Removes this flow; false if it is gone, also if a newer one has its addresses.
    pub fn delete(&mut self, flow: &Flow) -> Result<bool> {
        delete(&mut self.edits, flow)
    }
}

// === impl Family ===

impl Family {
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    fn number(self) -> u8 {
        match self {
            Self::Ipv4 => 2,
            Self::Ipv6 => 10,
        }
    }

    /// The attribute numbers of source and destination address.
    fn addresses(self) -> (u16, u16) {
        match self {
            Self::Ipv4 => (1, 2),
            Self::Ipv6 => (3, 4),
        }
    }
}

// === impl Filter ===

impl Filter {
    fn matches(&self, flow: &Flow) -> bool {
        flow.family == self.family
            && flow.protocol == self.protocol
            && self.destination.is_none_or(|destination| destination == flow.orig.dst)
    }

    fn write(&self, writer: &mut Writer) {
        let tuple = writer.nest(TUPLE_ORIG);
        if let Some(destination) = self.destination {
            let ip = writer.nest(TUPLE_IP);
            write_address(writer, self.family.addresses().1, destination.ip());
            writer.end_nest(ip);
        }
        let proto = writer.nest(TUPLE_PROTO);
        writer.u8(PROTO_NUM, self.protocol);
        if let Some(destination) = self.destination {
            writer.be16(PROTO_DST_PORT, destination.port());
        }
        writer.end_nest(proto);
        writer.end_nest(tuple);
        let by_destination =
            if self.destination.is_some() { BY_IP_DST | BY_PROTO_DST_PORT } else { 0 };
        let filter = writer.nest(FILTER);
        // These two are in the machine's byte order, unlike the rest.
        writer.bytes(FILTER_ORIG_FLAGS, &(BY_PROTO_NUM | by_destination).to_ne_bytes());
        writer.bytes(FILTER_REPLY_FLAGS, &0_u32.to_ne_bytes());
        writer.end_nest(filter);
    }
}

fn each_flow(
    socket: &mut Socket,
    filter: &Filter,
    mut each: impl FnMut(&Flow) -> Result<()>,
) -> Result<()> {
    let mut decode = |message: Message<'_>| match flow(&message)? {
        Some(flow) if filter.matches(&flow) => each(&flow),
        _ => Ok(()),
    };
    let request = |writer: &mut Writer, sequence: u32, filter: Option<&Filter>, family: Family| {
        let header = (family.number(), 0);
        let flags = flags::REQUEST | flags::DUMP;
        let message = writer.begin_netfilter((SUBSYSTEM, GET), flags, sequence, header);
        if let Some(filter) = filter {
            filter.write(writer);
        }
        writer.end(message);
    };
    let family = filter.family;
    let filtered = socket
        .dump(|writer, sequence| request(writer, sequence, Some(filter), family), &mut decode);
    match filtered {
        // A kernel that does not know this filter.
        Err(Error::Refused { errno: Errno::OPNOTSUPP | Errno::INVAL, .. }) => socket
            .dump(|writer, sequence| request(writer, sequence, None, family), &mut decode)
            .map(drop),
        outcome => outcome.map(drop),
    }
}

fn delete(socket: &mut Socket, flow: &Flow) -> Result<bool> {
    let header = (flow.family.number(), 0);
    let outcome = socket.request(
        |writer, sequence| {
            let flags = flags::REQUEST | flags::ACK;
            let message = writer.begin_netfilter((SUBSYSTEM, DELETE), flags, sequence, header);
            write_tuple(writer, flow);
            writer.be32(ID, flow.id);
            if flow.zone != 0 {
                writer.be16(ZONE, flow.zone);
            }
            writer.end(message);
        },
        |_| Ok(()),
    );
    match outcome {
        Ok(()) => Ok(true),
        Err(Error::Refused { errno: Errno::NOENT, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn write_tuple(writer: &mut Writer, flow: &Flow) {
    let (src, dst) = flow.family.addresses();
    let tuple = writer.nest(TUPLE_ORIG);
    let ip = writer.nest(TUPLE_IP);
    write_address(writer, src, flow.orig.src.ip());
    write_address(writer, dst, flow.orig.dst.ip());
    writer.end_nest(ip);
    let proto = writer.nest(TUPLE_PROTO);
    writer.u8(PROTO_NUM, flow.protocol);
    writer.be16(PROTO_SRC_PORT, flow.orig.src.port());
    writer.be16(PROTO_DST_PORT, flow.orig.dst.port());
    writer.end_nest(proto);
    writer.end_nest(tuple);
}

fn write_address(writer: &mut Writer, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(address) => writer.bytes(kind, &address.octets()),
        IpAddr::V6(address) => writer.bytes(kind, &address.octets()),
    }
}

/// The flow of a message; none for one without ports, such as ICMP.
fn flow(message: &Message<'_>) -> Result<Option<Flow>> {
    let (family, attributes) = message.netfilter()?;
    let family = match family {
        2 => Family::Ipv4,
        10 => Family::Ipv6,
        _ => return Ok(None),
    };
    let (mut orig, mut reply) = (None, None);
    let (mut id, mut status, mut zone) = (0, 0, 0);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            TUPLE_ORIG => orig = tuple(&attribute, family)?,
            TUPLE_REPLY => reply = tuple(&attribute, family)?,
            STATUS => status = attribute.be32()?,
            ID => id = attribute.be32()?,
            ZONE => zone = attribute.be16()?,
            _ => {}
        }
    }
    let (Some((orig, protocol, orig_zone)), Some((reply, ..))) = (orig, reply) else {
        return Ok(None);
    };
    let zone = orig_zone.unwrap_or(zone);
    Ok(Some(Flow { family, protocol, orig, reply, id, status, zone }))
}

/// A tuple with its protocol and the zone of its direction; none if it has no ports.
fn tuple(tuple: &Attribute<'_>, family: Family) -> Result<Option<(Tuple, u8, Option<u16>)>> {
    let (src_kind, dst_kind) = family.addresses();
    let (mut src, mut dst, mut zone) = (None, None, None);
    let mut ports = (None, None, None);
    for attribute in tuple.nested() {
        let attribute = attribute?;
        match attribute.kind {
            TUPLE_IP => {
                for address in attribute.nested() {
                    let address = address?;
                    match address.kind {
                        kind if kind == src_kind => src = Some(address.address()?),
                        kind if kind == dst_kind => dst = Some(address.address()?),
                        _ => {}
                    }
                }
            }
            TUPLE_PROTO => ports = protocol_and_ports(attribute.nested())?,
            TUPLE_ZONE => zone = Some(attribute.be16()?),
            _ => {}
        }
    }
    let (Some(src), Some(dst), (Some(protocol), Some(src_port), Some(dst_port))) =
        (src, dst, ports)
    else {
        return Ok(None);
    };
    let tuple = Tuple { src: SocketAddr::new(src, src_port), dst: SocketAddr::new(dst, dst_port) };
    Ok(Some((tuple, protocol, zone)))
}

fn protocol_and_ports(
    attributes: Attributes<'_>,
) -> Result<(Option<u8>, Option<u16>, Option<u16>)> {
    let (mut protocol, mut src, mut dst) = (None, None, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            PROTO_NUM => protocol = Some(attribute.u8()?),
            PROTO_SRC_PORT => src = Some(attribute.be16()?),
            PROTO_DST_PORT => dst = Some(attribute.be16()?),
            _ => {}
        }
    }
    Ok((protocol, src, dst))
}
