//! Named counters.

use evenkeel_nft::Family;

use super::{
    super::{Result, attribute::Message, message::flags},
    Nftables, SUBSYSTEM, family_number, kind,
    set::COUNTER,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    pub name: String,
    pub packets: u64,
    pub bytes: u64,
}

const TABLE: u16 = 1;
const NAME: u16 = 2;
const TYPE: u16 = 3;
const DATA: u16 = 4;
const COUNTER_BYTES: u16 = 1;
const COUNTER_PACKETS: u16 = 2;

// === impl Nftables ===

impl Nftables {
    /// All named counters of a table.
    pub fn counters(&mut self, family: Family, table: &str) -> Result<Vec<Counter>> {
        let header = (family_number(family), 0);
        self.socket.collect(
            |writer, sequence| {
                let flags = flags::REQUEST | flags::DUMP;
                let kind = (SUBSYSTEM, kind::GET_OBJECT);
                let message = writer.begin_netfilter(kind, flags, sequence, header);
                writer.string(TABLE, table);
                writer.be32(TYPE, COUNTER);
                writer.end(message);
            },
            |message, counters| {
                counters.extend(counter(&message, table)?);
                Ok(())
            },
        )
    }
}

/// None for an object of another table or kind, should the kernel not have filtered.
fn counter(message: &Message<'_>, table: &str) -> Result<Option<Counter>> {
    let mut counter = Counter { name: String::new(), packets: 0, bytes: 0 };
    for attribute in message.netfilter()?.1 {
        let attribute = attribute?;
        match attribute.kind {
            TABLE if attribute.string()? != table => return Ok(None),
            TYPE if attribute.be32()? != COUNTER => return Ok(None),
            NAME => counter.name = attribute.string()?.to_owned(),
            DATA => {
                for value in attribute.nested() {
                    let value = value?;
                    match value.kind {
                        COUNTER_BYTES => counter.bytes = value.be64()?,
                        COUNTER_PACKETS => counter.packets = value.be64()?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(Some(counter))
}
