//! Random frontends, and the connections that try them.

use std::net::{IpAddr, SocketAddr};

use evenkeel_model::{Cidr, Protocol};
use evenkeel_nft::{
    Config, DetectLocal, Family,
    evaluate::{Entry, Packet, Tables},
    rule::InterfaceName,
    text,
};

use super::{
    network::{Namespace, Network, at, ip},
    random::Random,
    service::{Frontend, Parts, Pool},
};

#[derive(Debug)]
pub struct Case {
    pub config: Config,
    pub frontends: Vec<Frontend>,
    pub parts: Parts,
    /// For tries: addresses and ports that no frontend has.
    strangers: Vec<(Protocol, SocketAddr)>,
}

/// A client and where it connects to.
#[derive(Clone, Debug)]
pub struct Probe {
    pub client: Client,
    pub protocol: Protocol,
    pub to: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Outside,
    Pod,
    Node,
}

// === impl Case ===

impl Case {
    pub fn random(random: &mut Random) -> Case {
        let config = config(random);
        let mut frontends: Vec<Frontend> = Vec::new();
        for family in Family::ALL {
            for number in 1..=6 {
                frontends.push(frontend(random, family, number));
            }
        }
        // Two of a kind would be one frontend.
        let mut seen = Vec::new();
        frontends.retain(|it| {
            let key = (it.family, it.key());
            !seen.contains(&key) && {
                seen.push(key);
                true
            }
        });
        Case::new(config, frontends)
    }

    pub fn new(config: Config, frontends: Vec<Frontend>) -> Case {
        let [node, pod] = [at::node, at::pod].map(|of| Family::ALL.map(of));
        let mut parts = Parts::new(&frontends, &node, &pod);
        if config.zone_counters {
            parts.count(&frontends);
        }
        let mut strangers = Vec::new();
        for frontend in &frontends {
            match frontend.address {
                Some(ip) => strangers.push((frontend.protocol, SocketAddr::new(ip, 7777))),
                None => {
                    let ip = at::node_without_ports(frontend.family);
                    strangers.push((frontend.protocol, SocketAddr::new(ip, frontend.port)));
                }
            }
        }
        strangers.sort();
        strangers.dedup();
        Case { config, frontends, parts, strangers }
    }

    pub fn tables(&self, family: Family) -> Tables {
        self.parts.tables(&self.config, family).at(at::of_node(family))
    }

    /// Both tables, as `nft` reads them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for family in Family::ALL {
            let Parts { chains, elements, counters } = &self.parts;
            let chains = chains.iter().copied();
            text::table(&mut text, &self.config, family, counters, chains, elements).unwrap();
        }
        text
    }

    pub fn probes(&self) -> Vec<Probe> {
        let of_frontends = self.frontends.iter().map(|frontend| {
            let ip = frontend.address.unwrap_or_else(|| at::node(frontend.family));
            (frontend.protocol, SocketAddr::new(ip, frontend.port))
        });
        let targets = of_frontends.chain(self.strangers.iter().copied());
        let clients = [Client::Outside, Client::Pod, Client::Node];
        targets
            .flat_map(|(protocol, to)| clients.map(|client| Probe { client, protocol, to }))
            .collect()
    }
}

// === impl Probe ===

impl Probe {
    pub fn family(&self) -> Family {
        Family::of(self.to.ip())
    }

    pub fn source(&self) -> IpAddr {
        match self.client {
            Client::Outside => at::outside(self.family()),
            Client::Pod => at::pod(self.family()),
            Client::Node => at::node(self.family()),
        }
    }

    pub fn namespace<'a>(&self, network: &'a Network) -> &'a Namespace {
        match self.client {
            Client::Outside => &network.outside,
            Client::Pod => &network.pod,
            Client::Node => &network.node,
        }
    }

    pub fn packet(&self) -> Packet {
        let through = |interface: &str| Entry::Prerouting { interface: interface.to_owned() };
        let entry = match self.client {
            Client::Outside => through("out0"),
            Client::Pod => through("pod0"),
            Client::Node => Entry::Output,
        };
        Packet::new(entry, self.source(), self.to.ip(), self.protocol, self.to.port())
    }
}

fn config(random: &mut Random) -> Config {
    let pods = [ip("10.244.0.0"), ip("fd00:244::")].map(|ip| Cidr::new(ip, 16).unwrap());
    let detect_local = match random.below(5) {
        0 => DetectLocal::Off,
        1 | 2 => DetectLocal::Ranges(pods.to_vec()),
        3 => DetectLocal::Interface(InterfaceName::Exactly("pod0".into())),
        _ => DetectLocal::Interface(InterfaceName::Prefix("po".into())),
    };
    Config {
        mark_bit: *random.pick(&[0, 14, 31]),
        detect_local,
        masquerade_all: random.one_in(6),
        seed: random.next() as u32,
        zone_counters: random.one_in(2),
        ..Config::default()
    }
}

fn frontend(random: &mut Random, family: Family, number: u32) -> Frontend {
    let protocol = *random.pick(&[Protocol::Tcp, Protocol::Udp]);
    let port = *random.pick(&[53, 80, 443]);
    let host = random.below(3) + 1;
    let v4_or_v6 = |v4: &str, v6: &str| {
        let prefix = if family == Family::Ipv4 { v4 } else { v6 };
        format!("{prefix}{host}")
    };
    let main = pool(random, family, true);
    let mut frontend = match random.below(4) {
        0 | 1 => {
            let address = v4_or_v6("10.96.0.", "fd00:96::");
            return Frontend {
                sticky: sticky(random),
                ..Frontend::cluster_ip(&address, protocol, port, main)
            };
        }
        2 => {
            let address = v4_or_v6("203.0.113.", "2001:db8:113::");
            let source_ranges = random.one_in(2).then(|| source_ranges(random, family));
            let frontend = Frontend::at(&address, protocol, port, main);
            Frontend { source_ranges, ..frontend }
        }
        _ => Frontend::node_port(family, protocol, 30_000 + number as u16, main),
    };
    frontend.sticky = sticky(random);
    if random.one_in(2) {
        frontend.outside = Some(pool(random, family, false));
    } else {
        frontend.masquerade = !random.one_in(3);
    }
    frontend
}

fn sticky(random: &mut Random) -> Option<u32> {
    random.one_in(3).then(|| *random.pick(&[60, 10_800]))
}

fn pool(random: &mut Random, family: Family, with_zones: bool) -> Pool {
    let mut all = at::endpoints(family);
    let mut take = |random: &mut Random, n: u32| {
        let mut one = |_| all.swap_remove(random.below(all.len() as u32) as usize);
        (0..n).map(&mut one).collect::<Vec<_>>()
    };
    match random.below(8) {
        0 => Pool::Reject,
        1 if random.one_in(2) => Pool::Drop,
        2 | 3 if with_zones => {
            let mut zones = Vec::new();
            for _ in 0..2 + random.below(2) {
                let n = 1 + random.below(3);
                zones.push((take(random, n), 1 + random.below(3)));
            }
            Pool::Zones(zones)
        }
        _ => {
            let n = 1 + random.below(4);
            Pool::Endpoints(take(random, n))
        }
    }
}

fn source_ranges(random: &mut Random, family: Family) -> Vec<Cidr> {
    let all = match family {
        Family::Ipv4 => [("192.168.77.2", 31), ("10.244.2.2", 32), ("192.168.77.1", 32)],
        Family::Ipv6 => [("fd77::2", 127), ("fd00:244:2::", 48), ("fd77::1", 128)],
    };
    let ranges = all.map(|(text, prefix)| Cidr::new(ip(text), prefix).unwrap());
    ranges.into_iter().filter(|_| random.one_in(2)).collect()
}
