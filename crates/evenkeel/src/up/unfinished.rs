//! A marker file beside the data while the sample is incomplete, so that the next start completes
//! it. It is written once the folder is locked by this process.

use std::{fs, io, path::Path};

const FILE: &str = "sample-unfinished";

pub(super) fn is_noted(data: &Path) -> bool {
    data.join(FILE).exists()
}

/// Without it, a sample that is interrupted stays incomplete.
pub(super) fn note(data: &Path) {
    warn_of(fs::write(data.join(FILE), ""));
}

pub(super) fn forget(data: &Path) {
    match fs::remove_file(data.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => warn_of(done),
    }
}

fn warn_of(done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "recording the progress of the sample failed");
    }
}
