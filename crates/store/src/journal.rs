//! Durability, as the store needs it. The files are the shell's.

use std::sync::Arc;

use crate::{
    object::{Change, Object, ResourceId, Revision},
    state::State,
};

/// Keeps batches. What `sync` has returned `Ok` for is there after a power cut.
pub trait Journal: Send {
    /// Adds a batch, which is there afterwards as a whole or not at all. On an error nothing of
    /// what was appended since the last sync counts, as with [`Journal::sync`].
    fn append(&mut self, batch: &[Change]) -> Result<(), JournalError>;

    /// The same for a batch that makes the state smaller, after [`Journal::append`] has found no
    /// space: some is kept back for it.
    fn append_reserved(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        self.append(batch)
    }

    /// Makes everything appended durable. On an error nothing of what was appended since the last
    /// sync counts, and the journal takes it back, so that a later batch never follows a lost one.
    fn sync(&mut self) -> Result<(), JournalError>;

    /// Everything kept, in order: first the objects of the snapshot, then the changes since.
    fn replay(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError>;

    /// Called between batches, when all that was appended is synced and published. A journal that
    /// has grown enough asks for a copy of the state and replaces what it superseded, in its own
    /// time and on a thread of its own.
    fn compact(&mut self, _state: &mut dyn FnMut() -> State) {}

    /// Called from time to time while writes are refused, whether somebody writes or not: tries
    /// whether they would be kept again.
    fn probe(&mut self) {}
}

/// What a replay hands over.
#[derive(Debug)]
pub enum Replayed {
    /// The state that the changes start from: once, first, with the next objects in it.
    Base(Revision),
    Object(ResourceId, Object),
    Change(Change),
}

/// A state with its retained history: what a replay would hand over.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The revision that `objects` are at and `changes` start from.
    pub base: Revision,
    pub objects: Vec<(ResourceId, Arc<Object>)>,
    pub changes: Vec<Change>,
}

/// Why a write could not be kept, or what was kept cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    #[error("no space left for {path}: free some, then write again; reads go on")]
    Full { path: String },
    #[error("{path}: {problem}")]
    Io { path: String, problem: String },
    #[error("{path} is damaged at byte {offset}: {problem}; restore it from a backup")]
    Damaged { path: String, offset: u64, problem: String },
    #[error("{path} has format {found}, this program knows up to {known}: use a newer one")]
    Newer { path: String, found: u32, known: u32 },
    #[error("{path} is in use by another process: stop it first, or use another directory")]
    InUse { path: String },
    #[error(
        "{path} holds {resource}, which this program does not serve: \
         use the version that wrote it, delete those objects there, then come back"
    )]
    UnknownResource { path: String, resource: String },
}
