//! Reads everything stored, in order, and finds its end.
//!
//! All segments but the last were complete when the next one was created, so each must reach
//! exactly the end recorded in the next one's header. The last one ends where its frames end; see
//! `frame` for how that is distinguished from corruption.

use evenkeel_store::{
    journal::{JournalError, Replayed},
    object::Revision,
};

use super::{
    codec::{Payload, Unreadable},
    files::{File, Files, failed},
    frame::Frames,
    header::{Header, Kind},
    layout::{Layout, segment_name, snapshot_name},
    names::Names,
    reading::Reading,
    segment::Position,
};

/// The result of reading.
#[derive(Debug)]
pub(super) struct Found {
    /// `None` in an empty directory.
    pub(super) end: Option<Position>,
    /// Start of the frames in the last segment that may not be durable yet.
    pub(super) unproven: Option<u64>,
    pub(super) n_segments: usize,
    /// Of the segments since the snapshot.
    pub(super) segment_bytes: u64,
    pub(super) snapshot_bytes: u64,
}

/// Passes on everything in order, checking that nothing is missing.
struct Replay<'a> {
    names: &'a mut Names,
    each: &'a mut dyn FnMut(Replayed),
    revision: Revision,
    /// A revision that did not follow the previous one.
    disorder: Option<Revision>,
}

struct Opened<F> {
    file: F,
    path: String,
    header: Header,
    start: u64,
    size: u64,
}

/// The oldest format among the files, if there are any. Rejects newer ones.
pub(super) fn oldest_format(files: &impl Files) -> Result<Option<u32>, JournalError> {
    let layout = Layout::read(files)?;
    let mut oldest = None;
    let mut see = |version: u32| oldest = Some(oldest.unwrap_or(version).min(version));
    if let Some(number) = layout.snapshot {
        see(opened(files, &snapshot_name(number), Kind::Snapshot, number)?.header.version);
    }
    for number in layout.segments {
        see(opened(files, &segment_name(number), Kind::Segment, number)?.header.version);
    }
    Ok(oldest)
}

/// Adds the resources that it finds to `names`. Those that are registered already come first: the
/// receiver may not know them.
pub(super) fn replay<D: Files>(
    files: &D,
    names: &mut Names,
    each: &mut dyn FnMut(Replayed),
) -> Result<Found, JournalError> {
    let layout = Layout::read(files)?;
    let mut replay = Replay { names, each, revision: 0, disorder: None };
    let mut found = Found {
        end: None,
        unproven: None,
        n_segments: layout.segments.len(),
        segment_bytes: 0,
        snapshot_bytes: 0,
    };
    match layout.snapshot {
        Some(number) => {
            let snapshot = opened(files, &snapshot_name(number), Kind::Snapshot, number)?;
            found.snapshot_bytes = snapshot.size;
            snapshot.replay(&mut replay)?;
        }
        None => replay.base(0),
    }
    // Each segment's end is known once the next one is open.
    let mut before: Option<Opened<D::File>> = None;
    for number in layout.segments {
        let segment = opened(files, &segment_name(number), Kind::Segment, number)?;
        if let Some(before) = before {
            found.segment_bytes += segment.header.previous_end;
            before.replay_sealed(segment.header.previous_end, &mut replay)?;
        }
        if segment.header.revision != replay.revision {
            let problem = format!(
                "it goes on after revision {}, but what is before it ends at {}",
                segment.header.revision, replay.revision
            );
            return Err(damaged(segment.path, 0, problem));
        }
        before = Some(segment);
    }
    if let Some(last) = before {
        let number = last.header.number;
        let (offset, unproven) = last.replay_last(&mut replay)?;
        found.segment_bytes += offset;
        found.end = Some(Position::new(number, offset, replay.revision));
        found.unproven = unproven;
    }
    Ok(found)
}

/// Makes the end that was found durable, whether it was read from disk or from memory left by the
/// last process: a failed sync may have marked pages as clean that were never written.
pub(super) fn make_durable(files: &impl Files, found: &Found) -> Result<(), JournalError> {
    let Some(end) = found.end else { return Ok(()) };
    let name = segment_name(end.number);
    let synced = files.open(&name).and_then(|file| {
        if let Some(start) = found.unproven {
            let mut bytes = vec![0; (end.offset - start) as usize];
            let there = file.read_at(&mut bytes, start)?;
            file.write_at(&bytes[..there], start)?;
        }
        file.sync()
    });
    synced.map_err(failed(files.path(&name)))
}

/// The format of a file.
pub(super) fn format(files: &impl Files, name: &str) -> Result<u32, JournalError> {
    let path = files.path(name);
    let file = files.open(name).map_err(failed(path.clone()))?;
    Ok(Header::read(&file, &path)?.0.version)
}

fn opened<D: Files>(
    files: &D,
    name: &str,
    kind: Kind,
    number: u64,
) -> Result<Opened<D::File>, JournalError> {
    let path = files.path(name);
    let file = files.open(name).map_err(failed(path.clone()))?;
    let size = file.size().map_err(failed(path.clone()))?;
    let (header, start) = Header::read(&file, &path)?;
    if (header.kind, header.number) != (kind, number) {
        return Err(damaged(path, 0, "the header belongs to another file".to_owned()));
    }
    Ok(Opened { file, path, header, start, size })
}

fn damaged(path: String, offset: u64, problem: String) -> JournalError {
    JournalError::Damaged { path, offset, problem }
}

// === impl Opened ===

impl<F: File> Opened<F> {
    fn replay(self, replay: &mut Replay<'_>) -> Result<(), JournalError> {
        replay.base(self.header.revision);
        let mut frames = Frames::new(&self.file, self.header.salt, self.start, self.size);
        let mut reading = Reading::new(&self.header);
        loop {
            let at = frames.at();
            match self.frame(&mut frames, &mut reading, replay)? {
                Some(Payload::End(revision)) if revision == replay.revision => return Ok(()),
                Some(Payload::Changes | Payload::Objects) => {}
                Some(Payload::End(_)) | None => {
                    return Err(damaged(self.path, at, "the snapshot is truncated".to_owned()));
                }
            }
        }
    }

    fn replay_sealed(self, end: u64, replay: &mut Replay<'_>) -> Result<(), JournalError> {
        let limit = end.min(self.size);
        let mut frames = Frames::new(&self.file, self.header.salt, self.start, limit);
        let mut reading = Reading::new(&self.header);
        while self.frame(&mut frames, &mut reading, replay)?.is_some() {}
        let at = frames.at();
        if at == end {
            return Ok(());
        }
        Err(damaged(
            self.path,
            at,
            format!("invalid frame, although the file was complete up to byte {end}"),
        ))
    }

    fn replay_last(self, replay: &mut Replay<'_>) -> Result<(u64, Option<u64>), JournalError> {
        let mut frames = Frames::new(&self.file, self.header.salt, self.start, self.size);
        let mut reading = Reading::new(&self.header);
        while self.frame(&mut frames, &mut reading, replay)?.is_some() {}
        let at = frames.at();
        if frames.was_synced().map_err(failed(self.path.clone()))? {
            let problem = "a bad frame, though a later one says that it was written".to_owned();
            return Err(damaged(self.path, at, problem));
        }
        Ok((at, frames.first_unproven()))
    }

    fn frame(
        &self,
        frames: &mut Frames<'_, F>,
        reading: &mut Reading,
        replay: &mut Replay<'_>,
    ) -> Result<Option<Payload>, JournalError> {
        let at = frames.at();
        let payload = frames.next().map_err(failed(self.path.clone()))?;
        let Some(payload) = payload else { return Ok(None) };
        let kind = replay.payload(reading, payload);
        let kind = kind.map_err(|e| e.at(self.path.clone(), at))?;
        match replay.disorder {
            None => Ok(Some(kind)),
            Some(revision) => {
                let problem = format!("revision {revision} does not follow the one before");
                Err(damaged(self.path.clone(), at, problem))
            }
        }
    }
}

// === impl Replay ===

impl Replay<'_> {
    fn base(&mut self, revision: Revision) {
        self.revision = revision;
        (self.each)(Replayed::Base(revision));
        for (resource, name) in self.names.registered() {
            (self.each)(Replayed::Registered(resource, (**name).into()));
        }
    }

    fn payload(&mut self, reading: &mut Reading, payload: &[u8]) -> Result<Payload, Unreadable> {
        let Replay { names, each, revision, disorder } = self;
        reading.payload(payload, names, &mut |replayed| {
            if let Replayed::Change(change) = &replayed {
                if change.revision != *revision + 1 {
                    *disorder = Some(change.revision);
                }
                *revision = change.revision;
            }
            each(replayed);
        })
    }
}
