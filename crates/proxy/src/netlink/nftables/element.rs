//! Elements of sets and maps, to the kernel and from it.

use evenkeel_model::Backend;
use evenkeel_nft::{Data, DataType, Element, Family, Key, SetId, Verb, Verdict as NftVerdict};

use super::{
    super::{
        Error, Result,
        attribute::Attribute,
        message::{MAX_PAYLOAD, Writer},
    },
    expression::{
        DATA_VALUE, DATA_VERDICT, DROP, GOTO, LIST_ELEMENT, VERDICT_CHAIN, VERDICT_CODE, Verdict,
        value_attribute, verdict_attribute,
    },
    list::ChainNames,
};

// Attributes of a list of elements and of an element.
pub(super) const LIST_TABLE: u16 = 1;
pub(super) const LIST_SET: u16 = 2;
pub(super) const LIST_ELEMENTS: u16 = 3;
const KEY: u16 = 1;
const DATA: u16 = 2;
const OBJECT: u16 = 9;
const KEY_END: u16 = 10;

/// No element is longer: two keys, and the name of a chain or a counter.
const LONGEST: usize = 512;

/// Elements fill a message as long as one more fits into the list's 16-bit length.
pub(super) const FULL: usize = MAX_PAYLOAD - LONGEST;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    Element(Element),
    /// Some other key, chain or kind of data: not written by this program.
    Foreign,
}

pub(super) fn write(writer: &mut Writer, element: &Element, verb: Verb) {
    let nest = writer.nest(LIST_ELEMENT);
    value_attribute(writer, KEY, element.key.as_bytes());
    if element.set.has_ranges() {
        value_attribute(writer, KEY_END, element.end.as_bytes());
    }
    if verb == Verb::Add {
        write_data(writer, &element.data);
    }
    writer.end_nest(nest);
}

fn write_data(writer: &mut Writer, data: &Data) {
    match data {
        Data::None => {}
        Data::Counter(name) => writer.string(OBJECT, name),
        Data::Verdict(NftVerdict::Drop) => {
            verdict_attribute(writer, DATA, Verdict::<&str>::Drop);
        }
        Data::Verdict(NftVerdict::Goto(chain)) => {
            verdict_attribute(writer, DATA, Verdict::Goto(chain));
        }
        Data::Backend(_) | Data::Scratch(_) => {
            let register = data.register().unwrap_or_default();
            value_attribute(writer, DATA, register.as_bytes());
        }
    }
}

/// An element of `set` as the kernel lists it.
pub(super) fn read(
    element: &Attribute<'_>,
    set: SetId,
    family: Family,
    chains: &ChainNames,
) -> Result<Decoded> {
    let (mut key, mut end, mut data, mut object) = (None, None, None, None);
    for attribute in element.nested() {
        let attribute = attribute?;
        match attribute.kind {
            KEY => key = value(&attribute)?,
            KEY_END => end = value(&attribute)?,
            DATA => data = Some(attribute),
            OBJECT => object = Some(attribute.string()?),
            _ => {}
        }
    }
    let key = key.and_then(Key::from_bytes);
    let end = end.map_or(key, Key::from_bytes);
    let (Some(key), Some(end)) = (key, end) else { return Ok(Decoded::Foreign) };
    let data = match (set.data(), data) {
        (DataType::None, _) => Some(Data::None),
        (DataType::Counter, _) => object.map(|name| Data::Counter(name.into())),
        (_, None) => None,
        (DataType::Verdict, Some(data)) => verdict(&data, chains)?.map(Data::Verdict),
        (DataType::Backend, Some(data)) => {
            value(&data)?.and_then(|bytes| backend(bytes, family)).map(Data::Backend)
        }
        (DataType::Scratch, Some(data)) => {
            let number = value(&data)?.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            number.map(|bytes| Data::Scratch(u32::from_ne_bytes(bytes)))
        }
    };
    Ok(match data {
        Some(data) => Decoded::Element(Element { family, set, key, end, data }),
        None => Decoded::Foreign,
    })
}

fn backend(register: &[u8], family: Family) -> Option<Backend> {
    match Data::backend(register, family)? {
        Data::Backend(backend) => Some(backend),
        _ => None,
    }
}

fn value<'a>(data: &Attribute<'a>) -> Result<Option<&'a [u8]>> {
    for attribute in data.nested() {
        let attribute = attribute?;
        if attribute.kind == DATA_VALUE {
            return Ok(Some(attribute.payload));
        }
    }
    Ok(None)
}

/// None for a verdict that no element of these rulesets has.
fn verdict(data: &Attribute<'_>, chains: &ChainNames) -> Result<Option<NftVerdict>> {
    let mut nested = data.nested();
    let verdict = nested.next().ok_or(Error::Malformed("verdict"))??;
    if verdict.kind != DATA_VERDICT {
        return Ok(None);
    }
    let (mut code, mut chain) = (None, None);
    for attribute in verdict.nested() {
        let attribute = attribute?;
        match attribute.kind {
            VERDICT_CODE => code = Some(attribute.be32()?),
            VERDICT_CHAIN => chain = Some(attribute.string()?),
            _ => {}
        }
    }
    Ok(match (code, chain) {
        (Some(DROP), None) => Some(NftVerdict::Drop),
        (Some(GOTO), Some(chain)) => chains.get(chain).copied().map(NftVerdict::Goto),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_listed_is_read_or_refused(
            set in prop::sample::select(SetId::all().collect::<Vec<_>>()),
            parts in prop::collection::vec((0_u16..30, 0_u16..12, any::<[u8; 8]>()), 0..8),
            is_v4: bool,
        ) {
            let payload: Vec<u8> = parts
                .iter()
                .flat_map(|(length, kind, rest)| {
                    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), rest].concat()
                })
                .collect();
            let family = if is_v4 { Family::Ipv4 } else { Family::Ipv6 };
            let listed = Attribute { kind: LIST_ELEMENT, payload: &payload, is_nest: true };
            let _ = read(&listed, set, family, &ChainNames::default());
        }
    }
}
