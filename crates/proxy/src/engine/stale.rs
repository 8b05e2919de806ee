//! Connections of UDP that must be forgotten.
//!
//! The kernel remembers where it sent the packets of a UDP client, and goes on sending them there for
//! as long as they come. So when an endpoint is gone, when a Service is, and when a Service gets its
//! first endpoint, connections must be removed. What counts is the state, not what happened: a
//! connection to a frontend is right if it goes to an endpoint that the port has and that still
//! serves, whether or not it would be chosen today. So changes of hints, shares and zones leave
//! connections alone, and the same check is right after a restart.
//!
//! Only connections to frontends that this node serves, or did until now, are looked at.

use core::net::IpAddr;

use evenkeel_model::{Backend, Protocol, Selectable as _};
use evenkeel_nft::{By, Data, Element, Family, Frontend, Lane, Ruleset, SetId, address, number};
use evenkeel_topology::consumer::View;
use rustc_hash::FxHashSet;

/// The frontends whose connections are to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stale {
    frontends: FxHashSet<Frontend>,
}

impl Stale {
    pub fn is_empty(&self) -> bool {
        self.frontends.is_empty()
    }

    /// There is something to look at among connections of this family.
    pub fn has(&self, family: Family) -> bool {
        self.frontends.iter().any(|frontend| frontend.family() == family)
    }

    pub(super) fn add(&mut self, frontend: Frontend) {
        self.frontends.insert(frontend);
    }

    /// Those of another commit as well.
    pub fn extend(&mut self, other: Stale) {
        self.frontends.extend(other.frontends);
    }

    /// A connection to this address and port is to be looked at.
    pub fn concerns(&self, node_port_ips: &[IpAddr], original: (IpAddr, u16)) -> bool {
        self.frontend(node_port_ips, original).is_some()
    }

    /// `original`: where the client sent its packets. `reply`: from where they are answered.
    pub(super) fn is_stale(
        &self,
        ruleset: &Ruleset,
        view: &View,
        node_port_ips: &[IpAddr],
        original: (IpAddr, u16),
        reply: (IpAddr, u16),
    ) -> bool {
        let Some(frontend) = self.frontend(node_port_ips, original) else { return false };
        let is_translated = original != reply;
        let port = ruleset.owner(frontend).and_then(|id| view.port(id));
        let Some(port) = port else { return is_translated };
        let backend = Backend { ip: reply.0, port: reply.1 };
        // One that is not translated is older than the frontend.
        !is_translated || !port.endpoint(backend).is_some_and(|endpoint| endpoint.is_usable())
    }

    fn frontend(&self, node_port_ips: &[IpAddr], (ip, port): (IpAddr, u16)) -> Option<Frontend> {
        let protocol = Protocol::Udp;
        let at_address = Frontend::Address { ip, protocol, port };
        let at_node_port = Frontend::NodePort { family: Family::of(ip), protocol, port };
        let is_node_port = || self.frontends.contains(&at_node_port) && node_port_ips.contains(&ip);
        match self.frontends.contains(&at_address) {
            true => Some(at_address),
            false => is_node_port().then_some(at_node_port),
        }
    }
}

/// The frontend of an element that leads UDP connections somewhere.
pub(super) fn udp_frontend(element: &Element) -> Option<Frontend> {
    let Element {
        family, set: SetId::Services(by, Lane::Main), key, data: Data::Verdict(_), ..
    } = element
    else {
        return None;
    };
    let (ip, rest) = match by {
        By::Address => {
            let (ip, rest) = key.as_bytes().split_at_checked(width(*family))?;
            (Some(address(ip)?), rest)
        }
        By::NodePort => (None, key.as_bytes()),
    };
    let [protocol, _, _, _, high, low, ..] = rest else { return None };
    if *protocol != number(Protocol::Udp) {
        return None;
    }
    let (protocol, port) = (Protocol::Udp, u16::from_be_bytes([*high, *low]));
    Some(match ip {
        Some(ip) => Frontend::Address { ip, protocol, port },
        None => Frontend::NodePort { family: *family, protocol, port },
    })
}

fn width(family: Family) -> usize {
    match family {
        Family::Ipv4 => 4,
        Family::Ipv6 => 16,
    }
}
