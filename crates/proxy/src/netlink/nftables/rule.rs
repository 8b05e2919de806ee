//! Rules as expressions, with the same registers as `nft` uses, so that its listing reads the same.

use evenkeel_nft::{
    Family, SetId, Type, number,
    rule::{Action, Field, HASH_MODULUS, InterfaceName, Match, Rule, client},
};

use super::{
    super::message::Writer,
    expression::{Base, Ct, Dynset, Expressions, Meta, Register, Verdict},
    family_number,
};

const FIRST: Register = Register::FIRST;
const RTN_LOCAL: u32 = 2;
const STATUS_DNAT: u32 = 1 << 5;
const INTERFACE_NAME: usize = 16;

/// Writes the expressions of `rule` into its open list of them.
pub(super) fn write(writer: &mut Writer, rule: &Rule, family: Family) {
    let mut compiler = Compiler { out: Expressions::new(writer), family };
    for condition in &rule.matches {
        compiler.condition(condition);
    }
    for action in &rule.actions {
        compiler.action(action);
    }
}

struct Compiler<'w> {
    out: Expressions<'w>,
    family: Family,
}

// === impl Compiler ===

impl Compiler<'_> {
    fn condition(&mut self, condition: &Match) {
        match condition {
            Match::InSet { key, set, is_in } => {
                self.key(key);
                self.out.is_in(set.name(), FIRST, *is_in);
            }
            Match::Source { range, is_in } => {
                self.source(&octets(range.network()), range.prefix(), *is_in);
            }
            Match::SourceIsLocal => {
                self.out.source_type(FIRST);
                self.out.compare(FIRST, true, &RTN_LOCAL.to_ne_bytes());
            }
            Match::Interface { name, is_it } => {
                self.out.meta(Meta::InterfaceName, FIRST);
                self.out.compare(FIRST, *is_it, &interface(name));
            }
            Match::ScratchIsNone(is) => {
                self.out.meta(Meta::Priority, FIRST);
                self.out.compare(FIRST, *is, &0_u32.to_ne_bytes());
            }
            Match::Mark(mark) => {
                self.out.meta(Meta::Mark, FIRST);
                self.out.mask_and_xor(FIRST, &mark.to_ne_bytes(), &[0; 4]);
                self.out.compare(FIRST, true, &mark.to_ne_bytes());
            }
            Match::Translated => {
                self.out.ct(Ct::Status, FIRST);
                self.out.mask_and_xor(FIRST, &STATUS_DNAT.to_ne_bytes(), &[0; 4]);
                self.out.compare(FIRST, false, &[0; 4]);
            }
            Match::Protocol(protocol) => {
                self.out.meta(Meta::Protocol, FIRST);
                self.out.compare(FIRST, true, &[number(*protocol)]);
            }
        }
    }

    /// Only the bytes that the prefix covers are read, if it ends with one.
    fn source(&mut self, network: &[u8], prefix: u8, is_in: bool) {
        let whole = usize::from(prefix / 8);
        let offset = self.address_offset(Field::SourceAddress);
        if prefix > 0 && prefix.is_multiple_of(8) {
            self.out.payload(Base::Network, offset, whole as u32, FIRST);
            self.out.compare(FIRST, is_in, &network[..whole]);
            return;
        }
        let mask: Vec<u8> = (0..network.len())
            .map(|n| match n.cmp(&whole) {
                core::cmp::Ordering::Less => 0xff,
                core::cmp::Ordering::Equal => !(0xff_u8 >> (prefix % 8)),
                core::cmp::Ordering::Greater => 0,
            })
            .collect();
        self.out.payload(Base::Network, offset, network.len() as u32, FIRST);
        self.out.mask_and_xor(FIRST, &mask, &vec![0; network.len()]);
        self.out.compare(FIRST, is_in, network);
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::SetMark(mark) => self.mark(!mark, *mark),
            Action::ClearMark(mark) => self.mark(u32::MAX, *mark),
            Action::ClearScratch => {
                self.out.immediate(FIRST, &0_u32.to_ne_bytes());
                self.out.set_meta(Meta::Priority, FIRST);
            }
            Action::ScratchFrom { key, map } => {
                self.key(key);
                self.out.map(map.name(), FIRST, FIRST);
                self.out.set_meta(Meta::Priority, FIRST);
            }
            Action::Remember { key, map, seconds } => {
                let milliseconds = u64::from(*seconds) * 1_000;
                self.dynset(key, *map, Dynset::Update { milliseconds });
            }
            Action::Forget { key, map } => self.dynset(key, *map, Dynset::Delete),
            Action::Count { key, map } => {
                self.key(key);
                self.out.object_map(map.name(), FIRST);
            }
            Action::VerdictFrom { key, map } => {
                self.key(key);
                self.out.verdict_map(map.name(), FIRST);
            }
            Action::TranslateTo { key, map } => {
                self.key(key);
                self.out.map(map.name(), FIRST, FIRST);
                let port = FIRST.behind(Type::Address.width(self.family));
                self.out.translate(family_number(self.family), FIRST, port);
            }
            Action::Masquerade => self.out.masquerade(),
            Action::Reject => self.out.reject(match self.family {
                Family::Ipv4 => 3,
                Family::Ipv6 => 4,
            }),
            Action::Reset => self.out.reset(),
            Action::Drop => self.out.verdict(Verdict::<&str>::Drop),
            Action::Return => self.out.verdict(Verdict::<&str>::Return),
            Action::Jump(chain) => self.out.verdict(Verdict::Jump(chain)),
        }
    }

    fn mark(&mut self, mask: u32, xor: u32) {
        self.out.meta(Meta::Mark, FIRST);
        self.out.mask_and_xor(FIRST, &mask.to_ne_bytes(), &xor.to_ne_bytes());
        self.out.set_meta(Meta::Mark, FIRST);
    }

    fn dynset(&mut self, key: &[Field], map: SetId, op: Dynset) {
        let data = self.key(key).aligned();
        self.out.meta(Meta::Priority, data);
        self.out.dynset(map.name(), op, FIRST, data);
    }

    /// Loads the fields one behind the other; returns the register behind them.
    fn key(&mut self, fields: &[Field]) -> Register {
        self.fields(fields, FIRST)
    }

    fn fields(&mut self, fields: &[Field], start: Register) -> Register {
        fields.iter().fold(start, |register, field| {
            self.field(*field, register);
            register.behind(width(*field, self.family))
        })
    }

    fn field(&mut self, field: Field, to: Register) {
        let address = Type::Address.width(self.family) as u32;
        match field {
            Field::SourceAddress | Field::DestinationAddress => {
                self.out.payload(Base::Network, self.address_offset(field), address, to);
            }
            Field::Protocol => self.out.meta(Meta::Protocol, to),
            Field::DestinationPort => self.out.payload(Base::Transport, 2, 2, to),
            Field::Scratch => self.out.meta(Meta::Priority, to),
            Field::Random { modulus, offset } => self.out.random(modulus, offset, to),
            Field::ClientHash { by, seed } => {
                let fields = client(by);
                let from = to.behind(4).aligned();
                self.fields(&fields, from);
                let length = fields.iter().map(|field| width(*field, self.family)).sum();
                self.out.jhash(from, length, (HASH_MODULUS, seed), to);
            }
            Field::OriginalDestinationAddress => match self.family {
                Family::Ipv4 => self.out.ct(Ct::DestinationIpv4, to),
                Family::Ipv6 => self.out.ct(Ct::DestinationIpv6, to),
            },
            Field::OriginalDestinationPort => self.out.ct(Ct::DestinationPort, to),
        }
    }

    /// Where the address is in the network header.
    fn address_offset(&self, field: Field) -> u32 {
        match (field, self.family) {
            (Field::SourceAddress, Family::Ipv4) => 12,
            (_, Family::Ipv4) => 16,
            (Field::SourceAddress, Family::Ipv6) => 8,
            (_, Family::Ipv6) => 24,
        }
    }
}

/// In bytes, padded.
fn width(field: Field, family: Family) -> usize {
    match field {
        Field::SourceAddress | Field::DestinationAddress | Field::OriginalDestinationAddress => {
            Type::Address.width(family)
        }
        Field::Protocol => Type::Protocol.width(family),
        Field::DestinationPort | Field::OriginalDestinationPort => Type::Port.width(family),
        Field::Scratch => Type::Scratch.width(family),
        Field::Random { .. } | Field::ClientHash { .. } => Type::Index.width(family),
    }
}

fn octets(address: core::net::IpAddr) -> Vec<u8> {
    match address {
        core::net::IpAddr::V4(address) => address.octets().to_vec(),
        core::net::IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A whole name is compared with its zeros behind it, a prefix without.
fn interface(name: &InterfaceName) -> Vec<u8> {
    match name {
        InterfaceName::Prefix(prefix) => prefix.bytes().take(INTERFACE_NAME - 1).collect(),
        InterfaceName::Exactly(name) => {
            let mut padded: Vec<u8> = name.bytes().take(INTERFACE_NAME - 1).collect();
            padded.resize(INTERFACE_NAME, 0);
            padded
        }
    }
}
