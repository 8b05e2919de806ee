//! A transaction as one nfnetlink batch.
//!
//! The kernel applies a batch as a whole or not at all. Every message has a sequence number of its
//! own, by which a refusal names its step.

use core::ops::Range;

use evenkeel_nft::{
    ChainId, Change, Config, Create, Family, Remove, SetId, Transaction, Verb, fixed_chains, rules,
    text,
};

use super::{
    super::{
        Result,
        message::{Writer, flags},
    },
    Ownership, SUBSYSTEM, element, family_number, kind, rule,
    set::{self, COUNTER},
};

pub(super) const BATCH_BEGIN: (u8, u8) = (0, 0x10);
pub(super) const BATCH_END: (u8, u8) = (0, 0x11);
const BATCH_GENERATION: u16 = 1;

const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;

pub(super) const CHAIN_TABLE: u16 = 1;
pub(super) const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const ACCEPT: u32 = 1;

pub(super) const RULE_TABLE: u16 = 1;
pub(super) const RULE_CHAIN: u16 = 2;
pub(super) const RULE_EXPRESSIONS: u16 = 4;

const OBJECT_TABLE: u16 = 1;
const OBJECT_NAME: u16 = 2;
const OBJECT_TYPE: u16 = 3;
const OBJECT_DATA: u16 = 4;
const COUNTER_BYTES: u16 = 1;
const COUNTER_PACKETS: u16 = 2;

/// What one message of a batch does. Indexes are into the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Begin,
    ReplaceTable(Family),
    Chain(Family, ChainId),
    Set(Family, SetId),
    /// The rule of the chain at this place.
    Rule(Family, ChainId, usize),
    Counter(usize),
    /// Changes of elements of one set, all of one verb.
    Elements(Range<usize>),
    Remove(usize),
    End,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    /// By sequence number, from `first` on.
    pub(super) steps: Vec<Step>,
    pub(super) first: u32,
}

/// How to encode, beside what.
#[derive(Debug, Clone)]
pub(super) struct Options<'a> {
    pub(super) config: &'a Config,
    pub(super) ownership: Ownership,
    pub(super) first: u32,
    /// The batch is refused unless the ruleset has this generation.
    pub(super) generation: Option<u32>,
    /// These changes get a message each, to find out which one is refused.
    pub(super) apart: Range<usize>,
}

pub(super) fn encode(transaction: &Transaction, options: &Options<'_>) -> Result<Batch> {
    // An element of an IPv4 endpoint takes 44 bytes, one of IPv6 64.
    let capacity = 4_096 + 64 * transaction.elements.len();
    let mut encoder =
        Encoder { writer: Writer::with_capacity(capacity), steps: Vec::new(), last: 0, options };
    encoder.begin();
    for (index, create) in transaction.create.iter().enumerate() {
        encoder.create(index, create);
    }
    encoder.elements(&transaction.elements);
    for (index, remove) in transaction.remove.iter().enumerate() {
        encoder.remove(index, remove);
    }
    encoder.end();
    let Encoder { writer, steps, .. } = encoder;
    Ok(Batch { bytes: writer.finish()?, steps, first: options.first })
}

/// Writes the attributes of a chain, as the kernel lists them.
pub(super) fn write_chain(writer: &mut Writer, table: &str, chain: ChainId) {
    writer.string(CHAIN_TABLE, table);
    writer.display(CHAIN_NAME, &chain);
    if let Some(at) = chain.hook() {
        let hook = writer.nest(CHAIN_HOOK);
        writer.be32(HOOK_NUMBER, at.number);
        writer.bytes(HOOK_PRIORITY, &at.priority.to_be_bytes());
        writer.end_nest(hook);
        writer.be32(CHAIN_POLICY, ACCEPT);
        writer.string(CHAIN_TYPE, "nat");
    }
}

struct Encoder<'a> {
    writer: Writer,
    steps: Vec<Step>,
    /// Where the last message starts.
    last: usize,
    options: &'a Options<'a>,
}

// === impl Encoder ===

impl Encoder<'_> {
    /// The generation that a commit leads to comes back to the sender of a batch that asks for it.
    fn begin(&mut self) {
        let generation = self.options.generation;
        let header = (0, SUBSYSTEM.into());
        self.message(Step::Begin, BATCH_BEGIN, flags::ECHO, header, |writer| {
            if let Some(generation) = generation {
                writer.be32(BATCH_GENERATION, generation);
            }
        });
    }

    /// The last message before the end asks for the acknowledgement.
    fn end(&mut self) {
        self.writer.add_flags(self.last, flags::ACK);
        self.message(Step::End, BATCH_END, 0, (0, SUBSYSTEM.into()), |_| {});
    }

    fn create(&mut self, index: usize, create: &Create) {
        match create {
            Create::Table(family) => self.table(*family),
            Create::Chain(family, chain) => {
                self.chain(*family, *chain);
                self.rules(*family, *chain);
            }
            Create::Counter(family, name) => {
                let table = &self.options.config.table;
                self.nft(Step::Counter(index), kind::NEW_OBJECT, *family, |writer| {
                    writer.string(OBJECT_TABLE, table);
                    writer.string(OBJECT_NAME, name);
                    writer.be32(OBJECT_TYPE, COUNTER);
                    let data = writer.nest(OBJECT_DATA);
                    writer.be64(COUNTER_BYTES, 0);
                    writer.be64(COUNTER_PACKETS, 0);
                    writer.end_nest(data);
                });
            }
        }
    }

    /// Creating a table that exists changes nothing, so the deletion always finds one.
    fn table(&mut self, family: Family) {
        let config = self.options.config;
        let step = || Step::ReplaceTable(family);
        let flags = self.options.ownership.flags();
        self.nft(step(), kind::NEW_TABLE, family, |writer| {
            writer.string(TABLE_NAME, &config.table);
        });
        self.nft(step(), kind::DELETE_TABLE, family, |writer| {
            writer.string(TABLE_NAME, &config.table);
        });
        self.nft(step(), kind::NEW_TABLE, family, |writer| {
            writer.string(TABLE_NAME, &config.table);
            writer.be32(TABLE_FLAGS, flags);
        });
        let chains = fixed_chains(config, family);
        for chain in &chains {
            self.chain(family, *chain);
        }
        for (id, set) in (1..).zip(text::sets(config)) {
            self.nft(Step::Set(family, set), kind::NEW_SET, family, |writer| {
                set::write(writer, &config.table, set, family);
                writer.be32(set::ID, id);
            });
        }
        for chain in &chains {
            self.rules(family, *chain);
        }
    }

    fn chain(&mut self, family: Family, chain: ChainId) {
        let table = &self.options.config.table;
        self.nft(Step::Chain(family, chain), kind::NEW_CHAIN, family, |writer| {
            write_chain(writer, table, chain);
        });
    }

    fn rules(&mut self, family: Family, chain: ChainId) {
        let config = self.options.config;
        for (place, rule) in rules(chain, config, family).iter().enumerate() {
            self.nft(Step::Rule(family, chain, place), kind::NEW_RULE, family, |writer| {
                writer.string(RULE_TABLE, &config.table);
                writer.display(RULE_CHAIN, &chain);
                let expressions = writer.nest(RULE_EXPRESSIONS);
                rule::write(writer, rule, family);
                writer.end_nest(expressions);
            });
        }
    }

    fn elements(&mut self, changes: &[Change]) {
        let of = |change: &Change| (change.verb, change.element.family, change.element.set);
        let mut start = 0;
        for run in changes.chunk_by(|one, next| of(one) == of(next)) {
            let end = start + run.len();
            while start < end {
                start = self.run(changes, start..end);
            }
        }
    }

    /// One message of as many changes of a run as fit; returns where the next begins.
    fn run(&mut self, changes: &[Change], run: Range<usize>) -> usize {
        let Change { verb, element: first } = &changes[run.start];
        let apart = &self.options.apart;
        let table = &self.options.config.table;
        let message = match verb {
            Verb::Add => kind::NEW_ELEMENT,
            Verb::Delete => kind::DELETE_ELEMENT,
        };
        let mut end = run.start;
        // The range is known only afterwards.
        self.nft(Step::Elements(run.clone()), message, first.family, |writer| {
            writer.string(element::LIST_TABLE, table);
            writer.string(element::LIST_SET, first.set.name());
            let list = writer.nest(element::LIST_ELEMENTS);
            let full = writer.len() + element::FULL;
            while end < run.end && writer.len() < full {
                element::write(writer, &changes[end].element, *verb);
                end += 1;
                if apart.contains(&(end - 1)) || apart.start == end {
                    break;
                }
            }
            writer.end_nest(list);
        });
        if let Some(Step::Elements(range)) = self.steps.last_mut() {
            range.end = end;
        }
        end
    }

    fn remove(&mut self, index: usize, remove: &Remove) {
        let table = &self.options.config.table;
        let step = Step::Remove(index);
        match remove {
            Remove::Chain(family, chain) => {
                self.nft(step, kind::DELETE_CHAIN, *family, |writer| {
                    writer.string(CHAIN_TABLE, table);
                    writer.display(CHAIN_NAME, chain);
                });
            }
            Remove::Counter(family, name) => {
                self.nft(step, kind::DELETE_OBJECT, *family, |writer| {
                    writer.string(OBJECT_TABLE, table);
                    writer.string(OBJECT_NAME, name);
                    writer.be32(OBJECT_TYPE, COUNTER);
                });
            }
        }
    }

    fn nft(&mut self, step: Step, kind: u8, family: Family, write: impl FnOnce(&mut Writer)) {
        let flags = match kind {
            // Rules go behind those that are there.
            kind::NEW_RULE => flags::CREATE | flags::APPEND,
            // An element that exists with other data is refused in any case, one with the same data
            // only this way: either shows that the value is not what the kernel has.
            kind::NEW_ELEMENT => flags::CREATE | flags::EXCL,
            kind::DELETE_TABLE
            | kind::DELETE_CHAIN
            | kind::DELETE_OBJECT
            | kind::DELETE_ELEMENT => 0,
            _ => flags::CREATE,
        };
        self.message(step, (SUBSYSTEM, kind), flags, (family_number(family), 0), write);
    }

    fn message(
        &mut self,
        step: Step,
        kind: (u8, u8),
        flags: u16,
        header: (u8, u16),
        write: impl FnOnce(&mut Writer),
    ) {
        let sequence = self.options.first.wrapping_add(self.steps.len() as u32);
        self.last = self.writer.len();
        let message = self.writer.begin_netfilter(kind, flags | flags::REQUEST, sequence, header);
        write(&mut self.writer);
        self.writer.end(message);
        self.steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use evenkeel_model::{Backend, Protocol};
    use evenkeel_nft::{By, Data, Element, Key, Lane};

    use super::*;
    use crate::netlink::{attribute::Messages, message::MAX_PAYLOAD};

    fn endpoints(n: u32) -> Transaction {
        let elements = (0..n).map(|n| {
            let ip = IpAddr::V4(Ipv4Addr::from_bits(n));
            let key = Key::new().address(ip).protocol(Protocol::Tcp).port(80).number(1);
            let set = SetId::Endpoints(By::Address, Lane::Main);
            let data = Data::Backend(Backend { ip, port: 8_080 });
            Change { verb: Verb::Add, element: Element::new(Family::Ipv4, set, key, data) }
        });
        Transaction { elements: elements.collect(), ..Transaction::default() }
    }

    fn encoded(transaction: &Transaction, apart: Range<usize>) -> Batch {
        let config = Config::default();
        let ownership = Ownership::Shared;
        let options = Options { config: &config, ownership, first: 7, generation: None, apart };
        encode(transaction, &options).unwrap()
    }

    /// The numbers of elements in the messages of a batch, checked for its form.
    fn elements(batch: &Batch) -> Vec<usize> {
        let messages: Vec<_> = Messages::new(&batch.bytes).map(Result::unwrap).collect();
        assert_eq!(messages.len(), batch.steps.len());
        let (last, acks) = (messages.len() - 2, |flags| flags & flags::ACK != 0);
        let mut counts = Vec::new();
        for (n, message) in messages.iter().enumerate() {
            assert_eq!(message.sequence as usize, 7 + n);
            assert_eq!(acks(message.flags), n == last);
            let lists = message.netfilter().unwrap().1.map(Result::unwrap);
            for list in lists.filter(|list| list.kind == element::LIST_ELEMENTS) {
                assert!(list.payload.len() <= MAX_PAYLOAD);
                counts.push(list.nested().map(Result::unwrap).count());
            }
        }
        counts
    }

    #[test]
    fn many_elements_fill_few_messages() {
        let n = 250_000;
        let transaction = endpoints(n);
        let start = std::time::Instant::now();
        let batch = encoded(&transaction, 0..0);
        println!("{n} elements: {:?}, {} bytes", start.elapsed(), batch.bytes.len());
        let counts = elements(&batch);
        assert_eq!(counts.iter().sum::<usize>(), n as usize);
        assert!(counts[..counts.len() - 1].iter().all(|count| *count > 1_400), "{counts:?}");
        // Their steps follow one another.
        let end = batch.steps.iter().fold(0, |end, step| match step {
            Step::Elements(range) => {
                assert_eq!(range.start, end);
                range.end
            }
            _ => end,
        });
        assert_eq!(end, n as usize);
    }

    #[test]
    fn changes_apart_have_a_message_each() {
        assert_eq!(elements(&encoded(&endpoints(10), 0..0)), [10]);
        assert_eq!(elements(&encoded(&endpoints(10), 4..7)), [4, 1, 1, 1, 3]);
        assert_eq!(elements(&encoded(&endpoints(3), 0..3)), [1, 1, 1]);
    }
}
