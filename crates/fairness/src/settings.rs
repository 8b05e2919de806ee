//! Settings for where the proposal, today's Kubernetes and Evenkeel's default differ.

use std::time::Duration;

use crate::flow::FlowHash;

/// One algorithm, three profiles. [`Settings::kubernetes`] reproduces the recorded traces to the
/// tick, [`Settings::proposal`] does what the proposal of 2019 says, and [`Settings::default`] is
/// Kubernetes without its known defects.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// G: the estimated service time of every request, until it is known.
    pub guess: Duration,
    pub pick: Pick,
    /// Whether a queue may grow past its limit while a seat is free (a wide head is blocked).
    pub grows_while_seats_are_free: bool,
    /// Whether a queue's virtual start is kept from falling behind the arrival of its head.
    pub no_credit_from_the_past: bool,
    /// Whether requests are dispatched at once when one that blocked them times out.
    pub dispatch_after_timeout: bool,
    /// Whether a level of limit 0 that rejects lets one request through when it is idle.
    pub zero_limit_admits_one: bool,
    /// Whether a level below its nominal seats gets those that a borrower frees at once, instead
    /// of at the next adjustment.
    pub reclaim_at_once: bool,
    /// How long a request may hold its seats after its response has begun, so that slow readers can't
    /// hold all of them; none: until the response ends.
    pub response_hold: Option<Duration>,
    /// The maximum number of requests of a level that run without seats because of
    /// [`Self::response_hold`]; others keep theirs until their responses end, or until one of those
    /// ends. So a level never runs more than this number plus its seats.
    pub max_detached: u32,
    /// Whether anyone can search for names that share a victim's queues, or only those who know the
    /// key.
    pub flow_hash: FlowHash,
    /// Keeps flows whose requests take seconds from holding all seats; none: off.
    pub slow_flows: Option<SlowFlows>,
}

/// How slow flows are detected and limited: see `queues/slow.rs`.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowFlows {
    /// A flow is slow if its seat-time-weighted mean service time is at least this.
    pub threshold: Duration,
    /// The half-life of what was learned of a flow.
    pub half_life: Duration,
    /// The maximum charge of a request; the minimum is [`Settings::guess`].
    pub longest: Duration,
    /// How long slow flows are held back after the last request of any other flow. Also the half-life
    /// of the mean demand of the others.
    pub window: Duration,
    /// The number of flows whose service time a level remembers, besides those that run.
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
    /// The one with the fewest waiting requests; of several, the first dealt.
    Shortest,
    /// The one with the least waiting work; where the search starts rotates with the arrivals.
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
