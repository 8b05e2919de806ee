//! What is done with one batch.

use std::sync::Arc;

use evenkeel_store::{
    batch::{Batch, Write},
    journal::{Journal, JournalError},
    object::Change,
    state::State,
};
use parking_lot::RwLock;

use super::{Answer, WriteError};

type Published = Box<dyn FnMut(&[Change]) + Send>;

/// Commits batches to a journal and a state.
pub struct Committer<J> {
    journal: J,
    state: Arc<RwLock<State>>,
    published: Published,
}

impl<J: Journal> Committer<J> {
    /// `published` is told what readers can see from now on.
    pub fn new(
        journal: J,
        state: Arc<RwLock<State>>,
        published: impl FnMut(&[Change]) + Send + 'static,
    ) -> Committer<J> {
        Committer { journal, state, published: Box::new(published) }
    }

    /// Commits a batch. An answer for each write, in order, to be given once this has returned.
    pub fn commit(&mut self, writes: impl IntoIterator<Item = Write>) -> Vec<Answer> {
        // Only this thread writes, so what was staged still holds when it is published.
        let (answers, changes) = {
            let state = self.state.read();
            let mut batch = Batch::new();
            let staged = writes.into_iter().map(|write| batch.stage(&state, write));
            let answers: Vec<Answer> = staged.map(|staged| Ok(staged?)).collect();
            (answers, batch.into_changes())
        };
        if changes.is_empty() {
            return answers;
        }
        if let Err(error) = self.keep(&changes) {
            return vec![Err(WriteError::Journal(error)); answers.len()];
        }
        self.state.write().publish(&changes);
        (self.published)(&changes);
        answers
    }

    /// To be called when the answers were given: the journal may have something to do.
    pub fn tidy(&mut self) {
        let state = &self.state;
        self.journal.compact(&mut || state.read().snapshot());
    }

    fn keep(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        self.journal.append(changes)?;
        self.journal.sync()
    }
}

impl<J> std::fmt::Debug for Committer<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}
