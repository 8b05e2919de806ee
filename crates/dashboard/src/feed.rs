//! What pages are answered from: the last state that was read, and who looks. Each kind of page has a feed of its
//! own, so that nothing is read that nobody looks at.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout},
};

use crate::{fairness, mesh::MeshFeed, view::Cluster};

/// Event streams of a feed at the same time. A browser has one for each tab that is seen.
pub(crate) const MOST_STREAMS: usize = 32;

/// How long somebody looks who asked for something.
const INTEREST: Duration = Duration::from_secs(30);

/// How long an answer waits for a read after a time when nobody looked.
const CATCH_UP: Duration = Duration::from_secs(2);

/// All feeds, by what their pages are about.
#[derive(Debug)]
pub(crate) struct Feeds {
    /// The cluster's objects: the pages *Cluster* and *Service*.
    pub cluster: Feed<Shown>,
    /// Seats and queues of the API server: the page *Fairness*.
    pub fairness: Feed<fairness::Shown>,
    /// The control plane's admin pages: the page *Mesh*.
    pub mesh: MeshFeed,
}

/// Shared by a reader and all connections.
#[derive(Debug)]
pub(crate) struct Feed<T> {
    state: watch::Sender<State<T>>,
    looked: watch::Sender<Option<Instant>>,
    streams: Arc<Semaphore>,
}

/// The last state that was read.
#[derive(Clone, Debug)]
pub(crate) struct State<T> {
    /// Counts changes of what is shown.
    pub generation: u64,
    /// `None`: nothing was read yet.
    pub shown: Option<T>,
    /// Why the last read failed, if it did. What is shown is then from before.
    pub problem: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub cluster: Arc<Cluster>,
    /// The page about the whole cluster, as JSON.
    pub page: Arc<str>,
}

// === impl Feeds ===

impl Feeds {
    pub(crate) fn new() -> Feeds {
        Feeds { cluster: Feed::new(), fairness: Feed::new(), mesh: MeshFeed::new(None) }
    }
}

// === impl Feed ===

impl<T: Clone> Feed<T> {
    pub(crate) fn new() -> Feed<T> {
        Feed {
            state: watch::Sender::new(State { generation: 0, shown: None, problem: None }),
            looked: watch::Sender::default(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }

    /// Tells everyone, also if it looks the same: it may differ in what only some pages show.
    pub(crate) fn publish(&self, shown: T) {
        self.state.send_modify(|state| {
            state.generation += 1;
            state.shown = Some(shown);
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
    pub(crate) async fn look(&self) -> State<T> {
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

    pub(crate) fn follow(&self) -> watch::Receiver<State<T>> {
        self.state.subscribe()
    }

    /// A place for an event stream, if one is free.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    /// Somebody looks now, or did a short while ago, or nothing was shown yet.
    pub(crate) fn is_looked_at(&self) -> bool {
        let recent = self.looked.borrow().is_some_and(|at| at.elapsed() < INTEREST);
        recent || self.has_streams() || self.state.borrow().generation == 0
    }

    /// Returns while there is an event stream, or something was asked for a short while ago, and at the
    /// very start.
    pub(crate) async fn somebody_looks(&self) {
        let mut looked = self.looked.subscribe();
        loop {
            looked.mark_unchanged();
            if self.is_looked_at() {
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
        let feed = Feed::<()>::new();
        let waits = async |feed: &Feed<()>| {
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
        let feed = Feed::<()>::new();
        let mut held: Vec<_> = (0..MOST_STREAMS).map(|_| feed.stream().unwrap()).collect();
        assert!(feed.stream().is_none());
        held.pop();
        assert!(feed.stream().is_some());
    }
}
