//! Rules, as far as these rulesets need them.
//!
//! A packet has one field that rules may use as a variable: `meta priority`, here called the *scratch*
//! value. NAT chains see the first packet of a connection only, and the kernel sets the priority of
//! forwarded IPv4 packets anew after prerouting. The first packet of other connections, IPv6 and the
//! node's own, leaves with what the rules left there: the id of an endpoint, with session affinity, or
//! nothing, under zone shares. Traffic control takes a number below 65,536 for no class, so ids have
//! to be below that. The packet mark, which others use, keeps all bits but one.

use evenkeel_model::{Cidr, Protocol};

use crate::{By, ChainId, SetId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub matches: Vec<Match>,
    /// In order; the last one may be a verdict.
    pub actions: Vec<Action>,
}

/// A part of a key, read from a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    SourceAddress,
    DestinationAddress,
    Protocol,
    DestinationPort,
    Scratch,
    /// A random number from `offset` to `offset + modulus - 1`.
    Random {
        modulus: u32,
        offset: u32,
    },
    /// A hash of the client's address and the frontend.
    ClientHash {
        by: By,
        seed: u32,
    },
    /// As before address translation.
    OriginalDestinationAddress,
    OriginalDestinationPort,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    InSet {
        key: Vec<Field>,
        set: SetId,
        is_in: bool,
    },
    Source {
        range: Cidr,
        is_in: bool,
    },
    /// The source is an address of this node.
    SourceIsLocal,
    /// The interface that the packet came through has this name, or one that starts so.
    Interface {
        name: InterfaceName,
        is_it: bool,
    },
    ScratchIsNone(bool),
    /// The packet mark has all these bits.
    Mark(u32),
    /// The destination of the connection was translated.
    Translated,
    Protocol(Protocol),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceName {
    Exactly(String),
    Prefix(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    SetMark(u32),
    ClearMark(u32),
    /// Sets the scratch value to 0.
    ClearScratch,
    /// Sets the scratch value to what the map holds. Without an element, the rule ends here.
    ScratchFrom {
        key: Vec<Field>,
        map: SetId,
    },
    /// Keeps the scratch value for this key for some seconds. An element that is there keeps its data.
    Remember {
        key: Vec<Field>,
        map: SetId,
        seconds: u32,
    },
    Forget {
        key: Vec<Field>,
        map: SetId,
    },
    /// Counts the packet with the counter that the map names.
    Count {
        key: Vec<Field>,
        map: SetId,
    },
    /// The verdict that the map holds. Without an element, the rule ends here.
    VerdictFrom {
        key: Vec<Field>,
        map: SetId,
    },
    /// Sends the connection to the endpoint that the map holds. Without an element, the rule ends here.
    TranslateTo {
        key: Vec<Field>,
        map: SetId,
    },
    /// Hides the client behind an address of this node.
    Masquerade,
    /// Tells the sender by ICMP that nobody listens.
    Reject,
    /// Resets a TCP connection.
    Reset,
    Drop,
    Return,
    Jump(ChainId),
}

// === impl Rule ===

impl Rule {
    pub(crate) fn new(
        matches: impl IntoIterator<Item = Match>,
        actions: impl IntoIterator<Item = Action>,
    ) -> Rule {
        Rule { matches: matches.into_iter().collect(), actions: actions.into_iter().collect() }
    }

    pub(crate) fn always(action: Action) -> Rule {
        Rule::new([], [action])
    }
}

/// Hashes are below this.
pub const HASH_MODULUS: u32 = u32::MAX;

/// A frontend.
pub fn frontend(by: By) -> Vec<Field> {
    match by {
        By::Address => vec![Field::DestinationAddress, Field::Protocol, Field::DestinationPort],
        By::NodePort => vec![Field::Protocol, Field::DestinationPort],
    }
}

/// A client of a frontend.
pub fn client(by: By) -> Vec<Field> {
    let mut key = vec![Field::SourceAddress];
    key.extend(frontend(by));
    key
}
