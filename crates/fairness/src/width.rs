//! Estimating how many seats a request takes.
//!
//! - A list takes a seat for every 100 kB that serving it holds in memory at once, or for every
//!   100 objects it goes through where sizes are not used; from the cache it holds at most 1 MB.
//!   A watch begins with a list, unless it says from which version on, and then takes one seat.
//! - A change takes a seat, and then one for every ten watches that are notified, for 5 ms each;
//!   fewer, longer seats of the same work where that exceeds what one request may take.
//! - All others take one seat.
//!
//! No estimate exceeds what the level allows one request. Source: Kubernetes today. Bound: O(q) for
//! q query parameters, no allocation, integers throughout.

use std::time::Duration;

use crate::{Request, Width};

const MAX_LIST_SEATS_BY_SIZE: u32 = 100;
const MAX_LIST_SEATS_BY_COUNT: u32 = 10;
pub(crate) const MAX_CHANGE_SEATS: u32 = 10;
const OBJECTS_PER_SEAT: u64 = 100;
const BYTES_PER_SEAT: u64 = 100_000;
/// The cache streams lists, in pieces that together hold no more than this.
const MAX_BYTES_FROM_CACHE: u64 = 1_000_000;
/// The largest object that the store takes, by default.
const MAX_OBJECT_BYTES: u64 = 1_500_000;
const WATCHES_PER_SEAT: u32 = 10;
const NANOS_PER_WATCH_SEAT: u64 = 5_000_000;

/// What an estimate is made of, besides the request itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'r> {
    /// Decoded names and values; of equal names the first counts.
    pub query: &'r [(&'r str, &'r str)],
    /// What is known of the objects of the request's group and resource.
    pub stored: Stored,
    /// How many watches are notified when the object changes.
    pub watches: u32,
    /// What the level allows one request; none: nothing is known of it.
    pub max_seats: Option<u32>,
    pub switches: Switches,
}

/// What is known of the objects of one kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Stored {
    /// Nothing was ever reported, as for kinds that another server keeps.
    #[default]
    Unknown,
    /// Nothing was reported for long, or asking failed: the worst is assumed.
    Stale,
    Counted {
        objects: u64,
        /// 0 where it is not known.
        average_bytes: u64,
    },
}

/// Features of the server that change its costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Switches {
    /// Lists cost by the size of what they hold, not by the number of objects.
    pub size_based_lists: bool,
    /// Watches may begin with a list.
    pub watch_lists: bool,
    /// Reads of the newest state come from the cache too, as the store reports its progress.
    pub consistent_reads_from_cache: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { size_based_lists: true, watch_lists: true, consistent_reads_from_cache: true }
    }
}

/// The seats of a request. A list that a field selector confines to one object is expected to have
/// that object's name.
pub fn estimate(request: &Request<'_>, facts: &Facts<'_>) -> Width {
    match request.verb {
        "list" => list(request, facts),
        "watch" if facts.switches.watch_lists => list(request, facts),
        "create" | "update" | "patch" | "delete" => change(request, facts),
        _ => Width::ONE,
    }
}

/// The seats of a request of which nothing is known: the maximum for any request.
pub fn widest(max_seats: Option<u32>, switches: Switches) -> Width {
    let most =
        if switches.size_based_lists { MAX_LIST_SEATS_BY_SIZE } else { MAX_LIST_SEATS_BY_COUNT };
    Width::seats(capped(most, max_seats))
}

fn list(request: &Request<'_>, facts: &Facts<'_>) -> Width {
    let widest = widest(facts.max_seats, facts.switches);
    // It will be rejected, but not before it had its turn.
    let Some(options) = ListOptions::parse(facts.query) else { return widest };
    let is_watch = request.verb == "watch";
    if is_watch && !options.begins_with_list() {
        return Width::ONE;
    }
    let (objects, average_bytes) = match facts.stored {
        Stored::Unknown => return Width::ONE,
        Stored::Stale => (1_000_000_000, MAX_OBJECT_BYTES),
        Stored::Counted { objects, average_bytes } => (objects, average_bytes),
    };
    let scan = Scan {
        objects,
        limited: options.limit.map_or(objects, |limit| limit.min(objects)),
        named: !request.name.is_empty(),
        cached: is_watch || options.served_from_cache(facts.switches),
        selects: options.selects,
    };
    let seats = if facts.switches.size_based_lists {
        scan.bytes(average_bytes).div_ceil(BYTES_PER_SEAT)
    } else {
        scan.visits().div_ceil(OBJECTS_PER_SEAT)
    };
    let seats = u32::try_from(seats).unwrap_or(u32::MAX);
    Width::seats(seats.clamp(1, widest.initial_seats))
}

fn change(request: &Request<'_>, facts: &Facts<'_>) -> Width {
    // Making a token for a service account changes nothing that is watched.
    let makes_token = request.resource == "serviceaccounts" && request.subresource == "token";
    if makes_token || facts.watches < WATCHES_PER_SEAT {
        return Width::ONE;
    }
    let seats = facts.watches.div_ceil(WATCHES_PER_SEAT);
    let final_seats = seats.min(capped(MAX_CHANGE_SEATS, facts.max_seats));
    let nanos = u64::from(seats) * NANOS_PER_WATCH_SEAT / u64::from(final_seats);
    Width { initial_seats: 1, final_seats, additional_latency: Duration::from_nanos(nanos) }
}

/// A level that allows no seats at all says nothing.
fn capped(seats: u32, max_seats: Option<u32>) -> u32 {
    max_seats.filter(|most| *most > 0).map_or(seats, |most| seats.min(most))
}

/// What a list goes through.
struct Scan {
    objects: u64,
    /// The objects, but no more than were asked for.
    limited: u64,
    named: bool,
    cached: bool,
    selects: bool,
}

impl Scan {
    /// How much it holds in memory at once.
    fn bytes(&self, average_bytes: u64) -> u64 {
        let held = match self {
            Scan { named: true, .. } => 1,
            // What is not selected is read too, page by page.
            Scan { cached: false, selects: true, .. } => self.limited.max(self.objects / 2),
            _ => self.limited,
        };
        let unknown = average_bytes == 0 && self.objects > 0;
        let bytes = held.saturating_mul(if unknown { MAX_OBJECT_BYTES } else { average_bytes });
        if self.cached { bytes.min(MAX_BYTES_FROM_CACHE) } else { bytes }
    }

    /// How many objects it handles; those from the store count when they are read and when they
    /// are sent.
    fn visits(&self) -> u64 {
        match self {
            Scan { named: true, .. } => 1,
            Scan { cached: true, .. } => self.objects,
            Scan { selects: true, .. } => self.objects.saturating_add(self.limited),
            _ => self.limited.saturating_mul(2),
        }
    }
}

/// Those of the options of a list that its cost depends on.
#[derive(Default)]
struct ListOptions<'q> {
    limit: Option<u64>,
    selects: bool,
    continues: bool,
    version: &'q str,
    version_match: &'q str,
    send_initial_events: bool,
}

impl<'q> ListOptions<'q> {
    /// None where the server will reject the query.
    fn parse(query: &'q [(&'q str, &'q str)]) -> Option<Self> {
        let first = |name: &str| query.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        let text = |name: &str| first(name).unwrap_or_default();
        let integer = |name: &str| first(name).map(str::parse::<i64>).transpose().ok();
        integer("timeoutSeconds")?;
        let limit = integer("limit")?.filter(|limit| *limit > 0);
        Some(ListOptions {
            limit: limit.map(i64::unsigned_abs),
            selects: !text("labelSelector").is_empty() || !text("fieldSelector").is_empty(),
            continues: !text("continue").is_empty(),
            version: text("resourceVersion"),
            version_match: text("resourceVersionMatch"),
            send_initial_events: first("sendInitialEvents")
                .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false")),
        })
    }

    fn begins_with_list(&self) -> bool {
        self.send_initial_events || matches!(self.version, "" | "0")
    }

    fn served_from_cache(&self, switches: Switches) -> bool {
        match self.version_match {
            "NotOlderThan" => true,
            "" if self.continues => false,
            "" => match self.version {
                "" => switches.consistent_reads_from_cache,
                "0" => true,
                _ => self.limit.is_none(),
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(verb: &'static str) -> Request<'static> {
        Request { verb, resource: "pods", is_resource: true, ..Request::default() }
    }

    fn counted(objects: u64, average_bytes: u64) -> Stored {
        Stored::Counted { objects, average_bytes }
    }

    #[test]
    fn odd_queries_cost_the_most_or_nothing_and_never_panic() {
        let cases = [
            ("9223372036854775807", 50),
            ("9223372036854775808", 100),
            ("-9223372036854775808", 50),
            ("-1", 50),
            ("0", 50),
            ("+20", 1),
            ("NaN", 100),
            ("1e3", 100),
            ("", 100),
            (" 1", 100),
            ("１", 100),
        ];
        for (limit, seats) in cases {
            let query = [("limit", limit), ("limit", "7"), ("continue", "token")];
            let facts = Facts { query: &query, stored: counted(1000, 5000), ..Facts::default() };
            assert_eq!(estimate(&request("list"), &facts), Width::seats(seats), "{limit:?}");
        }
        let query = [("timeoutSeconds", "soon")];
        let facts = Facts { query: &query, stored: counted(1, 1), ..Facts::default() };
        assert_eq!(estimate(&request("list"), &facts), Width::seats(100));
    }

    #[test]
    fn changes_that_many_watch_take_seats_after_they_are_done() {
        let cases = [
            // watches, the level's maximum, seats, milliseconds
            (0, None, 0, 0),
            (9, None, 0, 0),
            (10, None, 1, 5),
            (100, None, 10, 5),
            (200, None, 10, 10),
            (200, Some(4), 4, 25),
            (200, Some(0), 10, 10),
            (200, Some(50), 10, 10),
        ];
        for (watches, max_seats, final_seats, millis) in cases {
            let facts = Facts { watches, max_seats, ..Facts::default() };
            let additional_latency = Duration::from_millis(millis);
            let expected = Width { initial_seats: 1, final_seats, additional_latency };
            assert_eq!(estimate(&request("patch"), &facts), expected, "{watches} {max_seats:?}");
            assert_eq!(estimate(&request("get"), &facts), Width::ONE);
        }
        let token =
            Request { resource: "serviceaccounts", subresource: "token", ..request("create") };
        let facts = Facts { watches: 5000, ..Facts::default() };
        assert_eq!(estimate(&token, &facts), Width::ONE);
    }

    #[test]
    fn watches_cost_as_lists_only_while_they_begin_with_one() {
        type Case = (&'static [(&'static str, &'static str)], bool, u32);
        let cases: [Case; 6] = [
            (&[], true, 10),
            (&[], false, 1),
            (&[("resourceVersion", "0")], true, 10),
            (&[("resourceVersion", "7")], true, 1),
            (&[("resourceVersion", "7"), ("sendInitialEvents", "")], true, 10),
            (&[("resourceVersion", "7"), ("sendInitialEvents", "FALSE")], true, 1),
        ];
        for (query, watch_lists, seats) in cases {
            let switches = Switches { watch_lists, ..Switches::default() };
            let stored = counted(100_000, 1000);
            let facts = Facts { query, stored, switches, ..Facts::default() };
            assert_eq!(estimate(&request("watch"), &facts), Width::seats(seats), "{query:?}");
        }
    }

    proptest! {
        #[test]
        fn no_estimate_is_zero_or_exceeds_what_is_allowed(
            verb in prop::sample::select(vec!["list", "watch", "create", "get", ""]),
            limit in "(-?[0-9]{0,20}|NaN)",
            (objects, average_bytes, watches) in any::<(u64, u64, u32)>(),
            max_seats in prop::option::of(1..=u32::MAX),
            by_size: bool,
            cached: bool,
            selector in "[a-z]?",
        ) {
            let switches = Switches {
                size_based_lists: by_size,
                consistent_reads_from_cache: cached,
                ..Switches::default()
            };
            let query = [("limit", limit.as_str()), ("labelSelector", selector.as_str())];
            let stored = counted(objects, average_bytes);
            let facts = Facts { query: &query, stored, watches, max_seats, switches };
            let width = estimate(&request(verb), &facts);
            let most = if by_size { 100 } else { 10 };
            prop_assert!(width.initial_seats >= 1 && width.initial_seats <= most);
            prop_assert!(width.final_seats <= 10);
            prop_assert!(max_seats.is_none_or(|max_seats| width.max_seats() <= max_seats));
        }
    }
}
