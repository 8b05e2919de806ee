//! Which connections are closed, and when: pure decisions.
//!
//! Every connection starts unauthenticated. An authenticated client may be idle for longer;
//! unauthenticated clients have a tenth of all slots. If slots run out, the oldest idle
//! unauthenticated connection is evicted, then the oldest unauthenticated one, then the
//! authenticated client that has been idle longest; an authenticated client with an open request is
//! never evicted. One pass over the connections, and only if slots have run out.
//!
//! Times are relative to startup.

use std::time::Duration;

use super::Limits;

/// One connection at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionState {
    pub(super) id: u64,
    pub(super) accepted: Duration,
    /// A request or the client certificate has authenticated.
    pub(super) is_authenticated: bool,
    pub(super) activity: Activity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// No request is open; includes the handshake.
    Idle { since: Duration },
    /// The head of a request is being received, on HTTP/1.
    Head { since: Duration },
    /// Requests are open.
    Requests,
}

/// The number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) strangers: usize,
    pub(super) authenticated: usize,
}

/// Whether there is a slot for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Free,
    /// If an unauthenticated one is evicted.
    ForStranger,
    /// If any is evicted.
    ForAnybody,
}

pub(super) fn room(counts: Counts, limits: &Limits) -> Availability {
    let Counts { strangers, authenticated } = counts;
    if strangers > 0 && strangers >= limits.strangers {
        Availability::ForStranger
    } else if strangers + authenticated >= limits.connections {
        Availability::ForAnybody
    } else {
        Availability::Free
    }
}

/// Which connection to evict. None is evicted in its first moments: in a burst every client must be
/// able to finish its handshake.
pub(super) fn victim(
    all: impl Iterator<Item = ConnectionState>,
    now: Duration,
    limits: &Limits,
) -> Option<u64> {
    let is_old_enough = |seen: &ConnectionState| now.saturating_sub(seen.accepted) >= limits.young;
    let ranked = all.filter(is_old_enough).filter_map(|seen| Some((rank(&seen)?, seen.id)));
    ranked.min().map(|(_, id)| id)
}

/// Whether it has been idle for too long.
pub(super) fn is_expired(seen: &ConnectionState, now: Duration, limits: &Limits) -> bool {
    let idle = if seen.is_authenticated { limits.idle } else { limits.stranger_idle };
    match seen.activity {
        Activity::Idle { since } => now.saturating_sub(since) >= idle,
        Activity::Head { since } => now.saturating_sub(since) >= limits.headers,
        Activity::Requests => false,
    }
}

/// The lowest is evicted first; `None`: never.
fn rank(seen: &ConnectionState) -> Option<(u8, Duration)> {
    match (seen.is_authenticated, seen.activity) {
        (false, Activity::Idle { since } | Activity::Head { since }) => Some((0, since)),
        (false, Activity::Requests) => Some((1, seen.accepted)),
        (true, Activity::Idle { since } | Activity::Head { since }) => Some((2, since)),
        (true, Activity::Requests) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn limits() -> Limits {
        Limits {
            connections: 10,
            strangers: 3,
            idle: s(90),
            stranger_idle: s(15),
            headers: s(32),
            young: s(1),
            ..Limits::default()
        }
    }

    fn seen(id: u64, is_authenticated: bool, activity: Activity) -> ConnectionState {
        ConnectionState { id, accepted: s(id), is_authenticated, activity }
    }

    #[test]
    fn strangers_have_fewer_places_than_all() {
        for (strangers, authenticated, expected) in [
            (0, 0, Availability::Free),
            (2, 7, Availability::Free),
            (3, 0, Availability::ForStranger),
            (3, 7, Availability::ForStranger),
            (2, 8, Availability::ForAnybody),
            (0, 10, Availability::ForAnybody),
        ] {
            let counts = Counts { strangers, authenticated };
            assert_eq!(room(counts, &limits()), expected, "{counts:?}");
        }
    }

    #[test]
    fn the_oldest_idle_stranger_goes_first_and_a_client_with_a_request_never() {
        let idle = |since| Activity::Idle { since: s(since) };
        let busy_client = seen(1, true, Activity::Requests);
        let idle_client = seen(2, true, idle(40));
        let idle_longer = seen(3, true, idle(30));
        let busy_stranger = seen(4, false, Activity::Requests);
        let idle_stranger = seen(5, false, idle(60));
        let slow_stranger = seen(6, false, Activity::Head { since: s(50) });
        let mut all = vec![
            busy_client,
            idle_client,
            idle_longer,
            busy_stranger,
            idle_stranger,
            slow_stranger,
        ];
        for expected in [Some(6), Some(5), Some(4), Some(3), Some(2), None] {
            let gone = victim(all.iter().copied(), s(100), &limits());
            assert_eq!(gone, expected, "of {all:?}");
            all.retain(|seen| Some(seen.id) != gone);
        }
    }

    #[test]
    fn no_connection_is_evicted_in_its_first_moments() {
        let new = ConnectionState {
            id: 1,
            accepted: s(100),
            is_authenticated: false,
            activity: Activity::Idle { since: s(100) },
        };
        let at = |millis| victim([new].into_iter(), Duration::from_millis(millis), &limits());
        assert_eq!((at(100_999), at(101_000)), (None, Some(1)));
    }

    #[test]
    fn idle_connections_expire_by_authentication_and_heads_by_their_start() {
        let since = s(100);
        for (is_authenticated, activity, after) in [
            (true, Activity::Idle { since }, Some(90)),
            (false, Activity::Idle { since }, Some(15)),
            (true, Activity::Head { since }, Some(32)),
            (false, Activity::Head { since }, Some(32)),
            (true, Activity::Requests, None),
            (false, Activity::Requests, None),
        ] {
            let seen = seen(1, is_authenticated, activity);
            let first = (0..1000).find(|n| is_expired(&seen, since + s(*n), &limits()));
            assert_eq!(first, after, "{seen:?}");
        }
    }
}
