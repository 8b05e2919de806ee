//! The header of a file: its type, format, and position in the journal.

use evenkeel_store::{journal::JournalError, object::Revision};

use super::{
    codec::{Rest, Unreadable},
    files::{File, failed},
    frame::sum,
};

/// The format version written.
pub(super) const VERSION: u32 = 2;

const SEGMENT: [u8; 8] = *b"EKJOURNL";
const SNAPSHOT: [u8; 8] = *b"EKSNAPSH";
/// Magic, version, length: the same in every format.
const FIXED: usize = 16;
const LONGEST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Segment,
    Snapshot,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) version: u32,
    pub(super) number: u64,
    pub(super) salt: u64,
    /// Segments: where the previous one ends. Anything after that was never acknowledged.
    pub(super) previous_end: u64,
    /// Snapshots: the revision of the objects. Segments: the last one before this file.
    pub(super) revision: Revision,
    /// By number, as in `configmaps`, `deployments.apps`: those that the program was built with.
    pub(super) names: Vec<Box<str>>,
}

impl Header {
    /// The bytes, a multiple of 8.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.extend_from_slice(match self.kind {
            Kind::Segment => &SEGMENT,
            Kind::Snapshot => &SNAPSHOT,
        });
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in [self.number, self.salt, self.previous_end, self.revision] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&(self.names.len() as u32).to_le_bytes());
        for name in &self.names {
            out.extend_from_slice(&(name.len() as u16).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
        }
        let length = (out.len() + 4).next_multiple_of(8);
        out[12..16].copy_from_slice(&(length as u32).to_le_bytes());
        out.resize(length - 4, 0);
        let sum = sum(0, &out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads the header, and the offset of what follows.
    pub(super) fn read(file: &impl File, path: &str) -> Result<(Header, u64), JournalError> {
        let mut fixed = [0; FIXED];
        let there = file.read_at(&mut fixed, 0).map_err(failed(path.to_owned()))?;
        let mut rest = Rest(&fixed[..there]);
        let (kind, version, length) =
            kind_and_version(&mut rest).map_err(|e| e.at(path.to_owned(), 0))?;
        if version > VERSION {
            let path = path.to_owned();
            return Err(JournalError::Newer { path, found: version, known: VERSION });
        }
        let mut bytes = vec![0; length];
        let there = file.read_at(&mut bytes, 0).map_err(failed(path.to_owned()))?;
        let header = parsed(kind, version, &bytes[..there], length);
        Ok((header.map_err(|e| e.at(path.to_owned(), 0))?, length as u64))
    }
}

fn kind_and_version(rest: &mut Rest<'_>) -> Result<(Kind, u32, usize), Unreadable> {
    let kind = match rest.take(8)?.try_into() {
        Ok(SEGMENT) => Kind::Segment,
        Ok(SNAPSHOT) => Kind::Snapshot,
        _ => return Err(Unreadable("this is no file of a journal")),
    };
    let version = rest.four()?;
    let length = rest.four()? as usize;
    if !(FIXED..=LONGEST).contains(&length) && version <= VERSION {
        return Err(Unreadable("a header of an impossible length"));
    }
    Ok((kind, version, length))
}

fn parsed(kind: Kind, version: u32, bytes: &[u8], length: usize) -> Result<Header, Unreadable> {
    let end = length - 4;
    let own = Rest(bytes.get(end..).unwrap_or_default()).four()?;
    if own != sum(0, &bytes[..end]) {
        return Err(Unreadable("a header with a wrong sum"));
    }
    let mut rest = Rest(&bytes[FIXED..end]);
    let (number, salt) = (rest.eight()?, rest.eight()?);
    let (previous_end, revision) = (rest.eight()?, rest.eight()?);
    let mut names = Vec::new();
    for _ in 0..rest.four()? {
        let length = usize::from(rest.two()?);
        let name = str::from_utf8(rest.take(length)?);
        names.push(name.map_err(|_| Unreadable("a name that is not UTF-8"))?.into());
    }
    Ok(Header { kind, version, number, salt, previous_end, revision, names })
}
