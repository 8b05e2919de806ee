//! The commit of one batch.

use std::{sync::Arc, time::Instant};

use evenkeel_store::{
    batch::{Batch, Refused},
    journal::{Journal, JournalError},
    object::{Change, ResourceId},
    state::State,
};
use parking_lot::RwLock;

use super::{OnDecided, RESOURCES, WriteError, WriteRequest, WriteResult, reserved};
use crate::logs::millis;

type Published = Box<dyn FnMut(&[Change]) + Send>;

/// Commits batches to a journal and a state.
pub struct Committer<J> {
    journal: J,
    state: Arc<RwLock<State>>,
    published: Published,
}

/// The id of a resource, in a state and its journal; a new one if the name is new.
pub fn register(state: &mut State, journal: &mut impl Journal, name: &str) -> ResourceId {
    let resource = state.register(name);
    journal.register(resource, name);
    resource
}

impl<J: Journal> Committer<J> {
    /// `published` is called with newly visible changes.
    pub fn new(
        journal: J,
        state: Arc<RwLock<State>>,
        published: impl FnMut(&[Change]) + Send + 'static,
    ) -> Committer<J> {
        Committer { journal, state, published: Box::new(published) }
    }

    /// Commits a batch. Returns a result for each write, in order, to be sent after this returns.
    pub fn commit<O: Into<WriteRequest>>(
        &mut self,
        requests: impl IntoIterator<Item = O>,
    ) -> Vec<WriteResult> {
        // Only this thread writes, so what was staged is still valid when it is published.
        let Staged { answers, callbacks, changes } =
            staged(&self.state.read(), requests.into_iter().map(Into::into));
        let Some(last) = changes.last() else {
            run_callbacks(callbacks, &answers);
            return answers;
        };
        let span = tracing::debug_span!(
            "commit",
            writes = answers.len(),
            changes = changes.len(),
            revision = last.revision
        );
        let begun = (!span.is_disabled()).then(Instant::now);
        let _entered = span.entered();
        let (answers, changes) = match self.keep(&changes) {
            Ok(()) => (answers, changes),
            Err(full @ JournalError::Full { .. }) => self.keep_reserved(answers, changes, &full),
            Err(error) => (refused(answers.len(), error), Vec::new()),
        };
        self.publish(callbacks, &answers, &changes);
        if let Some(begun) = begun {
            let duration_ms = millis(begun.elapsed());
            match changes.is_empty() {
                true => tracing::debug!(duration_ms, "batch rejected"),
                false => tracing::debug!(duration_ms, "batch committed"),
            }
        }
        answers
    }

    /// The id of a resource; a new one if the name is new.
    pub fn register(&mut self, name: &str) -> Result<ResourceId, WriteError> {
        let state = self.state.read();
        if let Some(known) = state.resource(name) {
            return Ok(known);
        }
        if state.n_resources() >= RESOURCES {
            return Err(WriteError::TooManyResources { limit: RESOURCES });
        }
        drop(state);
        Ok(register(&mut self.state.write(), &mut self.journal, name))
    }

    /// Makes a journal that has rejected writes check whether it can accept them again.
    pub fn probe(&mut self) {
        self.journal.probe();
    }

    /// To be called after the answers were sent: the journal may have work to do.
    pub fn compact(&mut self) {
        let state = &self.state;
        self.journal.compact(&mut || state.read().clone());
    }

    /// Commits the part of a batch that shrinks the state, after it found no space.
    fn keep_reserved(
        &mut self,
        answers: Vec<WriteResult>,
        changes: Vec<Change>,
        full: &JournalError,
    ) -> (Vec<WriteResult>, Vec<Change>) {
        let (answers, changes) = reserved::stage(&self.state.read(), answers, changes, full);
        if changes.is_empty() {
            return (answers, changes);
        }
        let kept = self.journal.append_reserved(&changes).and_then(|()| self.journal.sync());
        match kept {
            Ok(()) => (answers, changes),
            Err(error) => (refused(answers.len(), error), Vec::new()),
        }
    }

    /// Under the lock, so that readers see the state and the callbacks' effects together.
    fn publish(
        &mut self,
        callbacks: Vec<(usize, OnDecided)>,
        answers: &[WriteResult],
        changes: &[Change],
    ) {
        if changes.is_empty() {
            return run_callbacks(callbacks, answers);
        }
        let mut state = self.state.write();
        run_callbacks(callbacks, answers);
        state.publish(changes);
        drop(state);
        (self.published)(changes);
    }

    fn keep(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        self.journal.append(changes)?;
        self.journal.sync()
    }
}

fn refused(n: usize, error: JournalError) -> Vec<WriteResult> {
    vec![Err(WriteError::Journal(error)); n]
}

struct Staged {
    answers: Vec<WriteResult>,
    /// Each with the index of its answer.
    callbacks: Vec<(usize, OnDecided)>,
    changes: Vec<Change>,
}

fn staged(state: &State, requests: impl Iterator<Item = WriteRequest>) -> Staged {
    let (mut answers, mut callbacks, mut batch) = (Vec::new(), Vec::new(), Batch::new());
    for WriteRequest { write, requires, then_delete, on_decided } in requests {
        callbacks.extend(on_decided.map(|on_decided| (answers.len(), on_decided)));
        let staged = match then_delete {
            _ if !batch.holds(state, &requires) => Err(Refused::Unmet),
            true => batch.stage_last(state, write),
            false => batch.stage(state, write),
        };
        answers.push(staged.map_err(WriteError::from));
    }
    Staged { answers, callbacks, changes: batch.into_changes() }
}

fn run_callbacks(callbacks: Vec<(usize, OnDecided)>, answers: &[WriteResult]) {
    for (index, on_decided) in callbacks {
        on_decided(&answers[index]);
    }
}

impl<J> std::fmt::Debug for Committer<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}
