//! What becomes of an Event: a new object, one more in the count of an object, or nothing.
//!
//! As in Kubernetes' correlator (`client-go/tools/record/events_cache.go`): the same Event about
//! the same Service again counts on, and of each Service a bucket of 25 tokens, one more every five
//! minutes, lets Events through. Memory is bounded: what was used longest ago is forgotten, at worst
//! an object more than needed. One decision costs O(log [`REMEMBERED`]).

use std::sync::Arc;

use evenkeel_model::ServiceKey;
use jiff::{SignedDuration, Timestamp};

use crate::{engine::ServiceEvent, recent::Recent};

const REMEMBERED: usize = 4096;

/// The same Event counts on if the last one is not older.
const SAME: SignedDuration = SignedDuration::from_mins(10);

const BURST: f64 = 25.0;

const REFILL: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug)]
pub(super) struct Correlator {
    records: Recent<Key, Record>,
    buckets: Recent<(ServiceKey, Arc<str>), Bucket>,
    /// The time in the last name given, in nanoseconds: no two Events of ours have one name.
    named: i128,
}

/// The Event's object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) count: i32,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Create(Record),
    Patch(Record),
    Drop,
}

/// What makes two Events the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    service: ServiceKey,
    uid: Arc<str>,
    warning: bool,
    reason: &'static str,
    message: String,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

// === impl Correlator ===

impl Default for Correlator {
    fn default() -> Correlator {
        Correlator { records: Recent::new(REMEMBERED), buckets: Recent::new(REMEMBERED), named: 0 }
    }
}

impl Correlator {
    pub(super) fn decide(&mut self, event: &ServiceEvent, now: Timestamp) -> Decision {
        let may_pass = self.may_pass(event, now);
        let key = Key::of(event);
        if let Some(record) = self.records.get(&key)
            && now.duration_since(record.last) < SAME
        {
            // One that is dropped counts too, and shows with the next.
            record.count = record.count.saturating_add(1);
            record.last = now.max(record.last);
            return if may_pass { Decision::Patch(record.clone()) } else { Decision::Drop };
        }
        if !may_pass {
            return Decision::Drop;
        }
        let record = Record { name: self.name(event, now), count: 1, first: now, last: now };
        self.records.insert(key, record.clone());
        Decision::Create(record)
    }

    fn may_pass(&mut self, event: &ServiceEvent, now: Timestamp) -> bool {
        let of = (event.service.clone(), Arc::clone(&event.uid));
        if let Some(bucket) = self.buckets.get(&of) {
            return bucket.take(now);
        }
        self.buckets.insert(of, Bucket { tokens: BURST - 1.0, at: now });
        true
    }

    fn name(&mut self, event: &ServiceEvent, now: Timestamp) -> String {
        self.named = now.as_nanosecond().max(self.named + 1);
        format!("{}.{:x}", event.service.name, self.named)
    }
}

// === impl Key ===

impl Key {
    fn of(event: &ServiceEvent) -> Key {
        let ServiceEvent { service, uid, warning, reason, message } = event.clone();
        Key { service, uid, warning, reason, message }
    }
}

// === impl Bucket ===

impl Bucket {
    /// A clock that is set back refills nothing, and takes nothing away.
    fn take(&mut self, now: Timestamp) -> bool {
        let passed = now.duration_since(self.at).max(SignedDuration::ZERO);
        self.at = now;
        self.tokens = BURST.min(self.tokens + passed.div_duration_f64(REFILL));
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(service: &str, reason: &'static str, message: &str) -> ServiceEvent {
        ServiceEvent {
            service: ServiceKey::new("shop", service),
            uid: "u".into(),
            warning: true,
            reason,
            message: message.to_owned(),
        }
    }

    /// Seconds after a moment in 2026.
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// What becomes of the event, and the count its object has then.
    fn decide(
        correlator: &mut Correlator,
        event: &ServiceEvent,
        seconds: i64,
    ) -> (&'static str, i32) {
        match correlator.decide(event, at(seconds)) {
            Decision::Create(record) => ("create", record.count),
            Decision::Patch(record) => ("patch", record.count),
            Decision::Drop => ("drop", 0),
        }
    }

    #[test]
    fn the_same_event_counts_on_for_ten_minutes() {
        let mut correlator = Correlator::default();
        let web = event("web", "Disabled", "too few nodes");
        let rows = [
            (&web, 0, ("create", 1)),
            (&web, 1, ("patch", 2)),
            (&event("web", "Disabled", "another reason"), 1, ("create", 1)),
            (&event("web", "Enabled", "too few nodes"), 1, ("create", 1)),
            (&event("api", "Disabled", "too few nodes"), 1, ("create", 1)),
            (&ServiceEvent { uid: "v".into(), ..web.clone() }, 2, ("create", 1)),
            (&ServiceEvent { warning: false, ..web.clone() }, 2, ("create", 1)),
            (&web, 600, ("patch", 3)),
            (&web, 1199, ("patch", 4)),
            (&web, 1799, ("create", 1)),
            (&web, 1700, ("patch", 2)),
        ];
        for (event, seconds, expected) in rows {
            let given = decide(&mut correlator, event, seconds);
            assert_eq!(given, expected, "{event:?} after {seconds} s");
        }
    }

    #[test]
    fn the_object_keeps_its_name_and_first_time_and_no_two_have_one_name() {
        let mut correlator = Correlator::default();
        let web = event("web", "Disabled", "too few nodes");
        let Decision::Create(first) = correlator.decide(&web, at(0)) else { panic!("is new") };
        let nanoseconds = 1_800_000_000_000_000_000_i64;
        assert_eq!(first.name, format!("web.{nanoseconds:x}"));
        let again = Record { count: 2, last: at(9), ..first.clone() };
        assert_eq!(correlator.decide(&web, at(9)), Decision::Patch(again));
        let other = event("web", "Enabled", "");
        let Decision::Create(other) = correlator.decide(&other, at(0)) else { panic!("is new") };
        assert_ne!(other.name, first.name);
    }

    #[test]
    fn a_service_has_25_events_and_one_more_every_five_minutes() {
        let mut correlator = Correlator::default();
        let nth = |n: i64| event("web", "Failed", &format!("attempt {n}"));
        for n in 0..25 {
            assert_eq!(decide(&mut correlator, &nth(n), 0), ("create", 1), "{n}");
        }
        assert_eq!(decide(&mut correlator, &nth(25), 299), ("drop", 0));
        assert_eq!(decide(&mut correlator, &nth(3), 299), ("drop", 0), "an old one too");
        assert_eq!(decide(&mut correlator, &event("api", "Failed", ""), 299), ("create", 1));
        assert_eq!(
            decide(&mut correlator, &nth(3), 300),
            ("patch", 3),
            "what was dropped is counted"
        );
        assert_eq!(decide(&mut correlator, &nth(25), 301), ("drop", 0));
        assert_eq!(decide(&mut correlator, &nth(25), -9999), ("drop", 0), "the clock is set back");
        let later = 1_000_000;
        for n in 25..50 {
            assert_eq!(decide(&mut correlator, &nth(n), later), ("create", 1), "{n}");
        }
        assert_eq!(
            decide(&mut correlator, &nth(50), later),
            ("drop", 0),
            "not more than the burst"
        );
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut correlator = Correlator::default();
        for n in 0..=REMEMBERED {
            let new = event(&format!("web-{n}"), "Failed", "");
            assert_eq!(decide(&mut correlator, &new, 0), ("create", 1));
        }
        assert_eq!(decide(&mut correlator, &event("web-1", "Failed", ""), 0), ("patch", 2));
        assert_eq!(decide(&mut correlator, &event("web-0", "Failed", ""), 0), ("create", 1));
    }
}
