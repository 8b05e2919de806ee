//! Migrates older formats to the current one, after a backup.
//!
//! The old files are copied to `format-V.*` beside them; to roll back, remove the others and strip
//! those prefixes. Then everything is read in its own format and written as one snapshot in the new
//! one, which supersedes the old files as any snapshot does: a crash on the way leaves the old
//! files unchanged, and the next start begins again.

use std::io;
use std::sync::Arc;

use evenkeel_store::journal::{JournalError, Replayed};

use super::{
    files::{File, Files, failed},
    header::VERSION,
    layout::{Layout, UNFINISHED, segment_name, snapshot_name},
    log::Limits,
    names::Names,
    read::{self, Found},
    snapshot::Output,
};

const CHUNK: usize = 1 << 20;

/// Copies all current files of older formats. An interrupted migration may have left a segment of the
/// current one, without frames, which would keep the older version from reading the backup.
pub(super) fn back_up(files: &impl Files, format: u32) -> Result<(), JournalError> {
    let layout = Layout::read(files)?;
    let there = files.names().map_err(failed(files.path("")))?;
    let segments = layout.segments.into_iter().map(segment_name);
    for name in layout.snapshot.map(snapshot_name).into_iter().chain(segments) {
        let backup = format!("format-{format}.{name}");
        if there.contains(&backup) || read::format(files, &name)? == VERSION {
            continue;
        }
        copy(files, &name, &backup).map_err(failed(files.path(&backup)))?;
    }
    files.sync_names().map_err(failed(files.path("")))
}

/// Writes everything as the snapshot before the next segment, not yet finished.
pub(super) fn rewrite<D: Files>(
    files: &Arc<D>,
    names: &Arc<Names>,
    limits: Limits,
) -> Result<(Found, Output<D>), JournalError> {
    let number = Layout::read(&**files)?.segments.last().map_or(1, |last| last + 1);
    let mut out: Result<Option<Output<D>>, JournalError> = Ok(None);
    // The replay of the new snapshot finds them again.
    let found = read::replay(&**files, &mut Names::clone(names), &mut |replayed| {
        let Ok(so_far) = &mut out else { return };
        let written = match (so_far, replayed) {
            (so_far @ None, Replayed::Base(base)) => {
                Output::create(files.clone(), number, names.clone(), base, limits)
                    .map(|made| *so_far = Some(made))
            }
            (Some(made), replayed) => made.replayed(replayed),
            (None, _) => Ok(()),
        };
        if let Err(error) = written {
            out = Err(error);
        }
    })?;
    Ok((found, out?.expect("a replay begins with its base")))
}

fn copy(files: &impl Files, from: &str, to: &str) -> io::Result<()> {
    let source = files.open(from)?;
    let unfinished = format!("{to}{UNFINISHED}");
    let target = files.create(&unfinished)?;
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let n = source.read_at(&mut chunk, at)?;
        if n == 0 {
            break;
        }
        target.write_at(&chunk[..n], at)?;
        at += n as u64;
    }
    target.sync()?;
    files.rename(&unfinished, to)
}
