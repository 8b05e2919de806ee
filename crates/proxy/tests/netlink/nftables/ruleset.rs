//! Rulesets with something of everything, from a number.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{collections::BTreeSet, sync::Arc};

use evenkeel_model::{Backend, Cidr, Protocol};
use evenkeel_nft::{
    By, ChainId, Change, Config, Create, Data, DataType, DetectLocal, Element, Family, Key, Lane,
    SetId, Transaction, Type, Verb, Verdict,
    chain::{From, Pick},
    rule::InterfaceName,
    text,
};
use evenkeel_testkit::sim::Rng;

/// A ruleset of one family.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) config: Config,
    pub(crate) family: Family,
    pub(crate) chains: Vec<ChainId>,
    pub(crate) counters: Vec<Arc<str>>,
    pub(crate) elements: Vec<Element>,
}

struct Numbers(Rng);

impl Sample {
    pub(crate) fn new(seed: u64, family: Family) -> Self {
        let mut numbers = Numbers(Rng::new(seed));
        let config = config(&mut numbers, family);
        let chains = chains(&mut numbers);
        let counters: Vec<Arc<str>> = match config.zone_counters {
            true => ["svc-a-zone-b", "c0"].map(Arc::from).to_vec(),
            false => vec![],
        };
        let mut sample = Self { config, family, chains, counters, elements: vec![] };
        let config = sample.config.clone();
        for set in text::sets(&config).filter(|set| !set.is_dynamic()) {
            sample.fill(set, &mut numbers);
        }
        sample
    }

    /// Creates all of it.
    pub(crate) fn transaction(&self) -> Transaction {
        let mut create = vec![Create::Table(self.family)];
        let counter = |name: &Arc<str>| Create::Counter(self.family, name.clone());
        create.extend(self.counters.iter().map(counter));
        create.extend(self.chains.iter().map(|chain| Create::Chain(self.family, *chain)));
        let add = |element: &Element| Change { verb: Verb::Add, element: element.clone() };
        let elements = self.elements.iter().map(add).collect();
        let mut transaction = Transaction { create, elements, remove: vec![] };
        transaction.settle();
        transaction
    }

    pub(crate) fn text(&self) -> String {
        let Self { config, family, chains, counters, elements } = self;
        let mut text = String::new();
        let chains = chains.iter().copied();
        text::table(&mut text, config, *family, counters, chains, elements).unwrap();
        text
    }

    fn fill(&mut self, set: SetId, numbers: &mut Numbers) {
        let mut keys = BTreeSet::new();
        for n in 0..numbers.below(6) {
            let mut key = Key::new();
            let mut end = Key::new();
            let fields = set.key(self.family);
            for (place, ty) in fields.iter().enumerate() {
                let is_range = set.has_ranges() && place + 1 == fields.len();
                let (first, last) = if is_range {
                    // Ranges must not overlap.
                    range(self.family, n)
                } else {
                    let value = Value::random(*ty, self.family, numbers);
                    (value, value)
                };
                (key, end) = (first.append(key), last.append(end));
            }
            if keys.insert(key) {
                let data = self.data(set, numbers);
                self.elements.push(Element { family: self.family, set, key, end, data });
            }
        }
    }

    fn data(&self, set: SetId, numbers: &mut Numbers) -> Data {
        match set.data() {
            DataType::None => Data::None,
            DataType::Scratch => Data::Scratch(numbers.below(1 << 20) + 1),
            DataType::Counter => Data::Counter(self.counters[numbers.below(2) as usize].clone()),
            DataType::Backend => {
                let port = numbers.below(65_535) as u16 + 1;
                Data::Backend(Backend { ip: address(self.family, numbers), port })
            }
            DataType::Verdict => Data::Verdict(match numbers.below(4) {
                0 => Verdict::Drop,
                1 => Verdict::Goto(ChainId::Reject),
                _ => Verdict::Goto(self.chain(set, numbers)),
            }),
        }
    }

    /// A chain that leads to slots looks into the zones, so the zones must not lead to it.
    fn chain(&self, set: SetId, numbers: &mut Numbers) -> ChainId {
        let of_slots =
            |chain: &ChainId| matches!(chain, ChainId::Pick(Pick { from: From::Slots(_), .. }));
        let chains: Vec<ChainId> = match set {
            SetId::Zones(_) => self.chains.iter().copied().filter(|c| !of_slots(c)).collect(),
            _ => self.chains.clone(),
        };
        numbers.0.pick(&chains).copied().unwrap_or(ChainId::Reject)
    }
}

#[derive(Clone, Copy)]
enum Value {
    Address(IpAddr),
    Protocol(Protocol),
    Port(u16),
    Number(u32),
}

impl Value {
    fn random(ty: Type, family: Family, numbers: &mut Numbers) -> Self {
        match ty {
            Type::Address => Self::Address(address(family, numbers)),
            Type::Protocol => {
                let protocols = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
                Self::Protocol(protocols[numbers.below(3) as usize])
            }
            Type::Port => Self::Port(numbers.below(65_536) as u16),
            Type::Index | Type::Scratch => Self::Number(numbers.below(1 << 31)),
        }
    }

    fn append(self, key: Key) -> Key {
        match self {
            Self::Address(ip) => key.address(ip),
            Self::Protocol(protocol) => key.protocol(protocol),
            Self::Port(port) => key.port(port),
            Self::Number(number) => key.number(number),
        }
    }
}

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0.below(limit as usize) as u32
    }
}

fn config(numbers: &mut Numbers, family: Family) -> Config {
    let ranges = match family {
        Family::Ipv4 => [("10.244.0.0", 16), ("10.0.0.0", 9), ("192.0.2.1", 32), ("0.0.0.0", 0)],
        Family::Ipv6 => [("fd00::", 64), ("fd00::", 9), ("2001:db8::1", 128), ("::", 0)],
    };
    let range = |(ip, prefix): &(&str, u8)| Cidr::new(ip.parse().unwrap(), *prefix).unwrap();
    let detect_local = match numbers.below(4) {
        0 => DetectLocal::Off,
        1 => DetectLocal::Interface(InterfaceName::Exactly("eth0".into())),
        2 => DetectLocal::Interface(InterfaceName::Prefix("veth".into())),
        _ => DetectLocal::Ranges(ranges.iter().map(range).collect()),
    };
    Config {
        detect_local,
        masquerade_all: numbers.below(4) == 0,
        mark_bit: numbers.below(32) as u8,
        seed: numbers.below(1 << 31),
        zone_counters: numbers.below(2) == 0,
        ..Config::default()
    }
}

fn chains(numbers: &mut Numbers) -> Vec<ChainId> {
    let mut chains = BTreeSet::new();
    for by in [By::Address, By::NodePort] {
        for lane in [Lane::Main, Lane::Outside] {
            for sticky in [None, Some(10_800), Some(1 + numbers.below(86_400))] {
                let from = match numbers.below(3) {
                    0 => From::All(1 + numbers.below(1_000)),
                    1 => From::Slots(1 + numbers.below(100)),
                    _ => From::Zone { rank: 1 + numbers.below(9) as u16, endpoints: 3 },
                };
                chains.insert(ChainId::Pick(Pick { by, lane, sticky, from }));
            }
        }
    }
    chains.into_iter().collect()
}

fn address(family: Family, numbers: &mut Numbers) -> IpAddr {
    let low = numbers.below(u32::MAX);
    match family {
        Family::Ipv4 => Ipv4Addr::from_bits(low).into(),
        Family::Ipv6 => Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(low)).into(),
    }
}

/// The n-th of ranges that don't overlap: every other one is no prefix.
fn range(family: Family, n: u32) -> (Value, Value) {
    let (first, length) = (n << 16, if n.is_multiple_of(2) { 0x1000 } else { 0x0777 });
    let address = |low: u32| match family {
        Family::Ipv4 => IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | low)),
        Family::Ipv6 => IpAddr::V6(Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(low))),
    };
    (Value::Address(address(first)), Value::Address(address(first + length - 1)))
}
