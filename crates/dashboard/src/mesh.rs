//! The mesh as its control plane says it is now.
//!
//! The control plane has no watches, so its admin pages are read a few times a second while somebody looks, and
//! not otherwise. Besides the mesh as a whole, those proxies are read whose own pages were asked for lately.
//! Event streams are told if something differs, and now and then if nothing does, so that who still looks at a
//! proxy asks for it again.
//!
//! ```text
//!   somebody looks? ──► GET /mesh/proxies, propagation, policies ──► view ──► differs? ──► Feed
//!        ▲              GET /mesh/inspect of each proxy looked at               │
//!        └──── pause: at least 150 ms, three times as long as it took ──────────┘
//! ```

mod read;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until, timeout},
};

use self::read::{Inspected, Known};
use crate::{
    feed::Feed,
    view::mesh::{self, MeshPage},
};

const SHORTEST_PAUSE: Duration = Duration::from_millis(150);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Of the time, at most a quarter is spent with reading.
const PAUSE_FACTOR: u32 = 3;
/// For all pages of one read together.
const PATIENCE: Duration = Duration::from_secs(10);

/// Proxies that are read along with the mesh.
const MOST_WANTED: usize = 8;
/// How long somebody looks who asked for a proxy.
const INTEREST: Duration = Duration::from_secs(30);
/// Shorter than [`INTEREST`]: who looks asks again.
const SAY_ANYWAY: Duration = Duration::from_secs(10);
/// Proxies that are read at the same time for pages that are asked for the first time.
const MOST_READ: usize = 4;

/// What the pages about the mesh are answered from, and who looks.
#[derive(Debug)]
pub(crate) struct MeshFeed {
    /// Of the control plane's admin pages; `None`: none is known.
    url: Option<Arc<str>>,
    pub feed: Feed<Shown>,
    wanted: Mutex<BTreeMap<ProxyName, Instant>>,
    places: Semaphore,
}

/// What was read, and the page about the mesh as a whole as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    page: Arc<str>,
    known: Arc<Known>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProxyName {
    pub mesh: String,
    pub dataplane: String,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPage {
    NotRead,
    Missing,
    Failed(String),
}

/// Reads the control plane until it is dropped.
pub(crate) async fn follow(mesh: &MeshFeed) {
    // Without one there is nothing to read, ever.
    let Some(url) = &mesh.url else { return std::future::pending().await };
    let mut told = Told::default();
    loop {
        // Who comes after a time when nobody looked waits for a read, whether or not it differs.
        told.is_awaited |= !mesh.feed.is_looked_at();
        mesh.feed.somebody_looks().await;
        let started = Instant::now();
        let read = timeout(PATIENCE, read::read(url, mesh.wanted(started))).await;
        told.tell(&mesh.feed, url, read.unwrap_or_else(|_| Err("timed out".to_owned())));
        let took = started.elapsed();
        sleep_until(started + took + pause(took)).await;
    }
}

fn pause(took: Duration) -> Duration {
    (took * PAUSE_FACTOR).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// What was told last.
#[derive(Default)]
struct Told {
    shown: Option<Shown>,
    problem: Option<String>,
    at: Option<Instant>,
    /// Somebody waits for the next read.
    is_awaited: bool,
}

// === impl Told ===

impl Told {
    fn tell(&mut self, feed: &Feed<Shown>, url: &str, read: Result<Shown, String>) {
        let is_due = self.is_awaited || self.at.is_none_or(|at| at.elapsed() > SAY_ANYWAY);
        match read {
            Ok(shown) => {
                let is_same = self.problem.is_none()
                    && self.shown.as_ref().is_some_and(|last| last.looks_like(&shown));
                if is_same && !is_due {
                    return;
                }
                self.problem = None;
                feed.publish(shown.clone());
                self.shown = Some(shown);
            }
            Err(problem) => {
                let is_same = self.problem.as_ref() == Some(&problem);
                if is_same && !is_due {
                    return;
                }
                if !is_same {
                    tracing::warn!(%url, %problem, "reading the control plane failed");
                }
                match &self.shown {
                    Some(_) => feed.failed(problem.clone()),
                    None => feed.publish(Shown::only(&mesh::unreachable(&problem))),
                }
                self.problem = Some(problem);
            }
        }
        (self.at, self.is_awaited) = (Some(Instant::now()), false);
    }
}

// === impl MeshFeed ===

impl MeshFeed {
    pub(crate) fn new(url: Option<&str>) -> MeshFeed {
        MeshFeed {
            url: url.map(|url| url.trim_end_matches('/').into()),
            feed: Feed::new(),
            wanted: Mutex::default(),
            places: Semaphore::new(MOST_READ),
        }
    }

    /// The page about the mesh as a whole, as JSON.
    pub(crate) async fn page(&self) -> Result<Arc<str>, NoPage> {
        if self.url.is_none() {
            return Ok(Shown::only(&mesh::none()).page);
        }
        self.feed.look().await.shown.map(|shown| shown.page).ok_or(NoPage::NotRead)
    }

    /// The page of a proxy, as JSON; `cluster`: the only destination to show whole.
    pub(crate) async fn proxy(
        &self,
        name: ProxyName,
        cluster: Option<&str>,
    ) -> Result<String, NoPage> {
        let Some(url) = &self.url else { return Err(NoPage::Missing) };
        self.want(&name);
        let known = self.feed.look().await.shown.ok_or(NoPage::NotRead)?.known;
        let inspected = match known.inspected.get(&name) {
            Some(inspected) => inspected.clone(),
            None => {
                let _place = self.places.acquire().await.map_err(|_| NoPage::NotRead)?;
                read::inspect(url, &name).await
            }
        };
        match inspected {
            Inspected::Missing => Err(NoPage::Missing),
            Inspected::Failed(problem) => Err(NoPage::Failed(problem)),
            Inspected::Found(found) => {
                let ProxyName { mesh, dataplane } = &name;
                let page = mesh::proxy((mesh, dataplane), &found, &known.mesh.proxies, cluster);
                serde_json::to_string(&page).map_err(|error| NoPage::Failed(error.to_string()))
            }
        }
    }

    fn want(&self, name: &ProxyName) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.insert(name.clone(), Instant::now());
        if wanted.len() > MOST_WANTED {
            let oldest = wanted.iter().min_by_key(|(_, at)| **at).map(|(name, _)| name.clone());
            oldest.map(|name| wanted.remove(&name));
        }
    }

    fn wanted(&self, now: Instant) -> Vec<ProxyName> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.retain(|_, at| now.saturating_duration_since(*at) < INTEREST);
        wanted.keys().cloned().collect()
    }
}

// === impl Shown ===

impl Shown {
    /// A page about which nothing more is known.
    fn only(page: &MeshPage) -> Shown {
        let page = serde_json::to_string(page).unwrap_or_default();
        Shown { page: page.into(), known: Arc::default() }
    }

    /// How old changes are differs with each read, and is not looked at further than the page shows it.
    fn looks_like(&self, other: &Shown) -> bool {
        let (a, b) = (&self.known, &other.known);
        self.page == other.page && a.mesh.proxies == b.mesh.proxies && a.inspected == b.inspected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_a_few_times_a_second_and_seldom_if_that_takes_long() {
        assert_eq!(pause(Duration::ZERO), SHORTEST_PAUSE);
        assert_eq!(pause(Duration::from_secs(2)), Duration::from_secs(6));
        assert_eq!(pause(PATIENCE), LONGEST_PAUSE);
    }

    #[test]
    fn only_what_somebody_looked_at_lately_is_wanted() {
        let mesh = MeshFeed::new(Some("http://127.0.0.1:1/"));
        for n in 0..20 {
            mesh.want(&ProxyName { mesh: "default".to_owned(), dataplane: format!("p{n:02}") });
        }
        let wanted = mesh.wanted(Instant::now());
        assert_eq!(wanted.len(), MOST_WANTED);
        assert!(wanted.iter().any(|name| name.dataplane == "p19"), "{wanted:?}");
        assert_eq!(mesh.wanted(Instant::now() + INTEREST), []);
    }
}
