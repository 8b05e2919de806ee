//! The journal's files: durability for the store.
//!
//! A directory holds segments of checksummed frames, one batch each, and at most one snapshot that
//! replaces the segments before it. See `layout` for the file names, `frame` for crash recovery,
//! `names` for resources that come and go, `log` for failure handling, `log::full` for a full disk,
//! `snapshot` for the removal of old segments, `migrate` for older formats.

mod codec;
mod files;
mod frame;
mod header;
mod layout;
mod log;
mod migrate;
mod names;
mod read;
mod reading;
mod reserve;
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
    journal::{Journal, JournalError, Replayed},
    object::{Change, ResourceId},
    state::State,
};
use tokio::sync::watch;

use self::{
    files::Directory,
    log::{Limits, Log},
    names::Names,
};

use crate::metrics::JournalMetrics;

/// Whether writes are accepted, or why not.
pub(crate) type Writable = Result<(), String>;

/// A journal in a directory, locked against other processes while this lives.
#[derive(Debug)]
pub struct FileJournal {
    log: Log<Directory>,
    /// Number of writes since the last sync.
    appended: usize,
    metrics: Option<JournalMetrics>,
    writable: watch::Sender<Writable>,
}

impl FileJournal {
    /// Creates the directory if it does not exist. `resources` has the names of the built-in
    /// resources by their id, such as `configmaps` or `deployments.apps`. Others that the files
    /// contain are registered by the replay.
    pub fn open<'a>(
        directory: &Path,
        resources: impl IntoIterator<Item = &'a str>,
    ) -> Result<FileJournal, JournalError> {
        let log = Log::new(Directory::open(directory)?, Names::new(resources), Limits::REAL);
        let (writable, _) = watch::channel(Ok(()));
        Ok(FileJournal { log, appended: 0, metrics: None, writable })
    }

    pub(crate) fn reporting(self, metrics: JournalMetrics) -> FileJournal {
        FileJournal { metrics: Some(metrics), ..self }
    }

    pub(crate) fn writable(&self) -> watch::Receiver<Writable> {
        self.writable.subscribe()
    }

    /// Reports once that writes are rejected from now on, or accepted again.
    fn report(&self, error: Option<&JournalError>) {
        if let Some(metrics) = &self.metrics {
            metrics.failed.inc_by(u64::from(error.is_some()));
            metrics.writable.set(i64::from(self.log.is_writable()));
        }
        let was_writable = self.writable.borrow().is_ok();
        match (was_writable, self.log.is_writable()) {
            (true, false) => {
                let why = error.map_or_else(|| "no space left".to_owned(), ToString::to_string);
                tracing::error!(error = why, "journal is not writable: only deletes are accepted");
                let _ = self.writable.send_replace(Err(why));
            }
            (false, true) => {
                tracing::info!("journal is writable again");
                let _ = self.writable.send_replace(Ok(()));
            }
            _ => {}
        }
    }
}

impl Journal for FileJournal {
    fn append(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        let appended = self.log.append(batch);
        // After an error everything since the last sync is discarded.
        self.appended = if appended.is_ok() { self.appended + batch.len() } else { 0 };
        self.report(appended.as_ref().err());
        appended
    }

    fn append_reserved(&mut self, batch: &[Change]) -> Result<(), JournalError> {
        let appended = self.log.append_reserved(batch);
        self.appended = if appended.is_ok() { batch.len() } else { 0 };
        self.report(appended.as_ref().err());
        appended
    }

    fn register(&mut self, resource: ResourceId, name: &str) {
        self.log.register(resource, name);
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
        self.report(synced.as_ref().err());
        synced
    }

    fn replay(&mut self, each: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        let replayed = self.log.replay(each);
        self.report(None);
        replayed
    }

    fn compact(&mut self, state: &mut dyn FnMut() -> State) {
        self.log.compact(state);
        self.report(None);
    }

    fn probe(&mut self) {
        self.log.probe();
        self.report(None);
    }
}
