//! A full disk: what is kept back, what may use it, and how it ends.
//!
//! Once a batch finds no space, others are refused until there is enough to go on for a while; each
//! tries, and so does a probe. Batches that make the state smaller may use the `room` at the end of the segment. A
//! snapshot without history then replaces what they have made superfluous, in the space of the
//! reserve, which is taken again afterwards: the disk counts as full until it is.

use evenkeel_store::{journal::JournalError, state::State};

use super::{Files, Log, Place, Snapshotting};
use crate::journal::layout::segment_name;

/// What an object takes beside its text, about.
const BESIDE: u64 = 256;

impl<D: Files> Log<D> {
    pub(super) fn no_space(&self) -> JournalError {
        let number = match &self.place {
            Place::Writing(segment) => segment.synced().number,
            Place::Lost(end) => end.number + 1,
            Place::Unread => 1,
        };
        JournalError::Full { path: self.files.path(&segment_name(number)) }
    }

    /// From now on only what makes the state smaller is taken, if this is about space.
    pub(super) fn notice_full(
        &mut self,
        result: Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        self.full |= matches!(result, Err(JournalError::Full { .. }));
        result
    }

    /// Has the reserve grow with what a snapshot may need. Without space for it, a full disk could
    /// not be left any more: it counts as full already.
    pub(super) fn keep_reserve(&mut self) {
        let wanted = self.wanted_reserve();
        let size = self.reserve.size();
        // Smaller only when it is worth a write to the directory's journal.
        if size < wanted || size > 4 * wanted {
            let resized = self.reserve.resize(&*self.files, wanted);
            // On a disk with other troubles it does without one.
            let _ = self.notice_full(resized);
        }
    }

    /// Whether there is space again. Not while a snapshot is using what was kept back.
    pub(super) fn tries_to_regain(&mut self) -> bool {
        matches!(self.snapshot, Snapshotting::Idle) && self.regain().is_ok()
    }

    /// Goes on as before if there is space for that, first of all for the reserve.
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

    /// As large a reserve as there is space for.
    pub(super) fn refill(&mut self) {
        let mut size = self.wanted_reserve();
        while size > self.reserve.size().max(self.limits.reserve)
            && self.reserve.resize(&*self.files, size).is_err()
        {
            size /= 2;
        }
    }

    /// Replaces the files by the state as it is now, if that gives back space.
    pub(super) fn compact_when_full(&mut self, mut state: State) {
        // Who watches from a past revision must list anew, but only after a restart.
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
