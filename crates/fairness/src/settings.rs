//! How the algorithm works where the documents and today's Kubernetes disagree.

use std::time::Duration;

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
            ..Settings::kubernetes()
        }
    }
}
