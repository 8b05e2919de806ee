//! Who has seats of the API server and who waits, as it is now.
//!
//! There is no watch for it: while somebody looks, everything is read about twice a second, but at most
//! a quarter of the time is spent with reading. What can't be read is missing from the page, and the page
//! says so.

mod ask;

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::live::{self, LiveError};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::time::{Instant, sleep, timeout};

use self::ask::{Answer, PATIENCE, text};
use crate::{
    feed::Feeds,
    view::fairness::{Absent, FairnessPage, History, Listed, Part, Reading, Texts, page},
};

/// From the beginning of a read to that of the next one.
const PERIOD: Duration = Duration::from_millis(500);
/// Of the time, at most a quarter is spent with reading.
const PAUSE_FACTOR: u32 = 3;

/// A clock that is less far off is the same.
const SAME_CLOCK: SignedDuration = SignedDuration::from_secs(2);

const DUMPS: [&str; 3] = [
    "/debug/api_priority_and_fairness/dump_priority_levels",
    "/debug/api_priority_and_fairness/dump_queues",
    "/debug/api_priority_and_fairness/dump_requests",
];
const METRICS: &str = "/metrics";
/// A full server has some ten thousand requests, of about 200 bytes each.
const MOST_DUMP: usize = 8 << 20;
const MOST_METRICS: usize = 32 << 20;

/// What the page is answered from.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub reading: Arc<Reading>,
    pub page: Arc<FairnessPage>,
    /// The page as JSON.
    pub json: Arc<str>,
}

/// Reads the API server until it is dropped.
pub(crate) async fn follow(client: Client, feeds: Arc<Feeds>) {
    let feed = &feeds.fairness;
    let mut history = History::default();
    loop {
        feed.somebody_looks().await;
        let started = Instant::now();
        let (texts, now) = read(&client).await;
        match shown(texts, now, &mut history).await {
            Ok(shown) => feed.publish(shown),
            Err(problem) => {
                tracing::warn!(%problem, "reading priority and fairness failed");
                feed.failed(problem);
            }
        }
        sleep(pause(started.elapsed())).await;
    }
}

fn pause(took: Duration) -> Duration {
    (took * PAUSE_FACTOR).max(PERIOD.saturating_sub(took))
}

/// All parts, at the same time, and when that was by the clock of the server.
async fn read(client: &Client) -> (Texts, Timestamp) {
    let [levels, queues, requests] = DUMPS.map(|path| text(client, path, MOST_DUMP));
    let metrics = text(client, METRICS, MOST_METRICS);
    let (levels, queues, requests, metrics, objects) =
        tokio::join!(levels, queues, requests, metrics, objects(client));
    let now = now(Timestamp::now(), requests.as_ref().ok().and_then(|answer| answer.date));
    let only = |part: Part<Answer>| part.map(|answer| answer.text);
    let [levels, queues, requests, metrics] = [levels, queues, requests, metrics].map(only);
    (Texts { levels, queues, requests, metrics, objects }, now)
}

/// The server's date has whole seconds, so it counts only where the clocks differ.
fn now(own: Timestamp, server: Option<Timestamp>) -> Timestamp {
    server.filter(|date| date.duration_since(own).abs() > SAME_CLOCK).unwrap_or(own)
}

async fn objects(client: &Client) -> Part<Listed> {
    let listed = timeout(PATIENCE, live::flow_control(client)).await;
    match listed.map_err(|_| Absent::TimedOut { seconds: PATIENCE.as_secs() })? {
        Ok(live::FlowControl { levels, schemas }) => Ok(Listed { levels, schemas }),
        Err(LiveError::Refused { code, .. }) => Err(Absent::Refused { code }),
        Err(error) => Err(Absent::Failed { reason: error.to_string() }),
    }
}

async fn shown(texts: Texts, now: Timestamp, history: &mut History) -> Result<Shown, String> {
    // It may be large, and other tasks are not to wait for it.
    let parse = tokio::task::spawn_blocking(move || Reading::parse(texts));
    let reading = parse.await.map_err(|error| error.to_string())?;
    if let Some(absent) = reading.failure() {
        return Err(absent.to_string());
    }
    let since = reading.metrics.as_ref().ok().and_then(|metrics| history.push(now, metrics));
    let compute = tokio::task::spawn_blocking(move || {
        let page = page(&reading, since.as_ref(), now);
        let json = serde_json::to_string(&page).map_err(|error| error.to_string())?;
        Ok(Shown { reading: Arc::new(reading), page: Arc::new(page), json: json.into() })
    });
    compute.await.unwrap_or_else(|error| Err(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_server_is_read_twice_a_second_and_a_slow_one_a_quarter_of_the_time() {
        assert_eq!(pause(Duration::from_millis(20)), Duration::from_millis(480));
        assert_eq!(pause(Duration::from_millis(400)), Duration::from_millis(1200));
        assert_eq!(pause(Duration::from_secs(3)), Duration::from_secs(9));
    }

    #[test]
    fn the_clock_of_the_server_counts_where_it_differs() {
        let own: Timestamp = "2026-11-19T21:00:00.7Z".parse().unwrap();
        let near = "2026-11-19T21:00:00Z".parse().unwrap();
        let far = "2026-11-19T21:05:00Z".parse().unwrap();
        assert_eq!([now(own, None), now(own, Some(near)), now(own, Some(far))], [own, own, far]);
    }
}
