//! A packet on its way through the rules, and what they changed so far.

use std::sync::Arc;

use evenkeel_model::Backend;

use super::{Entry, Fate, Outcome, Packet, affinity::Change};
use crate::{
    Key,
    rule::{Field, InterfaceName, client},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Path {
    pub(super) packet: Packet,
    /// Where it was sent to.
    original: Backend,
    pub(super) masqueraded: bool,
    pub(super) counted: Vec<Arc<str>>,
    /// Of the maps that packets change, in order.
    pub(super) changes: Vec<Change>,
}

// === impl Path ===

impl Path {
    pub(super) fn new(packet: &Packet) -> Path {
        Path {
            packet: packet.clone(),
            original: packet.destination(),
            masqueraded: false,
            counted: Vec::new(),
            changes: Vec::new(),
        }
    }

    pub(super) fn outcome(self, fate: Fate) -> Outcome {
        let Path { packet, masqueraded, counted, .. } = self;
        Outcome { fate, masqueraded, mark: packet.mark, counted }
    }

    /// As `ct status dnat`, which is not set by a translation to where the packet was sent anyway.
    pub(super) fn is_translated(&self) -> bool {
        self.packet.destination() != self.original
    }

    pub(super) fn interface_is(&self, name: &InterfaceName) -> bool {
        // The node's own packets came through an interface without a name.
        let interface = match &self.packet.entry {
            Entry::Prerouting { interface } => interface.as_str(),
            Entry::Output => "",
        };
        match name {
            InterfaceName::Exactly(name) => interface == name,
            InterfaceName::Prefix(prefix) => interface.starts_with(prefix),
        }
    }

    pub(super) fn key(&self, fields: &[Field], random: u32) -> Key {
        let Packet { source, destination, protocol, destination_port, priority, .. } = self.packet;
        fields.iter().fold(Key::new(), |key, field| match field {
            Field::SourceAddress => key.address(source),
            Field::DestinationAddress => key.address(destination),
            Field::Protocol => key.protocol_number(protocol),
            Field::DestinationPort => key.port(destination_port),
            Field::Scratch => key.number(priority),
            Field::Random { offset, .. } => key.number(offset.wrapping_add(random)),
            Field::ClientHash { by, .. } => self.key(&client(*by), random),
            Field::OriginalDestinationAddress => key.address(self.original.ip),
            Field::OriginalDestinationPort => key.port(self.original.port),
        })
    }
}
