//! Events expire an hour after their last write, like Kubernetes' leases in etcd.
//!
//! Expiry times are kept in order, so a pass costs the expired Events and those written since the
//! last pass. For an Event listed at startup, its own timestamps tell when it was written.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use evenkeel_store::{Object, Revision};
use jiff::{SignedDuration, Timestamp};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::{
    api::Api,
    chain::actor::Actor,
    document,
    follow::{Follower, News},
    identity::actors,
    kinds::EVENT,
    registry::{DeleteOptions, Target},
};

const KEPT: SignedDuration = SignedDuration::from_hours(1);
const LOOK: Duration = Duration::from_secs(1);
/// Delay before a failed delete is retried.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);
/// Deletes in a row before yielding.
const MOST: usize = 1_000;

/// Runs until the server stops.
pub(crate) async fn expire_events(api: Arc<Api>) {
    let mut follower = Follower::new([EVENT.id()]);
    let mut ends = Expirations::default();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            () = api.stop.cancelled() => return,
        }
        let now = Timestamp::now();
        loop {
            let piece = follower.next(&api.storage.state());
            if piece.restarted {
                ends = Expirations::default();
            }
            piece.news.iter().for_each(|news| ends.take(news, now));
            if !piece.more {
                break;
            }
            tokio::task::yield_now().await;
        }
        forget(&api, &mut ends, now).await;
    }
}

async fn forget(api: &Api, ends: &mut Expirations, now: Timestamp) {
    loop {
        let due = ends.due(now, MOST);
        let target = |(key, revision): &(Box<str>, Revision)| {
            let resource_version = Some(revision.to_string());
            Target {
                kind: EVENT.clone(),
                key: key.clone(),
                options: DeleteOptions { resource_version, ..DeleteOptions::default() },
            }
        };
        let targets: Vec<Target> = due.iter().map(target).collect();
        for (index, error) in Actor::new(api, &actors::APISERVER).delete_each(&targets).await {
            // An Event written meanwhile already has a new expiry time.
            if !error.is_overtaken() {
                tracing::warn!(event = &*due[index].0, %error, "deleting an expired Event failed");
                let (key, revision) = &due[index];
                ends.set(key, later(now, AGAIN), *revision);
            }
        }
        if due.len() < MOST {
            return;
        }
    }
}

/// The expiry time of each Event.
#[derive(Debug, Default)]
struct Expirations {
    of: FxHashMap<Box<str>, (Timestamp, Revision)>,
    order: BTreeSet<(Timestamp, Box<str>)>,
}

impl Expirations {
    fn take(&mut self, news: &News, now: Timestamp) {
        match (&news.after, &news.before) {
            (Some(event), _) => {
                let written = if news.listed { written(event, now) } else { now };
                self.set(&event.key, later(written, KEPT), event.revision);
            }
            (None, Some(event)) => self.unset(&event.key),
            (None, None) => {}
        }
    }

    fn set(&mut self, key: &str, end: Timestamp, revision: Revision) {
        self.unset(key);
        self.of.insert(key.into(), (end, revision));
        self.order.insert((end, key.into()));
    }

    fn unset(&mut self, key: &str) {
        if let Some((key, (end, _))) = self.of.remove_entry(key) {
            self.order.remove(&(end, key));
        }
    }

    /// Removes and returns up to `most` expired Events.
    fn due(&mut self, now: Timestamp, most: usize) -> Vec<(Box<str>, Revision)> {
        let mut due = Vec::new();
        while due.len() < most && self.order.first().is_some_and(|(end, _)| *end <= now) {
            let Some((_, key)) = self.order.pop_first() else { break };
            let revision = self.of.remove(&key).map_or(0, |(_, revision)| revision);
            due.push((key, revision));
        }
        due
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// When an Event was last written, according to its timestamps; never in the future.
fn written(event: &Object, now: Timestamp) -> Timestamp {
    let text = document::text(&EVENT, event, event.revision);
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let times = [
        &value["lastTimestamp"],
        &value["series"]["lastObservedTime"],
        &value["eventTime"],
        &value["metadata"]["creationTimestamp"],
    ];
    let last = times.iter().filter_map(|time| time.as_str()?.parse().ok()).max();
    last.unwrap_or(now).min(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    fn event(key: &str, revision: Revision, encoded: &str) -> Arc<Object> {
        Arc::new(Object {
            key: key.into(),
            revision,
            labels: [].into(),
            fields: [].into(),
            encoded: encoded.as_bytes().to_vec().into(),
        })
    }

    fn news(before: Option<&Arc<Object>>, after: Option<&Arc<Object>>, listed: bool) -> News {
        News { resource: EVENT.id(), before: before.cloned(), after: after.cloned(), listed }
    }

    #[test]
    fn an_event_ends_an_hour_after_its_last_write() {
        let mut ends = Expirations::default();
        let [a, b, a2, c] =
            [("n/a", 1), ("n/b", 2), ("n/a", 3), ("n/c", 4)].map(|(key, n)| event(key, n, "}}"));
        ends.take(&news(None, Some(&a), false), at(0));
        ends.take(&news(None, Some(&b), false), at(1));
        ends.take(&news(Some(&a), Some(&a2), false), at(30));
        ends.take(&news(None, Some(&c), false), at(31));
        ends.take(&news(Some(&c), None, false), at(32));
        assert_eq!(ends.due(at(60), MOST), []);
        assert_eq!(ends.due(at(61), MOST), [("n/b".into(), 2)]);
        assert_eq!(ends.due(at(600), MOST), [("n/a".into(), 3)]);
        assert!(ends.of.is_empty() && ends.order.is_empty());
    }

    #[test]
    fn a_listed_event_expires_by_its_own_timestamps() {
        let now = at(100);
        for (encoded, expected) in [
            (r#""creationTimestamp":"1970-01-01T00:10:00Z"}}"#, at(10)),
            (
                r#""creationTimestamp":"1970-01-01T00:10:00Z"},"lastTimestamp":"1970-01-01T00:20:00Z"}"#,
                at(20),
            ),
            (
                r#""creationTimestamp":"1970-01-01T00:10:00Z"},"eventTime":"2970-01-01T00:20:00Z"}"#,
                now,
            ),
            (r#""creationTimestamp":"x"}}"#, now),
            ("\u{1}", now),
        ] {
            assert_eq!(written(&event("n/a", 1, encoded), now), expected, "{encoded}");
        }
    }

    #[test]
    fn at_most_this_many_expire_at_once() {
        let mut ends = Expirations::default();
        (0..10).for_each(|i| ends.set(&format!("n/{i}"), at(i), 1));
        assert_eq!(ends.due(at(100), 4).len(), 4);
        assert_eq!(ends.due(at(100), 100).len(), 6);
    }
}
