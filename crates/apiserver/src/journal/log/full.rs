//! A full disk: which space is reserved, what may use it, and how the journal recovers.
//!
//! Once a batch finds no space, further ones are rejected until there is enough to continue for a
//! while; each write checks this, and so does a probe. Batches that shrink the state may use the
//! `room` at the end of the segment. A snapshot without history then replaces the files they made
//! obsolete, in the reserved space, which is reserved again afterwards: until it is, the disk
//! counts as full.

use evenkeel_store::{journal::JournalError, state::State};

use super::{Files, Log, Snapshotting, WritePosition};
use crate::journal::layout::segment_name;

/// Approximate overhead of an object beyond its text.
const BESIDE: u64 = 256;

impl<D: Files> Log<D> {
    pub(super) fn no_space(&self) -> JournalError {
        let number = match &self.position {
            WritePosition::Writing(segment) => segment.synced().number,
            WritePosition::Lost(end) => end.number + 1,
            WritePosition::Unread => 1,
        };
        JournalError::Full { path: self.files.path(&segment_name(number)) }
    }

    /// If the error is a lack of space, only writes that shrink the state are accepted from now on.
    pub(super) fn notice_full(
        &mut self,
        result: Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        self.full |= matches!(result, Err(JournalError::Full { .. }));
        result
    }

    /// Grows the reserve to what a snapshot may need. Without it the journal could not recover from
    /// a full disk: the disk counts as full already.
    pub(super) fn keep_reserve(&mut self) {
        let wanted = self.wanted_reserve();
        let size = self.reserve.size();
        // Shrink only if it is worth a write to the file system's own journal.
        if size < wanted || size > 4 * wanted {
            let resized = self.reserve.resize(&*self.files, wanted);
            // With other disk errors it does without a reserve.
            let _ = self.notice_full(resized);
        }
    }

    /// Whether to check for space. Not while a snapshot uses the reserve.
    pub(super) fn tries_to_regain(&mut self) -> bool {
        matches!(self.snapshot, Snapshotting::Idle) && self.regain().is_ok()
    }

    /// Resumes normal operation if there is space for it, the reserve first of all.
    pub(super) fn regain(&mut self) -> Result<(), JournalError> {
        let wanted = self.wanted_reserve();
        if self.reserve.size() < wanted
            && let Err(full @ JournalError::Full { .. }) = self.reserve.resize(&*self.files, wanted)
        {
            return Err(full);
        }
        let room = self.limits.room + self.limits.fill;
        self.writable()?.make_room(room)?;
        (self.full, self.failed_at) = (false, None);
        Ok(())
    }

    /// Makes the reserve as large as the space allows.
    pub(super) fn refill(&mut self) {
        let mut size = self.wanted_reserve();
        while size > self.reserve.size().max(self.limits.reserve)
            && self.reserve.resize(&*self.files, size).is_err()
        {
            size /= 2;
        }
    }

    /// Replaces the files by a snapshot of the current state, if that frees space.
    pub(super) fn compact_when_full(&mut self, mut state: State) {
        // Watches from a past revision must relist, but only after a restart.
        state.compact();
        let live = state.bytes() as u64 + state.len() as u64 * BESIDE;
        let needed = live + live / 8 + 2 * self.limits.room;
        let is_worth_it = self.stored >= live + live / 8 + self.limits.room;
        let has_failed = self.failed_at.is_some_and(|failed| live >= failed - failed / 8);
        if !is_worth_it || has_failed || self.reserve.size() < needed {
            return;
        }
        let since = std::mem::take(&mut self.since);
        self.failed_at = Some(live);
        self.reserve.release(&*self.files);
        if let Err(error) = self.begin_snapshot(state) {
            self.since += since;
            self.snapshotted(Err(error));
        }
    }

    fn wanted_reserve(&self) -> u64 {
        let needed = self.stored + self.stored / 8 + 2 * self.limits.room;
        needed.next_multiple_of(self.limits.reserve)
    }
}
