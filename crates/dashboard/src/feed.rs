//! What pages are answered from: the last state that was read, and who looks.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep},
};

use crate::view::Cluster;

/// Event streams at the same time. A browser has one for each tab that is seen.
pub(crate) const MOST_STREAMS: usize = 32;

/// Shared by the reader of the cluster and all connections.
#[derive(Debug)]
pub(crate) struct Feed {
    state: watch::Sender<State>,
    looked: watch::Sender<Option<Instant>>,
    streams: Arc<Semaphore>,
}

/// The last state that was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Counts changes of what is shown.
    pub generation: u64,
    /// `None`: nothing was read yet.
    pub shown: Option<Shown>,
    /// Why the last read failed, if it did. What is shown is then from before.
    pub problem: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub cluster: Arc<Cluster>,
    /// The page about the whole cluster, as JSON.
    pub page: Arc<str>,
}

// === impl Feed ===

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed {
            state: watch::Sender::default(),
            looked: watch::Sender::default(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }

    /// Tells everyone. A cluster that looks the same may differ in what only the page of a Service shows.
    pub(crate) fn publish(&self, cluster: Arc<Cluster>, page: String) {
        let page: Arc<str> = page.into();
        self.state.send_modify(|state| {
            state.generation += 1;
            state.shown = Some(Shown { cluster, page });
            state.problem = None;
        });
    }

    pub(crate) fn failed(&self, problem: String) {
        self.state.send_modify(|state| {
            state.generation += 1;
            state.problem = Some(problem.into());
        });
    }

    /// The last state; somebody looks at it.
    pub(crate) fn look(&self) -> State {
        self.looked.send_replace(Some(Instant::now()));
        self.state.borrow().clone()
    }

    pub(crate) fn follow(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// A place for an event stream, if one is free.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Returns while there is an event stream, or something was asked for within `interest`, and at the
    /// very start.
    pub(crate) async fn somebody_looks(&self, interest: Duration) {
        if self.state.borrow().generation == 0 {
            return;
        }
        let mut looked = self.looked.subscribe();
        loop {
            let recent = looked.borrow_and_update().is_some_and(|at| at.elapsed() < interest);
            if recent || self.streams.available_permits() < MOST_STREAMS {
                return;
            }
            // The sender is a field of `self`.
            if looked.changed().await.is_err() {
                sleep(interest).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cluster_is_read_while_somebody_looks() {
        let feed = Feed::new();
        let interest = Duration::from_secs(30);
        let waits = async |feed: &Feed| {
            let looks = feed.somebody_looks(interest);
            tokio::time::timeout(Duration::from_secs(1), looks).await.is_err()
        };
        assert!(!waits(&feed).await, "the first state is read for whoever comes");
        feed.failed("no cluster".to_owned());
        assert!(waits(&feed).await);
        feed.look();
        assert!(!waits(&feed).await);
        sleep(interest).await;
        assert!(waits(&feed).await);
        let stream = feed.stream();
        assert!(stream.is_some() && !waits(&feed).await);
    }

    #[test]
    fn streams_are_bounded() {
        let feed = Feed::new();
        let mut held: Vec<_> = (0..MOST_STREAMS).map(|_| feed.stream().unwrap()).collect();
        assert!(feed.stream().is_none());
        held.pop();
        assert!(feed.stream().is_some());
    }
}
