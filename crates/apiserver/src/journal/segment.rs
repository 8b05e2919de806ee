//! The segment being written.
//!
//! Its space is filled with zeros ahead of the frames, so that a sync has data to write and no
//! sizes or extents: on ext4 this takes a fifth of the time of appending, and less than
//! `fallocate`, whose extents are marked as written by the sync. A full disk is therefore detected
//! while filling, before any part of a frame is written, and space can be reserved here: a batch
//! that would not leave `room` behind it is rejected, unless the room is meant for it.

use evenkeel_store::{
    journal::JournalError,
    object::{Change, Revision},
};

use super::{
    codec,
    files::{File, Files, failed},
    frame,
    header::Header,
    layout::{UNFINISHED, segment_name},
    names::{Named, Names},
};

#[derive(Debug)]
pub(super) struct Segment<F> {
    file: F,
    path: String,
    salt: u64,
    /// Zeros up to this offset.
    filled: u64,
    fill: u64,
    written: Position,
    synced: Position,
    /// The file may contain part of a frame after `synced`.
    touched: bool,
    /// Including what is written and not yet durable: if that is discarded, so is this segment.
    named: Named,
    buffer: Vec<u8>,
}

/// A point between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Number of the segment.
    pub(super) number: u64,
    pub(super) offset: u64,
    sequence: u64,
    pub(super) revision: Revision,
}

impl Position {
    /// Before the first segment.
    pub(super) const NONE: Position = Position::new(0, 0, 0);

    pub(super) const fn new(number: u64, offset: u64, revision: Revision) -> Position {
        Position { number, offset, sequence: 0, revision }
    }
}

impl<F: File> Segment<F> {
    /// Creates it, filled with zeros, durable except for its name.
    pub(super) fn draft<D: Files<File = F>>(
        files: &D,
        header: &Header,
        zeros: u64,
        fill: u64,
    ) -> Result<Segment<F>, JournalError> {
        let name = segment_name(header.number);
        let path = files.path(&name);
        let unfinished = name + UNFINISHED;
        let mut bytes = header.bytes();
        let start = bytes.len() as u64;
        bytes.resize((start + zeros).next_multiple_of(4096) as usize, 0);
        let made = files.create(&unfinished).and_then(|file| {
            file.write_at(&bytes, 0)?;
            file.sync().map(|()| file)
        });
        let file = made.map_err(|error| {
            // The next attempt would replace it; this only frees the space.
            let _ = files.remove(&unfinished);
            failed(path.clone())(error)
        })?;
        let at = Position::new(header.number, start, header.revision);
        Ok(Segment {
            file,
            path,
            salt: header.salt,
            filled: bytes.len() as u64,
            fill,
            written: at,
            synced: at,
            touched: false,
            named: Named::by_header(header.names.len()),
            buffer: Vec::new(),
        })
    }

    /// Gives it its name. Whatever the result, the previous segment must not be written any more:
    /// this one's header may already be durable and record where it ends.
    pub(super) fn name<D: Files<File = F>>(&self, files: &D) -> Result<(), JournalError> {
        let name = segment_name(self.written.number);
        let named = files.rename(&(name.clone() + UNFINISHED), &name);
        named.and_then(|()| files.sync_names()).map_err(failed(self.path.clone()))
    }

    /// The end of what is durable.
    pub(super) fn synced(&self) -> Position {
        self.synced
    }

    /// Whether the file may contain part of a frame that is not durable.
    pub(super) fn is_touched(&self) -> bool {
        self.touched
    }

    /// Appends a frame that leaves `room` bytes behind it. `names` has the resources.
    pub(super) fn append(
        &mut self,
        batch: &[Change],
        names: &Names,
        room: u64,
    ) -> Result<(), JournalError> {
        let Some(last) = batch.last() else { return Ok(()) };
        let missing = self.named.missing(batch.iter().map(|change| change.resource));
        let new = names.all_of(&missing).map_err(failed(self.path.clone()))?;
        self.buffer.clear();
        let sequence = self.written.sequence + 1;
        let synced = self.synced.sequence;
        frame::put(&mut self.buffer, self.salt, sequence, synced, |out| {
            codec::put_changes(out, &new, batch);
        });
        let end = self.written.offset + self.buffer.len() as u64;
        self.fill_to(end + room)?;
        self.touched = true;
        let write = self.file.write_at(&self.buffer, self.written.offset);
        write.map_err(failed(self.path.clone()))?;
        self.named.add(missing);
        self.buffer.shrink_to(1 << 20);
        self.written = Position { offset: end, sequence, revision: last.revision, ..self.written };
        Ok(())
    }

    /// Returns the number of bytes that became durable.
    pub(super) fn sync(&mut self) -> Result<u64, JournalError> {
        if !self.touched {
            return Ok(0);
        }
        self.file.sync().map_err(failed(self.path.clone()))?;
        let bytes = self.written.offset - self.synced.offset;
        self.synced = self.written;
        self.touched = false;
        Ok(bytes)
    }

    /// Discards what is not durable, as far as the file allows; the next segment's header records
    /// where this one ends in any case.
    pub(super) fn cut(self) -> Position {
        let _ = self.file.truncate(self.synced.offset);
        self.synced
    }

    /// Ensures space for this many bytes.
    pub(super) fn make_room(&mut self, room: u64) -> Result<(), JournalError> {
        self.fill_to(self.written.offset + room)
    }

    /// Fills far ahead, or only as far as needed if there is not enough space.
    fn fill_to(&mut self, end: u64) -> Result<(), JournalError> {
        if end <= self.filled {
            return Ok(());
        }
        let far = (end + self.fill).next_multiple_of(4096);
        self.fill_up(far).or_else(|_| self.fill_up(end.next_multiple_of(4096)))
    }

    fn fill_up(&mut self, target: u64) -> Result<(), JournalError> {
        let zeros = vec![0; (target - self.filled) as usize];
        if let Err(error) = self.file.write_at(&zeros, self.filled) {
            let _ = self.file.truncate(self.filled);
            return Err(failed(self.path.clone())(error));
        }
        self.filled = target;
        Ok(())
    }
}
