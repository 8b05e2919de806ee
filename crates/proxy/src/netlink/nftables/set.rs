//! Definitions of sets and maps.
//!
//! `nft` keeps what the kernel has no place for as user data: byte orders, and the expressions of a
//! `typeof` definition. It is written here as `nft` 1.0.6 does, so that its listing shows the types.

use evenkeel_nft::{DataType, Family, MOST_AFFINITIES, SetId, Type};

use super::super::message::Writer;

// Attributes of `enum nft_set_attributes`.
const TABLE: u16 = 1;
const NAME: u16 = 2;
const FLAGS: u16 = 3;
const KEY_TYPE: u16 = 4;
const KEY_LENGTH: u16 = 5;
const DATA_TYPE: u16 = 6;
const DATA_LENGTH: u16 = 7;
const DESCRIPTION: u16 = 9;
/// A number that is unique in its batch; a new set must have one.
pub(super) const ID: u16 = 10;
const USER_DATA: u16 = 13;
const OBJECT_TYPE: u16 = 15;

const DESCRIPTION_SIZE: u16 = 1;
const DESCRIPTION_CONCAT: u16 = 2;
const FIELD: u16 = 1;
const FIELD_LENGTH: u16 = 1;

// Flags of a set.
const INTERVAL: u32 = 0x4;
const MAP: u32 = 0x8;
const TIMEOUT: u32 = 0x10;
const EVAL: u32 = 0x20;
const OBJECT: u32 = 0x40;
const CONCAT: u32 = 0x80;

const VERDICT_TYPE: u32 = 0xffff_ff00;
pub(super) const COUNTER: u32 = 1;

/// Writes the attributes of the definition, as the kernel lists them.
pub(super) fn write(writer: &mut Writer, table: &str, set: SetId, family: Family) {
    let key = set.key(family);
    writer.string(TABLE, table);
    writer.string(NAME, set.name());
    // The kernel does not list those of a set without flags.
    if flags(set) != 0 {
        writer.be32(FLAGS, flags(set));
    }
    writer.be32(KEY_TYPE, type_numbers(key, family));
    writer.be32(KEY_LENGTH, width(key, family));
    match set.data() {
        DataType::None => {}
        DataType::Counter => writer.be32(OBJECT_TYPE, COUNTER),
        DataType::Verdict => writer.be32(DATA_TYPE, VERDICT_TYPE),
        DataType::Backend | DataType::Scratch => {
            let data = data_fields(set);
            writer.be32(DATA_TYPE, type_numbers(data, family));
            writer.be32(DATA_LENGTH, width(data, family));
        }
    }
    description(writer, set, family);
    writer.bytes(USER_DATA, &user_data(set, family));
}

fn flags(set: SetId) -> u32 {
    let data = match set.data() {
        DataType::None => 0,
        DataType::Counter => OBJECT,
        DataType::Verdict | DataType::Backend | DataType::Scratch => MAP,
    };
    let ranges = if set.has_ranges() { INTERVAL | CONCAT } else { 0 };
    let dynamic = if set.is_dynamic() { TIMEOUT | EVAL } else { 0 };
    data | ranges | dynamic
}

/// The most elements of a dynamic set; the real lengths of the fields where there are ranges.
fn description(writer: &mut Writer, set: SetId, family: Family) {
    let description = writer.nest(DESCRIPTION);
    if set.is_dynamic() {
        writer.be32(DESCRIPTION_SIZE, MOST_AFFINITIES);
    }
    if set.has_ranges() {
        let fields = writer.nest(DESCRIPTION_CONCAT);
        for ty in set.key(family) {
            let field = writer.nest(FIELD);
            writer.be32(FIELD_LENGTH, length(*ty, family));
            writer.end_nest(field);
        }
        writer.end_nest(fields);
    }
    writer.end_nest(description);
}

fn data_fields(set: SetId) -> &'static [Type] {
    match set.data() {
        DataType::Backend => &[Type::Address, Type::Port],
        DataType::Scratch => &[Type::Scratch],
        DataType::None | DataType::Verdict | DataType::Counter => &[],
    }
}

fn width(fields: &[Type], family: Family) -> u32 {
    fields.iter().map(|ty| ty.width(family) as u32).sum()
}

/// Without padding.
fn length(ty: Type, family: Family) -> u32 {
    match ty {
        Type::Protocol => 1,
        Type::Port => 2,
        Type::Address | Type::Index | Type::Scratch => ty.width(family) as u32,
    }
}

/// `nft`'s numbers of the types, six bits each; the kernel only keeps them.
fn type_numbers(fields: &[Type], family: Family) -> u32 {
    fields.iter().fold(0, |numbers, ty| numbers << 6 | type_number(*ty, family))
}

fn type_number(ty: Type, family: Family) -> u32 {
    match (ty, family) {
        (Type::Index, _) => 4,
        (Type::Address, Family::Ipv4) => 7,
        (Type::Address, Family::Ipv6) => 8,
        (Type::Protocol, _) => 12,
        (Type::Port, _) => 13,
        (Type::Scratch, _) => 23,
    }
}

// === user data ===

const KEY_BYTE_ORDER: u8 = 0;
const DATA_BYTE_ORDER: u8 = 1;
const KEY_TYPEOF: u8 = 3;
const DATA_TYPEOF: u8 = 4;
const DATA_INTERVAL: u8 = 6;

// Kinds of expressions of `typeof`.
const PAYLOAD: u32 = 7;
const META: u32 = 9;
const CONCATENATION: u32 = 13;
const NUMGEN: u32 = 23;

/// Entries of one byte kind, one byte length and the value.
fn user_data(set: SetId, family: Family) -> Vec<u8> {
    let key = set.key(family);
    let data = data_fields(set);
    // An index has no type by name, so such a set is defined by expressions.
    let by_expressions = key.contains(&Type::Index);
    let mut out = Vec::with_capacity(200);
    number(&mut out, KEY_BYTE_ORDER, byte_order(key));
    if !matches!(set.data(), DataType::None | DataType::Counter) {
        number(&mut out, DATA_BYTE_ORDER, byte_order(data));
    }
    for (kind, fields) in [(KEY_TYPEOF, key), (DATA_TYPEOF, data)] {
        if let Some(expression) = type_of(fields, family, by_expressions) {
            entry(&mut out, kind, &expression);
        }
    }
    if set.data() != DataType::None {
        number(&mut out, DATA_INTERVAL, 0);
    }
    out
}

/// 1: the machine's, 2: the network's; concatenations and verdicts have none.
fn byte_order(fields: &[Type]) -> u32 {
    match fields {
        [Type::Index | Type::Scratch] => 1,
        [_] => 2,
        _ => 0,
    }
}

/// The expression that gives the type; for a concatenation of types by name, one of nothing.
fn type_of(fields: &[Type], family: Family, by_expressions: bool) -> Option<Vec<u8>> {
    match fields {
        [] => None,
        [ty] => by_expressions.then(|| field_expression(*ty, family)),
        _ => {
            let mut parts = Vec::new();
            for (n, ty) in (0..).zip(fields).take_while(|_| by_expressions) {
                entry(&mut parts, n, &field_expression(*ty, family));
            }
            Some(expression(CONCATENATION, &parts))
        }
    }
}

fn field_expression(ty: Type, family: Family) -> Vec<u8> {
    match (ty, family) {
        // Protocol description and field of `ip daddr`, `ip6 daddr` and `th dport`.
        (Type::Address, Family::Ipv4) => expression(PAYLOAD, &numbers(&[12, 12])),
        (Type::Address, Family::Ipv6) => expression(PAYLOAD, &numbers(&[13, 9])),
        (Type::Port, _) => expression(PAYLOAD, &numbers(&[11, 2])),
        (Type::Protocol, _) => expression(META, &numbers(&[16])),
        (Type::Scratch, _) => expression(META, &numbers(&[2])),
        // `numgen random mod 2`, whose modulus means nothing here.
        (Type::Index, _) => expression(NUMGEN, &numbers(&[1, 2, 0])),
    }
}

fn expression(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut out = numbers(&[kind]);
    entry(&mut out, 1, data);
    out
}

fn numbers(values: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, value) in (0..).zip(values) {
        number(&mut out, kind, *value);
    }
    out
}

fn number(out: &mut Vec<u8>, kind: u8, value: u32) {
    entry(out, kind, &value.to_ne_bytes());
}

fn entry(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let length = u8::try_from(value.len()).expect("a type has few and short parts");
    out.extend([kind, length]);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use evenkeel_nft::{By, Lane};

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As nft 1.0.6 wrote it on a little-endian machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn user_data_is_that_of_nft() {
        for (set, family, expected) in [
            (
                SetId::Endpoints(By::Address, Lane::Main),
                Family::Ipv4,
                "000400000000010400000000036000040d00000001580014000407000000010c00040c00000001040c\
                 000000010e00040900000001060004100000000214000407000000010c00040b000000010402000000\
                 031a0004170000000112000401000000010402000000020400000000043400040d000000012c001400\
                 0407000000010c00040c00000001040c0000000114000407000000010c00040b000000010402000000\
                 060400000000",
            ),
            (
                SetId::Pinned(By::Address, Lane::Main),
                Family::Ipv4,
                "000400000000010400000000030800040d0000000100040800040d0000000100060400000000",
            ),
            (
                SetId::Affinity(By::Address),
                Family::Ipv6,
                "000401000000010401000000031a000417000000011200040100000001040200000002040000000004\
                 0e0004090000000106000402000000060400000000",
            ),
            (SetId::ClusterIps, Family::Ipv4, "000402000000"),
            (
                SetId::Counters(By::Address),
                Family::Ipv6,
                "000400000000030800040d0000000100060400000000",
            ),
        ] {
            assert_eq!(hex(&user_data(set, family)), expected.replace(' ', ""), "{set:?}");
        }
    }
}
