//! What is done with one batch.

use std::sync::Arc;

use evenkeel_store::{
    batch::{Batch, Write},
    journal::{Journal, JournalError},
    object::Change,
    state::State,
};
use parking_lot::RwLock;

use super::{Answer, WriteError, reserved};

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
        match self.keep(&changes) {
            Ok(()) => {
                self.publish(&changes);
                answers
            }
            Err(full @ JournalError::Full { .. }) => self.commit_reserved(answers, changes, &full),
            Err(error) => refused(answers.len(), error),
        }
    }

    /// Tries whether a journal that has refused writes would keep them again.
    pub fn probe(&mut self) {
        self.journal.probe();
    }

    /// To be called when the answers were given: the journal may have something to do.
    pub fn tidy(&mut self) {
        let state = &self.state;
        self.journal.compact(&mut || state.read().clone());
    }

    /// Of a batch that found no space, what makes the state smaller.
    fn commit_reserved(
        &mut self,
        answers: Vec<Answer>,
        changes: Vec<Change>,
        full: &JournalError,
    ) -> Vec<Answer> {
        let (answers, changes) = reserved::stage(&self.state.read(), answers, changes, full);
        if changes.is_empty() {
            return answers;
        }
        let kept = self.journal.append_reserved(&changes).and_then(|()| self.journal.sync());
        if let Err(error) = kept {
            return refused(answers.len(), error);
        }
        self.publish(&changes);
        answers
    }

    fn publish(&mut self, changes: &[Change]) {
        self.state.write().publish(changes);
        (self.published)(changes);
    }

    fn keep(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        self.journal.append(changes)?;
        self.journal.sync()
    }
}

fn refused(n: usize, error: JournalError) -> Vec<Answer> {
    vec![Err(WriteError::Journal(error)); n]
}

impl<J> std::fmt::Debug for Committer<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").finish_non_exhaustive()
    }
}
