//! Space reserved for a snapshot on a full disk.
//!
//! A journal shrinks only by a snapshot, which needs space before it frees any. So a placeholder
//! file lies beside the others, as large as a snapshot may become, and is removed when a snapshot
//! finds no other space.

use std::io;

use evenkeel_store::journal::JournalError;

use super::files::{File, Files, failed};

const NAME: &str = "reserve";

#[derive(Debug, Default)]
pub(super) struct Reserve {
    size: u64,
}

impl Reserve {
    /// The file left by an earlier process.
    pub(super) fn find(files: &impl Files) -> Reserve {
        Reserve { size: files.open(NAME).and_then(|file| file.size()).unwrap_or(0) }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Grows or shrinks it. After an error its size is unchanged.
    pub(super) fn resize(&mut self, files: &impl Files, size: u64) -> Result<(), JournalError> {
        let resized = files.open(NAME).or_else(|_| files.create(NAME)).and_then(|file| {
            let allocated = file.allocate(size);
            if allocated.is_err() {
                let _ = file.truncate(self.size);
            }
            allocated
        });
        resized.map_err(failed(files.path(NAME)))?;
        self.size = size;
        Ok(())
    }

    /// Frees the space.
    pub(super) fn release(&mut self, files: &impl Files) {
        self.size = 0;
        let _: io::Result<()> = files.open(NAME).and_then(|file| file.truncate(0));
    }
}
