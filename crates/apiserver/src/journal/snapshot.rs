//! Snapshots: the state at the oldest revision that watches can resume from, and the changes since.
//!
//! A snapshot is written beside the journal under an unfinished name, synced and renamed; only when
//! the rename is durable too are the superseded files removed. A crash at any point leaves either
//! the old files or the new one, complete.
//!
//! It is synced piece by piece: one sync at the end would delay those of the journal, since disk
//! and file system work in order.

use std::{io, sync::Arc, vec};

use evenkeel_store::{
    journal::{JournalError, Replayed, Snapshot},
    object::{Change, Object, ResourceId, Revision},
    state::State,
};

use super::{
    codec,
    files::{File, Files, failed},
    frame,
    header::{Header, Kind, VERSION},
    layout::{Layout, UNFINISHED, snapshot_name},
    log::Limits,
    names::{Named, Names},
};

/// A snapshot in progress, written one frame at a time.
#[derive(Debug)]
pub(super) struct Job<D: Files> {
    out: Output<D>,
    objects: vec::IntoIter<(ResourceId, Arc<Object>)>,
    changes: vec::IntoIter<Change>,
}

/// The file of a snapshot, for items in the order of a replay.
pub(super) struct Output<D: Files> {
    files: Arc<D>,
    file: D::File,
    number: u64,
    salt: u64,
    at: u64,
    sequence: u64,
    revision: Revision,
    limits: Limits,
    /// Bytes since the last sync.
    unsynced: usize,
    names: Arc<Names>,
    named: Named,
    pending: Pending,
    buffer: Vec<u8>,
}

#[derive(Debug, Default)]
struct Pending {
    objects: Vec<(ResourceId, Arc<Object>)>,
    changes: Vec<Change>,
    bytes: usize,
}

// === impl Job ===

impl<D: Files> Job<D> {
    /// Covers everything before segment `number`, of which `state` is a copy.
    pub(super) fn new(
        files: Arc<D>,
        number: u64,
        names: Arc<Names>,
        limits: Limits,
        state: &State,
    ) -> Result<Job<D>, JournalError> {
        let Snapshot { base, objects, changes } = state.snapshot();
        let out = Output::create(files, number, names, base, limits)?;
        Ok(Job { out, objects: objects.into_iter(), changes: changes.into_iter() })
    }

    /// Writes the next frame; returns the size once the snapshot is complete.
    pub(super) fn step(&mut self) -> Result<Option<u64>, JournalError> {
        let sequence = self.out.sequence;
        while self.out.sequence == sequence {
            if let Some((resource, object)) = self.objects.next() {
                self.out.object(resource, object)?;
            } else if let Some(change) = self.changes.next() {
                self.out.change(change)?;
            } else {
                return self.out.finish().map(Some);
            }
        }
        Ok(None)
    }

    pub(super) fn run(mut self) -> Result<u64, JournalError> {
        loop {
            if let Some(bytes) = self.step()? {
                return Ok(bytes);
            }
        }
    }
}

// === impl Output ===

impl<D: Files> Output<D> {
    pub(super) fn create(
        files: Arc<D>,
        number: u64,
        names: Arc<Names>,
        base: Revision,
        limits: Limits,
    ) -> Result<Output<D>, JournalError> {
        let name = snapshot_name(number) + UNFINISHED;
        let header = Header {
            kind: Kind::Snapshot,
            version: VERSION,
            number,
            salt: files.nonce(),
            previous_end: 0,
            revision: base,
            names: names.built_in().iter().map(|name| (**name).into()).collect(),
        };
        let bytes = header.bytes();
        let made = files.create(&name).and_then(|file| file.write_at(&bytes, 0).map(|()| file));
        let file = made.map_err(failed(files.path(&name)))?;
        Ok(Output {
            files,
            file,
            number,
            salt: header.salt,
            at: bytes.len() as u64,
            sequence: 0,
            revision: base,
            limits,
            unsynced: 0,
            named: Named::by_header(header.names.len()),
            names,
            pending: Pending::default(),
            buffer: Vec::new(),
        })
    }

    pub(super) fn replayed(&mut self, replayed: Replayed) -> Result<(), JournalError> {
        match replayed {
            Replayed::Base(_) => Ok(()),
            Replayed::Registered(resource, name) => {
                Arc::make_mut(&mut self.names).register(resource, &name);
                Ok(())
            }
            Replayed::Object(resource, object) => self.object(resource, Arc::new(object)),
            Replayed::Change(change) => self.change(change),
        }
    }

    /// Makes it current, and removes what it supersedes.
    pub(super) fn finish(&mut self) -> Result<u64, JournalError> {
        self.flush()?;
        let revision = self.revision;
        self.frame(&[], |out, _, _| codec::put_end(out, revision))?;
        let name = snapshot_name(self.number);
        let named = self.file.sync().and_then(|()| {
            self.files.rename(&(name.clone() + UNFINISHED), &name)?;
            self.files.sync_names()
        });
        named.map_err(failed(self.files.path(&name)))?;
        let layout = Layout::read(&*self.files)?;
        remove(&*self.files, layout.superseded)?;
        Ok(self.at)
    }

    fn object(&mut self, resource: ResourceId, object: Arc<Object>) -> Result<(), JournalError> {
        self.pending.bytes += codec::size_of(&object);
        self.pending.objects.push((resource, object));
        self.flush_if_full()
    }

    fn change(&mut self, change: Change) -> Result<(), JournalError> {
        if !self.pending.objects.is_empty() {
            self.flush()?;
        }
        self.revision = change.revision;
        self.pending.bytes +=
            32 + change.object.as_deref().map_or(change.key.len(), codec::size_of);
        self.pending.changes.push(change);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<(), JournalError> {
        if self.pending.bytes < self.limits.frame { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        let objects = self.pending.objects.iter().map(|(resource, _)| *resource);
        let missing = self.named.missing(objects);
        if !self.pending.objects.is_empty() {
            self.frame(&missing, |out, new, pending| {
                let objects = pending.objects.iter();
                let objects = objects.map(|(resource, object)| (*resource, &**object));
                codec::put_objects(out, new, objects);
            })?;
        }
        self.named.add(missing);
        let missing = self.named.missing(self.pending.changes.iter().map(|c| c.resource));
        if !self.pending.changes.is_empty() {
            self.frame(&missing, |out, new, pending| {
                codec::put_changes(out, new, &pending.changes);
            })?;
        }
        self.named.add(missing);
        self.pending = Pending::default();
        Ok(())
    }

    /// `missing` has the resources that it names.
    fn frame(
        &mut self,
        missing: &[ResourceId],
        payload: impl FnOnce(&mut Vec<u8>, &codec::New<'_>, &Pending),
    ) -> Result<(), JournalError> {
        let path = || self.files.path(&(snapshot_name(self.number) + UNFINISHED));
        let new = self.names.all_of(missing).map_err(|error| failed(path())(error))?;
        self.buffer.clear();
        self.sequence += 1;
        let pending = &self.pending;
        frame::put(&mut self.buffer, self.salt, self.sequence, self.sequence - 1, |out| {
            payload(out, &new, pending);
        });
        self.unsynced += self.buffer.len();
        let is_due = self.unsynced >= self.limits.piece;
        let written = self.file.write_at(&self.buffer, self.at);
        let written = written.and_then(|()| if is_due { self.file.sync() } else { Ok(()) });
        written.map_err(|error| failed(path())(error))?;
        self.unsynced = if is_due { 0 } else { self.unsynced };
        self.at += self.buffer.len() as u64;
        Ok(())
    }
}

/// Removes obsolete files while no snapshot or segment is being created. The names must be synced:
/// a superseding file may not be durable before.
pub(super) fn tidy(files: &impl Files) -> Result<(), JournalError> {
    remove(files, Layout::read(files)?.superseded)?;
    remove_unfinished(files)
}

pub(super) fn remove_unfinished(files: &impl Files) -> Result<(), JournalError> {
    remove(files, Layout::read(files)?.unfinished)
}

/// Removes obsolete files, which therefore need not be durable.
fn remove(files: &impl Files, names: Vec<String>) -> Result<(), JournalError> {
    for name in names {
        match files.remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(files.path(&name))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

impl<D: Files> std::fmt::Debug for Output<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("number", &self.number).finish_non_exhaustive()
    }
}
