//! The journal's files: durability for the store.
//!
//! A directory holds segments of checksummed frames, one batch each, and at most one snapshot that
//! stands for the segments before it. Read `layout` for the names, `frame` for what is told apart
//! after a crash, `log` for what happens on a failure, `snapshot` for how old segments go.

mod codec;
mod files;
mod frame;
mod header;
mod layout;
mod log;
mod migrate;
mod read;
mod segment;
mod snapshot;

#[cfg(test)]
mod crash;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::{path::Path, time::Instant};

use evenkeel_store::{
    journal::{Journal, JournalError, Replayed, Snapshot},
    object::Change,
};

use self::{
    files::Directory,
    log::{Limits, Log},
};

use crate::metrics::JournalMetrics;

/// A journal in a directory, which no other process may use as long as this lives.
#[derive(Debug)]
pub struct FileJournal {
    log: Log<Directory>,
    /// Writes that the next sync is for.
    appended: usize,
    metrics: Option<JournalMetrics>,
}

impl FileJournal {
    /// Makes the directory where there is none. `resources` has the names of the resources by
    /// their id, such as `configmaps` or `deployments.apps`.
    pub fn open<'a>(
        directory: &Path,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Result<FileJournal, JournalError> {
        let names = resources.into_iter().map(Box::from).collect();
        let log = Log::new(Directory::open(directory)?, names, Limits::REAL);
        Ok(FileJournal { log, appended: 0, metrics: None })
    }

    pub(crate) fn reporting(self, metrics: JournalMetrics) -> FileJournal {
        FileJournal { metrics: Some(metrics), ..self }
    }
}

impl Journal for FileJournal {
    fn append(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        let appended = self.log.append(batch);
        // After an error nothing since the last sync counts.
        self.appended = if appended.is_ok() { self.appended + batch.len() } else { 0 };
        appended
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        let (began, before) = (Instant::now(), self.log.written());
        let synced = self.log.sync();
        let appended = std::mem::take(&mut self.appended);
        if let (Some(metrics), Ok(())) = (&self.metrics, &synced) {
            metrics.sync.observe(began.elapsed().as_secs_f64());
            metrics.bytes.inc_by(self.log.written() - before);
            metrics.batch.observe(appended as f64);
        }
        synced
    }

    fn replay(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        self.log.replay(each)
    }

    fn compact(&mut self, state: &mut dyn FnMut() -> Snapshot) {
        self.log.compact(state);
    }
}
