//! Address families. Each has a table of its own, with the same chains and sets.

use core::net::IpAddr;
use std::fmt;

use evenkeel_model::AddressType;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl Family {
    pub const ALL: [Family; 2] = [Family::Ipv4, Family::Ipv6];

    pub fn of(ip: IpAddr) -> Family {
        if ip.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }

    /// `None`: names instead of addresses.
    pub fn of_slices(family: AddressType) -> Option<Family> {
        match family {
            AddressType::IPv4 => Some(Family::Ipv4),
            AddressType::IPv6 => Some(Family::Ipv6),
            AddressType::Fqdn => None,
        }
    }

    /// As `nft` calls it, for tables and for the fields of its packets.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ipv4 => "ip",
            Family::Ipv6 => "ip6",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
