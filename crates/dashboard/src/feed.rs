//! What pages are answered from: the last state that was read, and who looks.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout},
};

use crate::view::Cluster;

/// Event streams at the same time. A browser has one for each tab that is seen.
pub(crate) const MOST_STREAMS: usize = 32;

/// How long somebody looks who asked for something.
const INTEREST: Duration = Duration::from_secs(30);

/// How long an answer waits for a read after a time when nobody looked.
const CATCH_UP: Duration = Duration::from_secs(2);

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

    /// The last state. If nobody had looked for a while, and so nothing was read, it is read first.
    pub(crate) async fn look(&self) -> State {
        let mut states = self.state.subscribe();
        let is_read = states.borrow_and_update().shown.is_some();
        if !self.touch() && is_read {
            // Late is better than never: an old state is told anew once there is another.
            let _ = timeout(CATCH_UP, states.changed()).await;
        }
        states.borrow().clone()
    }

    /// Somebody looks. Whether somebody did before.
    pub(crate) fn touch(&self) -> bool {
        let before = self.looked.send_replace(Some(Instant::now()));
        before.is_some_and(|at| at.elapsed() < INTEREST) || self.has_streams()
    }

    fn has_streams(&self) -> bool {
        self.streams.available_permits() < MOST_STREAMS
    }

    pub(crate) fn follow(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// A place for an event stream, if one is free.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Returns while there is an event stream, or something was asked for a short while ago, and at the
    /// very start.
    pub(crate) async fn somebody_looks(&self) {
        if self.state.borrow().generation == 0 {
            return;
        }
        let mut looked = self.looked.subscribe();
        loop {
            let recent = looked.borrow_and_update().is_some_and(|at| at.elapsed() < INTEREST);
            if recent || self.has_streams() {
                return;
            }
            // The sender is a field of `self`.
            if looked.changed().await.is_err() {
                sleep(INTEREST).await;
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
        let waits = async |feed: &Feed| {
            let looks = feed.somebody_looks();
            timeout(Duration::from_secs(1), looks).await.is_err()
        };
        assert!(!waits(&feed).await, "the first state is read for whoever comes");
        feed.failed("no cluster".to_owned());
        assert!(waits(&feed).await);
        assert!(!feed.touch() && feed.touch());
        assert!(!waits(&feed).await);
        sleep(INTEREST).await;
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
