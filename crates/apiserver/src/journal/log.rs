//! The journal on any file system.
//!
//! Frames are appended to the newest segment. A new segment begins at each start, when a snapshot
//! is due, and after any failure to write or sync: data left by a failed sync, in memory or on
//! disk, is never trusted or overwritten, and the header of the next segment records where the last
//! one really ends. While no new segment can be created either, writes are rejected, and each tries
//! again. The handling of a full disk is in `full`.

mod full;

use std::sync::Arc;
use std::thread::JoinHandle;

use evenkeel_store::{
    journal::{Journal, JournalError, Replayed},
    object::{Change, ResourceId},
    state::State,
};

use super::{
    files::{File, Files},
    header::{Header, Kind, VERSION},
    layout::segment_name,
    migrate,
    names::Names,
    read,
    reserve::Reserve,
    segment::{Position, Segment},
    snapshot::{Job, remove_unfinished, tidy},
};

/// This many segments from short runs make a snapshot due.
const MANY_SEGMENTS: usize = 8;

#[derive(Debug)]
pub(super) struct Log<D: Files> {
    files: Arc<D>,
    names: Arc<Names>,
    limits: Limits,
    position: WritePosition<D::File>,
    snapshot: Snapshotting<D>,
    /// Bytes of frames since the last snapshot was started.
    since: u64,
    /// Bytes after which the next one is due.
    due: u64,
    /// Bytes of the last snapshot and of all frames since: the space the next one may need.
    stored: u64,
    reserve: Reserve,
    /// The disk was full; only writes that shrink the state are accepted.
    full: bool,
    /// The size of the state at which a snapshot on the full disk failed.
    failed_at: Option<u64>,
    /// Bytes of frames synced by this process.
    written: u64,
}

/// Sizes; smaller in tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes after which a snapshot is due, or the size of the last one if that is larger.
    pub(super) snapshot_after: u64,
    /// Bytes in a frame of a snapshot.
    pub(super) frame: usize,
    /// Bytes of a snapshot that are synced together.
    pub(super) piece: usize,
    /// Preallocated zeros in a new segment.
    pub(super) fill: u64,
    /// Bytes in each segment that are reserved for deletes.
    pub(super) room: u64,
    /// The reserve for snapshots is a multiple of this.
    pub(super) reserve: u64,
    pub(super) background: Background,
}

/// Who writes snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    Thread,
    /// Each call of `compact` writes one frame, so that tests are reproducible.
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests"))]
    Steps,
}

/// Where the next frame goes.
#[derive(Debug)]
enum WritePosition<F> {
    /// Not yet read.
    Unread,
    Writing(Segment<F>),
    /// A new segment is needed after this end.
    Lost(Position),
}

#[derive(Debug)]
enum Snapshotting<D: Files> {
    Idle,
    Thread(JoinHandle<Result<u64, JournalError>>),
    Steps(Box<Job<D>>),
}

impl Limits {
    pub(super) const REAL: Limits = Limits {
        snapshot_after: 16 << 20,
        frame: 256 << 10,
        piece: 1 << 20,
        fill: 1 << 20,
        room: 256 << 10,
        reserve: 1 << 20,
        background: Background::Thread,
    };
}

// === impl Log ===

impl<D: Files> Log<D> {
    /// `names` has the built-in resources by their id.
    pub(super) fn new(files: D, names: Names, limits: Limits) -> Log<D> {
        Log {
            files: Arc::new(files),
            names: Arc::new(names),
            limits,
            position: WritePosition::Unread,
            snapshot: Snapshotting::Idle,
            since: 0,
            due: limits.snapshot_after,
            stored: 0,
            reserve: Reserve::default(),
            full: false,
            failed_at: None,
            written: 0,
        }
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether the next write would be attempted.
    pub(super) fn is_writable(&self) -> bool {
        !self.full && !matches!(self.position, WritePosition::Lost(_))
    }

    /// Reads everything and begins a new segment.
    fn start(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        if let Some(oldest) = read::oldest_format(&*self.files)?
            && oldest < VERSION
        {
            self.migrate(oldest)?;
        }
        let mut names = Names::clone(&self.names);
        let found = read::replay(&*self.files, &mut names, each)?;
        self.names = Arc::new(names);
        read::make_durable(&*self.files, &found)?;
        self.rotate(found.end.unwrap_or(Position::NONE))?;
        tidy(&*self.files)?;
        self.due = self.limits.snapshot_after.max(found.snapshot_bytes);
        self.since = found.segment_bytes;
        self.stored = found.snapshot_bytes + found.segment_bytes;
        if found.n_segments >= MANY_SEGMENTS {
            self.since = self.due;
        }
        self.reserve = Reserve::find(&*self.files);
        self.keep_reserve();
        Ok(())
    }

    fn migrate(&mut self, oldest: u32) -> Result<(), JournalError> {
        migrate::back_up(&*self.files, oldest)?;
        let (found, mut out) = migrate::rewrite(&self.files, &self.names, self.limits)?;
        read::make_durable(&*self.files, &found)?;
        self.rotate(found.end.unwrap_or(Position::NONE))?;
        out.finish().map(|_| ())
    }

    /// Begins a new segment after `end`.
    fn rotate(&mut self, end: Position) -> Result<&mut Segment<D::File>, JournalError> {
        let header = Header {
            kind: Kind::Segment,
            version: VERSION,
            number: end.number + 1,
            salt: self.files.nonce(),
            previous_end: end.offset,
            revision: end.revision,
            names: self.names.built_in().iter().map(|name| (**name).into()).collect(),
        };
        let segment = self.drafted(&header)?;
        self.position = WritePosition::Lost(end);
        segment.name(&*self.files)?;
        if end.number > 0 {
            // Only frees the preallocated space.
            let _ = self.files.open(&segment_name(end.number)).and_then(|f| f.truncate(end.offset));
        }
        self.position = WritePosition::Writing(segment);
        match &mut self.position {
            WritePosition::Writing(segment) => Ok(segment),
            _ => unreachable!("it was just set"),
        }
    }

    /// With zeros for the next frames or, on a full disk, for the reserved space.
    fn drafted(&self, header: &Header) -> Result<Segment<D::File>, JournalError> {
        let Limits { fill, room, .. } = self.limits;
        let draft = |zeros| Segment::draft(&*self.files, header, zeros, fill * 4);
        match self.full {
            true => draft(room),
            false => draft(fill + room).or_else(|_| draft(room)),
        }
    }

    fn writable(&mut self) -> Result<&mut Segment<D::File>, JournalError> {
        match self.position {
            WritePosition::Unread => self.start(&mut |_| {})?,
            WritePosition::Lost(end) => {
                self.rotate(end)?;
            }
            WritePosition::Writing(_) => {}
        }
        match &mut self.position {
            WritePosition::Writing(segment) => Ok(segment),
            _ => unreachable!("starting and rotating end in a segment"),
        }
    }

    /// Discards everything not yet durable, and tries to continue in a new segment at once.
    fn give_up(&mut self) {
        let WritePosition::Writing(segment) =
            std::mem::replace(&mut self.position, WritePosition::Unread)
        else {
            return;
        };
        let end = segment.cut();
        self.position = WritePosition::Lost(end);
        // If that fails too, each write tries again.
        let _ = self.rotate(end);
    }

    fn put(&mut self, batch: &[Change], room: u64) -> Result<(), JournalError> {
        self.writable()?;
        let WritePosition::Writing(segment) = &mut self.position else {
            unreachable!("it is writable")
        };
        let appended = segment.append(batch, &self.names, room);
        if appended.is_err() && segment.is_touched() {
            self.give_up();
        }
        appended
    }

    /// Advances a snapshot in progress; returns whether there is one.
    fn is_snapshotting(&mut self) -> bool {
        let result = match std::mem::replace(&mut self.snapshot, Snapshotting::Idle) {
            Snapshotting::Idle => return false,
            Snapshotting::Thread(thread) if !thread.is_finished() => {
                self.snapshot = Snapshotting::Thread(thread);
                return true;
            }
            Snapshotting::Thread(thread) => thread.join().unwrap_or_else(|_| {
                let path = self.files.path("");
                Err(JournalError::Io { path, problem: "the snapshot's thread panicked".to_owned() })
            }),
            Snapshotting::Steps(mut job) => match job.step() {
                Ok(None) => {
                    self.snapshot = Snapshotting::Steps(job);
                    return true;
                }
                Ok(Some(bytes)) => Ok(bytes),
                Err(error) => Err(error),
            },
        };
        self.snapshotted(result);
        false
    }

    fn snapshotted(&mut self, result: Result<u64, JournalError>) {
        match result {
            Ok(bytes) => {
                self.due = self.limits.snapshot_after.max(bytes);
                self.stored = bytes + self.since;
            }
            Err(error) => {
                tracing::warn!(%error, "snapshot failed, retrying later");
                self.due = self.limits.snapshot_after / 4;
                // Frees the space, which may be what was missing.
                let _ = remove_unfinished(&*self.files);
            }
        }
        if self.full {
            // Reserves the available space before anything else takes it.
            self.refill();
            // On failure the disk still counts as full.
            let _ = self.regain();
        } else {
            self.keep_reserve();
        }
    }

    fn begin_snapshot(&mut self, state: State) -> Result<(), JournalError> {
        let segment = self.writable()?;
        debug_assert!(!segment.is_touched(), "snapshots begin between batches");
        let end = segment.synced();
        let number = self.rotate(end)?.synced().number;
        let (files, names, limits) = (self.files.clone(), self.names.clone(), self.limits);
        let job = move || Job::new(files, number, names, limits, &state);
        self.snapshot = match self.limits.background {
            Background::Steps => Snapshotting::Steps(Box::new(job()?)),
            Background::Thread => {
                let thread = std::thread::Builder::new().name("snapshot".to_owned());
                Snapshotting::Thread(thread.spawn(|| job()?.run()).map_err(|error| {
                    let path = self.files.path("");
                    JournalError::Io { path, problem: format!("no thread for a snapshot: {error}") }
                })?)
            }
        };
        Ok(())
    }
}

impl<D: Files> Journal for Log<D> {
    fn append(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        if self.full && !self.tries_to_regain() {
            return Err(self.no_space());
        }
        let appended = self.put(batch, self.limits.room);
        self.notice_full(appended)
    }

    fn append_reserved(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        self.put(batch, 0)
    }

    fn register(&mut self, resource: ResourceId, name: &str) {
        Arc::make_mut(&mut self.names).register(resource, name);
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let WritePosition::Writing(segment) = &mut self.position else { return Ok(()) };
        match segment.sync() {
            Ok(bytes) => {
                self.since += bytes;
                self.stored += bytes;
                self.written += bytes;
                Ok(())
            }
            Err(error) => {
                self.give_up();
                self.notice_full(Err(error))
            }
        }
    }

    fn replay(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        match self.position {
            WritePosition::Unread => self.start(each),
            _ => read::replay(&*self.files, &mut Names::clone(&self.names), each).map(|_| ()),
        }
    }

    fn compact(&mut self, state: &mut dyn FnMut() -> State) {
        if self.is_snapshotting() {
            return;
        }
        if self.full {
            return self.compact_when_full(state());
        }
        self.keep_reserve();
        if self.since < self.due {
            return;
        }
        self.since = 0;
        if let Err(error) = self.begin_snapshot(state()) {
            self.snapshotted(Err(error));
        }
    }

    fn probe(&mut self) {
        if self.is_snapshotting() {
            return;
        }
        // `is_writable` shows the result.
        let _ = if self.full { self.regain() } else { self.writable().map(drop) };
    }
}

impl<D: Files> Drop for Log<D> {
    fn drop(&mut self) {
        if let Snapshotting::Thread(thread) =
            std::mem::replace(&mut self.snapshot, Snapshotting::Idle)
        {
            let _ = thread.join();
        }
    }
}
