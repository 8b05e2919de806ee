//! Frontends with their endpoints, and the elements that they are.

use std::net::IpAddr;

use evenkeel_model::{Backend, Cidr, Protocol};
use evenkeel_nft::{
    By, ChainId, Config, Data, Element, Family, Key, Lane, SetId, Verdict,
    chain::{From, Pick},
    evaluate::Tables,
};

#[derive(Clone, Debug)]
pub struct Frontend {
    pub family: Family,
    /// `None`: a node port.
    pub address: Option<IpAddr>,
    pub protocol: Protocol,
    pub port: u16,
    pub is_cluster_ip: bool,
    pub masquerade: bool,
    pub sticky: Option<u32>,
    pub main: Pool,
    /// `Some`: under `externalTrafficPolicy: Local`.
    pub outside: Option<Pool>,
    pub source_ranges: Option<Vec<Cidr>>,
}

/// Where a frontend's connections go to.
#[derive(Clone, Debug)]
pub enum Pool {
    Reject,
    Drop,
    Endpoints(Vec<Backend>),
    /// The endpoints of each zone, and the number of its slots.
    Zones(Vec<(Vec<Backend>, u32)>),
}

/// What a table is made of.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub chains: Vec<ChainId>,
    pub elements: Vec<Element>,
    pub counters: Vec<String>,
}

const FALLBACK: u32 = 1 << 31;

fn base(rank: u32) -> u32 {
    rank << 20
}

// === impl Frontend ===

impl Frontend {
    pub fn at(address: &str, protocol: Protocol, port: u16, main: Pool) -> Frontend {
        let address: IpAddr = address.parse().unwrap();
        let family = Family::of(address);
        Frontend { address: Some(address), ..Frontend::node_port(family, protocol, port, main) }
    }

    pub fn cluster_ip(address: &str, protocol: Protocol, port: u16, main: Pool) -> Frontend {
        Frontend { is_cluster_ip: true, ..Frontend::at(address, protocol, port, main) }
    }

    pub fn node_port(family: Family, protocol: Protocol, port: u16, main: Pool) -> Frontend {
        Frontend {
            family,
            address: None,
            protocol,
            port,
            is_cluster_ip: false,
            masquerade: false,
            sticky: None,
            main,
            outside: None,
            source_ranges: None,
        }
    }

    fn by(&self) -> By {
        if self.address.is_some() { By::Address } else { By::NodePort }
    }

    pub fn key(&self) -> Key {
        let key = self.address.map_or(Key::new(), |address| Key::new().address(address));
        key.protocol(self.protocol).port(self.port)
    }

    fn element(&self, set: SetId, key: Key, data: Data) -> Element {
        Element::new(self.family, set, key, data)
    }

    fn pick(&self, lane: Lane, from: From) -> ChainId {
        ChainId::Pick(Pick { by: self.by(), lane, sticky: self.sticky, from })
    }
}

// === impl Parts ===

impl Parts {
    pub fn new(frontends: &[Frontend], node_port_ips: &[IpAddr], hairpin: &[IpAddr]) -> Parts {
        let mut parts = Parts::default();
        frontends.iter().for_each(|frontend| parts.add(frontend));
        for ip in node_port_ips {
            parts.element(*ip, SetId::NodePortIps, Key::new().address(*ip));
        }
        for ip in hairpin {
            parts.element(*ip, SetId::Hairpin, Key::new().address(*ip).address(*ip));
        }
        parts.chains.sort();
        parts.chains.dedup();
        let mut seen = std::collections::HashSet::new();
        parts.elements.retain(|element| seen.insert(element.key()));
        parts
    }

    pub fn tables(&self, config: &Config, family: Family) -> Tables {
        let chains = self.chains.iter().copied();
        let tables = Tables::new(config, family, chains, self.elements.iter().cloned());
        assert_eq!(tables.flaws(), &[] as &[String]);
        tables
    }

    fn element(&mut self, ip: IpAddr, set: SetId, key: Key) {
        self.elements.push(Element::new(Family::of(ip), set, key, Data::None));
    }

    fn add(&mut self, frontend: &Frontend) {
        let (by, key) = (frontend.by(), frontend.key());
        self.pool(frontend, Lane::Main, &frontend.main);
        if let Some(outside) = &frontend.outside {
            self.elements.push(frontend.element(SetId::OutsideLocal(by), key, Data::None));
            self.pool(frontend, Lane::Outside, outside);
        }
        if frontend.masquerade {
            self.elements.push(frontend.element(SetId::Masquerade(by), key, Data::None));
        }
        if let (true, Some(ip)) = (frontend.is_cluster_ip, frontend.address) {
            self.element(ip, SetId::ClusterIps, Key::new().address(ip));
        }
        if let Some(ranges) = &frontend.source_ranges {
            self.elements.push(frontend.element(SetId::Firewall, key, Data::None));
            for range in ranges {
                let first = key.address(range.network());
                let mut element = frontend.element(SetId::SourceRanges, first, Data::None);
                element.end = key.address(last(*range));
                self.elements.push(element);
            }
        }
    }

    fn pool(&mut self, frontend: &Frontend, lane: Lane, pool: &Pool) {
        let verdict = match pool {
            Pool::Reject => Verdict::Goto(ChainId::Reject),
            Pool::Drop => Verdict::Drop,
            Pool::Endpoints(endpoints) => {
                self.endpoints(frontend, lane, 0, endpoints);
                self.goto(frontend.pick(lane, From::All(endpoints.len() as u32)))
            }
            Pool::Zones(zones) => self.zones(frontend, lane, zones),
        };
        let set = SetId::Services(frontend.by(), lane);
        self.elements.push(frontend.element(set, frontend.key(), Data::Verdict(verdict)));
    }

    fn zones(&mut self, frontend: &Frontend, lane: Lane, zones: &[(Vec<Backend>, u32)]) -> Verdict {
        let (by, key) = (frontend.by(), frontend.key());
        let mut slots = 0;
        for (rank, (endpoints, share)) in (1..).zip(zones) {
            for slot in slots..slots + share {
                let (set, key) = (SetId::ZoneSlots(by), key.number(slot));
                self.elements.push(frontend.element(set, key, Data::Scratch(rank)));
            }
            slots += share;
            let from = From::Zone { rank: rank as u16, endpoints: endpoints.len() as u32 };
            let to = self.goto(frontend.pick(lane, from));
            let (set, of_zone) = (SetId::Zones(by), key.number(rank));
            self.elements.push(frontend.element(set, of_zone, Data::Verdict(to)));
            self.endpoints(frontend, lane, base(rank), endpoints);
        }
        self.endpoints(frontend, lane, FALLBACK, &zones[0].0[..1]);
        self.goto(frontend.pick(lane, From::Slots(slots)))
    }

    fn endpoints(&mut self, frontend: &Frontend, lane: Lane, from: u32, endpoints: &[Backend]) {
        let (by, key) = (frontend.by(), frontend.key());
        for (index, endpoint) in (from..).zip(endpoints) {
            let data = Data::Backend(*endpoint);
            if frontend.sticky.is_none() {
                let set = SetId::Endpoints(by, lane);
                self.elements.push(frontend.element(set, key.number(index), data));
                continue;
            }
            // The lanes of a frontend share the ids of their endpoints.
            let id = id(*endpoint);
            let set = SetId::StickySlots(by, lane);
            self.elements.push(frontend.element(set, key.number(index), Data::Scratch(id)));
            self.elements.push(frontend.element(SetId::Pinned(by, lane), key.number(id), data));
        }
    }

    fn goto(&mut self, chain: ChainId) -> Verdict {
        self.chains.push(chain);
        Verdict::Goto(chain)
    }

    /// Removes the elements of an endpoint with session affinity, and gives the same for `nft`.
    pub fn remove(&mut self, endpoint: Backend) -> String {
        let id = Data::Scratch(id(endpoint));
        let gone = [Data::Backend(endpoint), id];
        let mut script = String::new();
        self.elements.retain(|element| {
            let Element { family, set, key, data, .. } = element;
            if gone.contains(data) {
                let fields = key.fields(set.key(*family), *family).unwrap().join(" . ");
                let table = format!("{family} evenkeel {}", set.name());
                script += &format!("delete element {table} {{ {fields} }}\n");
            }
            !gone.contains(data)
        });
        script
    }

    /// A counter for each frontend and endpoint's address.
    pub fn count(&mut self, frontends: &[Frontend]) {
        for (number, frontend) in frontends.iter().enumerate() {
            let pools = [Some(&frontend.main), frontend.outside.as_ref()];
            for endpoint in pools.into_iter().flatten().flat_map(Pool::all) {
                let name = format!("f{number}-{:x}", id(endpoint) >> 8);
                let set = SetId::Counters(frontend.by());
                let key = frontend.key().address(endpoint.ip);
                if !self.counters.contains(&name) {
                    let data = Data::Counter(name.as_str().into());
                    self.elements.push(frontend.element(set, key, data));
                    self.counters.push(name);
                }
            }
        }
    }
}

/// By the last bytes of address and port, which tell the endpoints of these tests apart.
fn id(endpoint: Backend) -> u32 {
    let tail = match endpoint.ip {
        IpAddr::V4(ip) => ip.to_bits() & 0xffff,
        IpAddr::V6(ip) => {
            (ip.to_bits() & 0xffff) as u32 | (u32::from(ip.segments()[2]) & 0xff) << 8
        }
    };
    tail << 8 | u32::from(endpoint.port) & 0xff
}

fn last(range: Cidr) -> IpAddr {
    match range.network() {
        IpAddr::V4(ip) => {
            let host = u32::MAX.checked_shr(range.prefix().into()).unwrap_or(0);
            IpAddr::V4((ip.to_bits() | host).into())
        }
        IpAddr::V6(ip) => {
            let host = u128::MAX.checked_shr(range.prefix().into()).unwrap_or(0);
            IpAddr::V6((ip.to_bits() | host).into())
        }
    }
}

// === impl Pool ===

impl Pool {
    pub fn all(&self) -> Vec<Backend> {
        match self {
            Pool::Reject | Pool::Drop => vec![],
            Pool::Endpoints(endpoints) => endpoints.clone(),
            Pool::Zones(zones) => {
                zones.iter().flat_map(|(endpoints, _)| endpoints.clone()).collect()
            }
        }
    }
}
