//! Owns what is known of the cluster, and decides when pages are made of it.
//!
//! Changes that come within [`TOGETHER`] make one page. Where all Services have to be explained anew, as
//! after a change of Nodes, at most a quarter of the time is spent with it; changes of Services in between are
//! shown with the Nodes of before.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use evenkeel_k8s::{
    snapshot::Followed,
    watch::{Conditions, Received, Resource},
};
use evenkeel_topology::Server;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use super::Beside;
use crate::{
    feed::{Feed, Shown},
    view::{Cluster, Measured},
};

/// Changes that come within this time are shown together.
const TOGETHER: Duration = Duration::from_millis(10);

/// After the time that a page took, this many times as long is left to others.
const PAUSE_FACTOR: u32 = 3;
/// Until Services are shown anew, and until Nodes are.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE_OF_NODES: Duration = Duration::from_secs(30);

/// How often is found out that nobody looks any more.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Without these there is no page.
const NEEDED: [Resource; 3] = [Resource::Nodes, Resource::Services, Resource::EndpointSlices];

pub(super) struct Reader {
    conditions: Arc<Conditions>,
    followed: Followed,
    server: Server,
    /// What no watch brings was read, or could not be.
    is_complete: bool,
    shown: Option<Arc<Cluster>>,
    /// Since when there is something to show.
    waiting: Option<Instant>,
    next: Instant,
    next_nodes: Instant,
    problem: Option<String>,
    measured: Arc<Measured>,
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(conditions: Arc<Conditions>) -> Reader {
        let now = Instant::now();
        Reader {
            conditions,
            followed: Followed::default(),
            server: Server::default(),
            is_complete: false,
            shown: None,
            waiting: None,
            next: now,
            next_nodes: now,
            problem: None,
            measured: Arc::default(),
        }
    }

    /// Until the senders are gone.
    pub(super) async fn run(
        mut self,
        feed: &Feed<Shown>,
        mut batches: mpsc::Receiver<Received>,
        mut beside: mpsc::Receiver<Beside>,
        mut measured: mpsc::Receiver<Measured>,
    ) {
        loop {
            let due = self.due();
            let is_seen = feed.is_looked_at();
            tokio::select! {
                received = batches.recv() => match received {
                    Some(received) => self.followed.take(received.batch),
                    None => return,
                },
                read = beside.recv() => match read {
                    Some(read) => self.refresh(feed, read),
                    None => return,
                },
                counted = measured.recv() => match counted {
                    Some(counted) => self.count(counted),
                    None => return,
                },
                () = at(due), if is_seen => self.show(feed).await,
                // Whether somebody still looks.
                () = sleep(LOOK_AGAIN), if is_seen => {}
                () = feed.somebody_looks(), if !is_seen => self.waiting = Some(Instant::now()),
            }
            let is_new = self.followed.has_changed() || self.followed.has_other_nodes();
            if is_new && self.waiting.is_none() {
                self.waiting = Some(Instant::now() + TOGETHER);
            }
        }
    }

    /// Takes what no watch brings, and tells of watches that fail.
    fn refresh(&mut self, feed: &Feed<Shown>, Beside { objects, server }: Beside) {
        self.is_complete = true;
        self.server = server.unwrap_or(self.server);
        let failed = objects.map(|objects| self.followed.beside(&objects)).err();
        let now = Instant::now();
        let mut watches = NEEDED.into_iter();
        self.problem = failed.or_else(|| watches.find_map(|one| self.conditions.problem(one, now)));
        match &self.problem {
            Some(problem) => {
                tracing::warn!(problem, "reading the cluster failed");
                feed.failed(problem.clone());
            }
            None => self.waiting = Some(now),
        }
    }

    fn count(&mut self, counted: Measured) {
        if *self.measured != counted {
            self.measured = Arc::new(counted);
            self.waiting.get_or_insert_with(Instant::now);
        }
    }

    /// `None`: there is nothing to show.
    fn due(&self) -> Option<Instant> {
        let waiting = self.waiting?;
        let has_pods = self.followed.has_pods()
            || self.conditions.problem(Resource::Pods, Instant::now()).is_some();
        if !self.is_complete || !self.followed.is_listed() || !has_pods {
            return None;
        }
        // Where only Nodes differ, there is no hurry.
        let is_only_nodes = self.followed.has_other_nodes() && !self.followed.has_changed();
        let next = if is_only_nodes { self.next.max(self.next_nodes) } else { self.next };
        Some(waiting.max(next))
    }

    async fn show(&mut self, feed: &Feed<Shown>) {
        let started = Instant::now();
        let has_other_nodes = self.followed.has_other_nodes() && started >= self.next_nodes;
        if has_other_nodes {
            self.followed.renew_nodes();
        }
        let snapshot = self.followed.snapshot(seconds());
        let (before, server) = (self.shown.clone(), self.server);
        let measured = Arc::clone(&self.measured);
        let compute = move || {
            let cluster = match before {
                Some(before) => before.next(snapshot, server),
                None => Cluster::new(snapshot, server),
            };
            let cluster = cluster.map_err(|error| error.to_string())?.with_measured(measured);
            let page = serde_json::to_string(&cluster.page()).map_err(|error| error.to_string())?;
            Ok(Shown { cluster: Arc::new(cluster), page: page.into() })
        };
        // It may take long, and other tasks are not to wait for it.
        let made = tokio::task::spawn_blocking(compute).await;
        let took = started.elapsed();
        self.waiting = None;
        self.next = Instant::now() + pause(took, LONGEST_PAUSE);
        if has_other_nodes {
            self.next_nodes = Instant::now() + pause(took, LONGEST_PAUSE_OF_NODES);
        }
        match made.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(shown) => {
                tracing::debug!(?took, services = shown.cluster.renewed(), "computed the pages");
                self.shown = Some(Arc::clone(&shown.cluster));
                feed.publish(shown);
            }
            Err::<_, String>(problem) => {
                tracing::warn!(problem, "computing the pages failed");
                feed.failed(problem);
            }
        }
        if let Some(problem) = &self.problem {
            feed.failed(problem.clone());
        }
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn pause(took: Duration, longest: Duration) -> Duration {
    (took * PAUSE_FACTOR).min(longest)
}

/// Now, since 1970.
fn seconds() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_change_is_shown_at_once_and_many_with_pauses() {
        assert!(
            TOGETHER + pause(Duration::from_millis(10), LONGEST_PAUSE) < Duration::from_millis(50)
        );
        assert_eq!(pause(Duration::from_secs(2), LONGEST_PAUSE), LONGEST_PAUSE);
        assert_eq!(pause(Duration::from_secs(2), LONGEST_PAUSE_OF_NODES), Duration::from_secs(6));
        assert_eq!(pause(Duration::from_secs(60), LONGEST_PAUSE_OF_NODES), LONGEST_PAUSE_OF_NODES);
    }
}
