//! The ruleset's generation, and whose a table is.
//!
//! Every commit in the namespace, by whomever, raises the generation.

use evenkeel_nft::Family;
use rustix::io::Errno;

use super::{
    super::{
        Error, Result,
        attribute::{Attributes, Message},
        message::{OpenMessage, Writer, flags},
        socket::Reply,
    },
    Nftables, Ownership, SUBSYSTEM,
    encode::{BATCH_BEGIN, BATCH_END},
    family_number, kind,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    pub id: u32,
    /// The process that asked, not the one that committed: the kernel fills in the caller of a request
    /// and, in an event, the committer.
    pub pid: u32,
    pub process: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Differs for a table that was deleted and created again.
    pub handle: u64,
    pub flags: u32,
    /// The port of the socket that owns it.
    pub owner: Option<u32>,
}

pub(super) const OWNER: u32 = 0x2;
pub(super) const PERSIST: u32 = 0x4;

const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const TABLE_HANDLE: u16 = 4;
const TABLE_OWNER: u16 = 7;

const GENERATION_ID: u16 = 1;
const GENERATION_PID: u16 = 2;
const GENERATION_PROCESS: u16 = 3;

// === impl Table ===

impl Table {
    /// Left behind by an owner that is gone: a new socket may adopt it.
    pub fn is_orphan(&self) -> bool {
        self.flags & (OWNER | PERSIST) == PERSIST
    }
}

// === impl Nftables ===

impl Nftables {
    pub fn generation(&mut self) -> Result<Generation> {
        let mut found = None;
        self.get(
            |writer, sequence| {
                let message = begin(writer, kind::GET_GENERATION, 0, sequence);
                writer.end(message);
            },
            |message| {
                found = Some(generation(&message)?);
                Ok(())
            },
        )?;
        found.ok_or(Error::NoAnswer)
    }

    /// None if there is no such table.
    pub fn table(&mut self, family: Family, name: &str) -> Result<Option<Table>> {
        let mut found = None;
        let outcome = self.get(
            |writer, sequence| {
                let message = begin(writer, kind::GET_TABLE, family_number(family), sequence);
                writer.string(TABLE_NAME, name);
                writer.end(message);
            },
            |message| {
                found = Some(table(message.netfilter()?.1)?);
                Ok(())
            },
        );
        match outcome {
            Err(Error::Refused { errno: Errno::NOENT, .. }) => Ok(None),
            outcome => outcome.map(|()| found),
        }
    }

    /// Takes a table without an owner for this socket, as it is. A table that has one is refused.
    pub fn adopt(&mut self, family: Family, name: &str) -> Result<()> {
        let flags = Some(Ownership::OwnedPersistent.flags());
        self.change_tables(&[(kind::NEW_TABLE, family, name, flags)])?.pop().unwrap_or(Ok(()))
    }

    /// Deletes a table; false if there is none.
    pub fn delete_table(&mut self, family: Family, name: &str) -> Result<bool> {
        let request = (kind::DELETE_TABLE, family, name, None);
        match self.change_tables(&[request])?.pop() {
            Some(Err(Error::Refused { errno: Errno::NOENT, .. })) => Ok(false),
            outcome => outcome.unwrap_or(Ok(())).map(|()| true),
        }
    }

    /// Whether this kernel knows owners of tables that outlive their socket. Nothing is changed: the
    /// batch that asks ends in a request that is always refused.
    pub fn supports_ownership(&mut self) -> Result<bool> {
        let flags = Some(Ownership::OwnedPersistent.flags());
        let outcomes = self.change_tables(&[
            (kind::NEW_TABLE, Family::Ipv4, "evenkeel-probe", flags),
            (kind::DELETE_TABLE, Family::Ipv4, "evenkeel-probe-missing", None),
        ])?;
        match outcomes.into_iter().next() {
            Some(Err(Error::Refused { errno: Errno::PERM, sequence })) => {
                Err(Error::Refused { errno: Errno::PERM, sequence })
            }
            outcome => Ok(matches!(outcome, Some(Ok(())))),
        }
    }

    /// Sends a batch of requests about tables (kind, family, name, flags); returns the answer to each.
    fn change_tables(
        &mut self,
        requests: &[(u8, Family, &str, Option<u32>)],
    ) -> Result<Vec<Result<()>>> {
        let count = requests.len() as u32;
        let first = self.socket.sequences(count + 2);
        let mut writer = Writer::default();
        let around = (0, SUBSYSTEM.into());
        let begin = writer.begin_netfilter(BATCH_BEGIN, flags::REQUEST, first, around);
        writer.end(begin);
        for (offset, (kind, family, name, table_flags)) in (1..).zip(requests) {
            let create = if *kind == kind::NEW_TABLE { flags::CREATE } else { 0 };
            let flags = flags::REQUEST | flags::ACK | create;
            let header = (family_number(*family), 0);
            let sequence = first.wrapping_add(offset);
            let message = writer.begin_netfilter((SUBSYSTEM, *kind), flags, sequence, header);
            writer.string(TABLE_NAME, name);
            if let Some(flags) = table_flags {
                writer.be32(TABLE_FLAGS, *flags);
            }
            writer.end(message);
        }
        let last = first.wrapping_add(count + 1);
        let end = writer.begin_netfilter(BATCH_END, flags::REQUEST, last, around);
        writer.end(end);

        let replies = self.socket.batch(&writer.finish()?, |_| Ok(()))?;
        let outcome = |sequence: u32| {
            let of = replies.iter().filter(|reply| reply.sequence == sequence);
            of.map(Reply::outcome).reduce(Result::and)
        };
        // The batch as a whole may be refused under its first number.
        outcome(first).unwrap_or(Ok(()))?;
        let answers = (1..=count).map(|offset| outcome(first.wrapping_add(offset)));
        answers.map(|answer| answer.ok_or(Error::NoAnswer)).collect()
    }

    /// A request for one object. The kernel acknowledges it after its answer.
    fn get(
        &mut self,
        write: impl FnOnce(&mut Writer, u32),
        each: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        self.socket.request(write, each)
    }
}

fn begin(writer: &mut Writer, kind: u8, family: u8, sequence: u32) -> OpenMessage {
    writer.begin_netfilter((SUBSYSTEM, kind), flags::REQUEST | flags::ACK, sequence, (family, 0))
}

pub(super) fn generation(message: &Message<'_>) -> Result<Generation> {
    let mut generation = Generation { id: 0, pid: 0, process: String::new() };
    for attribute in message.netfilter()?.1 {
        let attribute = attribute?;
        match attribute.kind {
            GENERATION_ID => generation.id = attribute.be32()?,
            GENERATION_PID => generation.pid = attribute.be32()?,
            GENERATION_PROCESS => generation.process = attribute.string()?.to_owned(),
            _ => {}
        }
    }
    Ok(generation)
}

fn table(attributes: Attributes<'_>) -> Result<Table> {
    let mut table = Table { handle: 0, flags: 0, owner: None };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            TABLE_HANDLE => table.handle = attribute.be64()?,
            TABLE_FLAGS => table.flags = attribute.be32()?,
            TABLE_OWNER => table.owner = Some(attribute.be32()?),
            _ => {}
        }
    }
    Ok(table)
}
