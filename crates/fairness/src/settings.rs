//! How the algorithm works where the documents and today's Kubernetes disagree.

use std::time::Duration;

use crate::flow::FlowHash;

/// One algorithm, three profiles. [`Settings::kubernetes`] reproduces the recorded traces to the
/// tick, [`Settings::proposal`] does what the proposal of 2019 says, and [`Settings::default`] is
/// Kubernetes without its known defects.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// G: how long every request is taken to run, until it is known how long it did.
    pub guess: Duration,
    pub pick: Pick,
    /// Whether a queue may grow past its limit while a seat is free (a wide head is blocked).
    pub grows_while_seats_are_free: bool,
    /// Whether a queue's virtual start is kept from falling behind the arrival of its head.
    pub no_credit_from_the_past: bool,
    /// Whether others go at once when a request that blocked them gives up waiting.
    pub dispatch_after_timeout: bool,
    /// Whether a level of limit 0 that rejects lets one request through when it is idle.
    pub zero_limit_admits_one: bool,
    /// Whether a level below its nominal seats gets those that a borrower frees at once, instead
    /// of at the next adjustment.
    pub reclaim_at_once: bool,
    /// For how long a request may keep its seats after its response has begun, so that slow
    /// readers can't hold all of them; none: until the response ends.
    pub response_hold: Option<Duration>,
    /// How many requests of a level may have lost their seats to [`Self::response_hold`] and still
    /// run, at most; further ones keep theirs until their responses end, or one of those does. So
    /// a level never has more than this and its seats together.
    pub max_detached: u32,
    /// Whether names that share a victim's queues can be searched for by anyone, or only by who
    /// knows the key.
    pub flow_hash: FlowHash,
    /// How flows whose requests take seconds are kept from holding all seats; none: they are not.
    pub slow_flows: Option<SlowFlows>,
}

/// What is learned of flows, and what those that are slow may hold: see `queues/slow.rs`.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowFlows {
    /// A flow is slow if its seat-time-weighted mean service time is at least this.
    pub threshold: Duration,
    /// After how long what was learned of a flow counts half.
    pub half_life: Duration,
    /// Nothing is charged more than this; the least is [`Settings::guess`].
    pub longest: Duration,
    /// For how long after the last request of any other flow the slow ones are held back. Also the
    /// half-life of the mean demand of the others.
    pub window: Duration,
    /// Of how many flows a level remembers how slow they are, besides those that run.
    pub remembered: usize,
}

impl Default for SlowFlows {
    fn default() -> Self {
        SlowFlows {
            threshold: Duration::from_secs(1),
            half_life: Duration::from_secs(300),
            longest: Duration::from_secs(60),
            window: Duration::from_secs(10),
            remembered: 1024,
        }
    }
}

/// Which queue of its hand a request joins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pick {
    /// That with the fewest requests waiting, the first dealt of equals.
    Shortest,
    /// That with the least work waiting; where the search starts rotates with the arrivals.
    LeastWork,
}

impl Settings {
    /// What Kubernetes does today.
    pub fn kubernetes() -> Self {
        Settings {
            guess: Duration::from_millis(3),
            pick: Pick::LeastWork,
            grows_while_seats_are_free: true,
            no_credit_from_the_past: true,
            dispatch_after_timeout: false,
            zero_limit_admits_one: true,
            reclaim_at_once: false,
            response_hold: None,
            max_detached: 0,
            flow_hash: FlowHash::Unkeyed,
            slow_flows: None,
        }
    }

    /// What the proposal says.
    pub fn proposal() -> Self {
        Settings {
            guess: Duration::from_secs(60),
            pick: Pick::Shortest,
            grows_while_seats_are_free: false,
            no_credit_from_the_past: false,
            dispatch_after_timeout: true,
            zero_limit_admits_one: false,
            reclaim_at_once: false,
            response_hold: None,
            max_detached: 0,
            flow_hash: FlowHash::Unkeyed,
            slow_flows: None,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            dispatch_after_timeout: true,
            zero_limit_admits_one: false,
            reclaim_at_once: true,
            response_hold: Some(Duration::from_secs(10)),
            max_detached: 1000,
            flow_hash: FlowHash::Keyed(None),
            slow_flows: Some(SlowFlows::default()),
            ..Settings::kubernetes()
        }
    }
}
