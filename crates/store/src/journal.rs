//! The durability that the store requires. The implementation on files belongs to the shell.

use std::sync::Arc;

use crate::{
    object::{Change, Object, ResourceId, Revision},
    state::State,
};

/// Makes batches durable. A batch survives a power failure once `sync` has returned `Ok` for it.
pub trait Journal: Send {
    /// Appends a batch, atomically. On an error everything appended since the last sync is
    /// discarded, as with [`Journal::sync`].
    fn append(&mut self, batch: &[Change]) -> Result<(), JournalError>;

    /// Like [`Journal::append`], for a batch that shrinks the state, after an append failed for
    /// lack of space: uses the reserved space.
    fn append_reserved(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        self.append(batch)
    }

    /// Tells the name of a resource before the first change of it is appended. Ids follow one
    /// another. Nothing is written: the name becomes durable with that change.
    fn register(&mut self, _resource: ResourceId, _name: &str) {}

    /// Makes everything appended durable. On an error the journal discards everything appended
    /// since the last sync, so that no later batch follows a lost one.
    fn sync(&mut self) -> Result<(), JournalError>;

    /// Replays everything stored, in order: first the objects of the snapshot, then the changes
    /// since.
    fn replay(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError>;

    /// Called between batches, when everything appended is synced and published. A journal that has
    /// grown enough takes a copy of the state and writes a snapshot from it in the background.
    fn compact(&mut self, _state: &mut dyn FnMut() -> State) {}

    /// Called periodically while writes are rejected: checks whether writes would succeed again.
    fn probe(&mut self) {}
}

/// An item of a replay.
#[derive(Debug)]
pub enum Replayed {
    /// The revision of the snapshot. Comes once, first; the next objects belong to it.
    Base(Revision),
    /// The name of a resource that the journal was not opened with. Comes before its first object
    /// or change, and follows the last id.
    Registered(ResourceId, Box<str>),
    Object(ResourceId, Object),
    Change(Change),
}

/// A state with its retained history: the content of a replay.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The revision of `objects`, after which `changes` begin.
    pub base: Revision,
    pub objects: Vec<(ResourceId, Arc<Object>)>,
    pub changes: Vec<Change>,
}

/// Why a write could not be stored, or stored data cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    #[error("no space left for {path}: free some space and retry; reads continue")]
    Full { path: String },
    #[error("{path}: {problem}")]
    Io { path: String, problem: String },
    #[error("{path} is corrupt at byte {offset}: {problem}; restore it from a backup")]
    Damaged { path: String, offset: u64, problem: String },
    #[error(
        "{path} has format {found}, but this version supports formats up to {known}: use a newer version"
    )]
    Newer { path: String, found: u32, known: u32 },
    #[error("{path} is in use by another process: stop it, or use another directory")]
    InUse { path: String },
    #[error(
        "{path} contains {resource}, which this version does not serve: \
         delete those objects with the version that wrote them, then retry"
    )]
    UnknownResource { path: String, resource: String },
}
