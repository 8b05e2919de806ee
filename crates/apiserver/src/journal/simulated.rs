//! A simulated disk that keeps what was synced and does its worst with the rest.
//!
//! At a power failure each unsynced write survives or not by sectors of 512 bytes, in any order,
//! sizes may survive without contents, and each unsynced creation, rename and removal survives or
//! not. A failed sync has written some of the data and forgets the rest, which reads still see: the
//! next sync succeeds and writes nothing, as on Linux.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::files::{File, Files};

const SECTOR: usize = 512;

/// Random numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Chance(pub(super) u64);

/// A handle; clones share the disk.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<Inner>>);

#[derive(Debug)]
pub(super) struct Handle {
    disk: Disk,
    content: usize,
}

/// Injected faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// The operation at which the power fails, counted from now.
    pub(super) cut_at: Option<u64>,
    /// One in this many syncs fails; 0 for none.
    pub(super) failing_syncs: u64,
    /// Maximum bytes in all files together.
    pub(super) capacity: Option<usize>,
    /// Syncs of contents report success but do nothing.
    pub(super) lying: bool,
    /// Syncs of names report success but do nothing.
    pub(super) lying_names: bool,
}

#[derive(Debug)]
struct Inner {
    chance: Chance,
    contents: Vec<Content>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<Naming>,
    faults: Faults,
    n_operations: u64,
    is_cut: bool,
    n_failed_syncs: u64,
}

#[derive(Debug, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Clone, Debug)]
enum Naming {
    Link(String, usize),
    Unlink(String),
    Rename(String, String, usize),
}

// === impl Chance ===

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// Which of `n` survive: none, all, the first, the last, or any.
    fn survivors(&mut self, n: usize) -> Vec<bool> {
        let cut = self.below(n as u64 + 1) as usize;
        let mode = self.below(5);
        (0..n)
            .map(|i| match mode {
                0 => false,
                1 => true,
                2 => i < cut,
                3 => i >= cut,
                _ => self.one_in(2),
            })
            .collect()
    }
}

// === impl Disk ===

impl Disk {
    pub(super) fn new(seed: u64) -> Disk {
        Disk(Arc::new(Mutex::new(Inner {
            chance: Chance(seed),
            contents: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            faults: Faults::default(),
            n_operations: 0,
            is_cut: false,
            n_failed_syncs: 0,
        })))
    }

    /// Sets the faults from now on.
    pub(super) fn set(&self, faults: Faults) {
        let mut inner = self.0.lock();
        inner.faults = faults;
        inner.n_operations = 0;
    }

    /// Limits the space to what is in use now, or removes the limit.
    pub(super) fn set_full(&self, full: bool) {
        let mut inner = self.0.lock();
        inner.faults.capacity = full.then(|| inner.used());
    }

    pub(super) fn is_cut(&self) -> bool {
        self.0.lock().is_cut
    }

    pub(super) fn n_failed_syncs(&self) -> u64 {
        self.0.lock().n_failed_syncs
    }

    /// Restores power after a failure: what was not synced may be lost.
    pub(super) fn power_cut(&self) {
        let inner = &mut *self.0.lock();
        inner.is_cut = false;
        for content in &mut inner.contents {
            content.lose(&mut inner.chance);
            content.seen.clone_from(&content.durable);
        }
        let namings = std::mem::take(&mut inner.unsynced_names);
        let survivors = inner.chance.survivors(namings.len());
        for (naming, _) in namings.iter().zip(survivors).filter(|(_, survives)| *survives) {
            naming.apply(&mut inner.durable_names);
        }
        inner.names.clone_from(&inner.durable_names);
    }

    /// The process was killed: the next one sees all writes, synced or not.
    pub(super) fn kill(&self) {
        self.0.lock().is_cut = false;
    }

    /// Corrupts a byte.
    pub(super) fn flip(&self, name: &str, offset: usize) {
        let inner = &mut *self.0.lock();
        let content = &mut inner.contents[inner.names[name]];
        content.seen[offset] ^= 0x40;
        content.durable.clone_from(&content.seen);
    }

    fn operation(&self) -> io::Result<MutexGuard<'_, Inner>> {
        let mut inner = self.0.lock();
        inner.n_operations += 1;
        if inner.faults.cut_at == Some(inner.n_operations) {
            inner.is_cut = true;
        }
        if inner.is_cut { Err(io::Error::other("the power is out")) } else { Ok(inner) }
    }

    fn naming(&self, naming: Naming) -> io::Result<()> {
        let inner = &mut *self.operation()?;
        naming.apply(&mut inner.names);
        inner.unsynced_names.push(naming);
        Ok(())
    }
}

impl Files for Disk {
    type File = Handle;

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.operation()?.names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Handle> {
        let content = {
            let mut inner = self.operation()?;
            inner.contents.push(Content::default());
            inner.contents.len() - 1
        };
        self.naming(Naming::Link(name.to_owned(), content))?;
        Ok(Handle { disk: self.clone(), content })
    }

    fn open(&self, name: &str) -> io::Result<Handle> {
        let found = self.operation()?.names.get(name).copied();
        let content = found.ok_or(io::Error::from(ErrorKind::NotFound))?;
        Ok(Handle { disk: self.clone(), content })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let content = self.operation()?.names.get(from).copied();
        let content = content.ok_or(io::Error::from(ErrorKind::NotFound))?;
        self.naming(Naming::Rename(from.to_owned(), to.to_owned(), content))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.naming(Naming::Unlink(name.to_owned()))
    }

    fn sync_names(&self) -> io::Result<()> {
        let inner = &mut *self.operation()?;
        if inner.faults.lying_names {
            return Ok(());
        }
        if inner.chance.one_in(inner.faults.failing_syncs) {
            inner.n_failed_syncs += 1;
            return Err(io::Error::other("the directory did not sync"));
        }
        inner.unsynced_names.clear();
        inner.durable_names.clone_from(&inner.names);
        Ok(())
    }

    fn nonce(&self) -> u64 {
        self.0.lock().chance.next()
    }

    fn path(&self, name: &str) -> String {
        name.to_owned()
    }
}

impl File for Handle {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.operation()?.contents[self.content].seen.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let inner = self.disk.operation()?;
        let seen = inner.contents[self.content].seen.get(offset as usize..).unwrap_or_default();
        let n = seen.len().min(buffer.len());
        buffer[..n].copy_from_slice(&seen[..n]);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let inner = &mut *self.disk.operation()?;
        let end = offset as usize + bytes.len();
        if let Some(missing) = inner.missing(self.content, end) {
            let most = bytes.len().saturating_sub(missing);
            let part = inner.chance.below(most as u64 + 1) as usize;
            inner.contents[self.content].write(offset as usize, &bytes[..part]);
            return Err(ErrorKind::StorageFull.into());
        }
        inner.contents[self.content].write(offset as usize, bytes);
        Ok(())
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        let inner = &mut *self.disk.operation()?;
        let content = &mut inner.contents[self.content];
        content.unsynced.push(Piece::Truncate(size as usize));
        content.seen.resize(size as usize, 0);
        Ok(())
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        let inner = &mut *self.disk.operation()?;
        let before = inner.contents[self.content].seen.len();
        let (missing, size) = (inner.missing(self.content, size as usize), size as usize);
        let more = size.saturating_sub(before).saturating_sub(missing.unwrap_or(0));
        let there = match missing {
            None => size,
            Some(_) => before + inner.chance.below(more as u64 + 1) as usize,
        };
        let content = &mut inner.contents[self.content];
        content.unsynced.push(Piece::Truncate(there));
        content.seen.resize(there, 0);
        missing.map_or(Ok(()), |_| Err(ErrorKind::StorageFull.into()))
    }

    fn sync(&self) -> io::Result<()> {
        let inner = &mut *self.disk.operation()?;
        if inner.faults.lying {
            return Ok(());
        }
        let content = &mut inner.contents[self.content];
        if inner.chance.one_in(inner.faults.failing_syncs) {
            inner.n_failed_syncs += 1;
            content.lose(&mut inner.chance);
            return Err(io::Error::other("the file did not sync"));
        }
        for piece in std::mem::take(&mut content.unsynced) {
            piece.apply(&mut content.durable);
        }
        Ok(())
    }
}

// === impl Inner ===

impl Inner {
    fn used(&self) -> usize {
        self.names.values().map(|content| self.contents[*content].seen.len()).sum()
    }

    /// The number of bytes missing for a file to reach `end`.
    fn missing(&self, content: usize, end: usize) -> Option<usize> {
        let capacity = self.faults.capacity?;
        let growth = end.saturating_sub(self.contents[content].seen.len());
        let missing = (self.used() + growth).saturating_sub(capacity);
        (growth > 0 && missing > 0).then_some(missing)
    }
}

// === impl Content ===

impl Content {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let n = (SECTOR - (offset + at) % SECTOR).min(bytes.len() - at);
            let piece = Piece::Write(offset + at, bytes[at..at + n].to_vec());
            piece.apply(&mut self.seen);
            self.unsynced.push(piece);
            at += n;
        }
    }

    /// Some unsynced data becomes durable, the rest never will.
    fn lose(&mut self, chance: &mut Chance) {
        let pieces = std::mem::take(&mut self.unsynced);
        let survivors = chance.survivors(pieces.len());
        for (piece, _) in pieces.iter().zip(survivors).filter(|(_, survives)| *survives) {
            piece.apply(&mut self.durable);
        }
        if self.durable.len() < self.seen.len() && chance.one_in(2) {
            self.durable.resize(self.seen.len(), 0);
        }
    }
}

impl Piece {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Piece::Write(offset, bytes) => {
                let end = offset + bytes.len();
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[*offset..end].copy_from_slice(bytes);
            }
            Piece::Truncate(size) => to.resize(*size, 0),
        }
    }
}

impl Naming {
    fn apply(&self, to: &mut BTreeMap<String, usize>) {
        match self {
            Naming::Link(name, content) => {
                to.insert(name.clone(), *content);
            }
            Naming::Unlink(name) => {
                to.remove(name);
            }
            Naming::Rename(from, name, content) => {
                to.remove(from);
                to.insert(name.clone(), *content);
            }
        }
    }
}
