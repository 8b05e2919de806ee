//! A guard for a request's place in its queue, and then for its seats.

use std::{sync::Arc, task::Waker};

use evenkeel_fairness::queues::{Ticket, Verdict};
use http::{Method, StatusCode};

use crate::{
    head::{Head, Kind},
    in_flight::Phase,
    policy::{BodyPolicy, LongRunning},
    shared::{Destination, RequestHandle, Shared},
    striped::Reference,
};

/// The place of a request in its queue, and then its seats; from [`FairnessLayer::admit`] it always
/// has its seats.
///
/// Dropping it leaves the queue or frees the seats, and wakes the requests that are dispatched next.
///
/// [`FairnessLayer::admit`]: crate::FairnessLayer::admit
#[derive(Debug)]
pub struct Seat {
    shared: Arc<Reference>,
    /// None after it has left.
    handle: Option<RequestHandle>,
    phase: Phase,
    kind: Kind,
    hold_until: HoldUntil,
}

/// How long a request holds its seats.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum HoldUntil {
    /// According to the layer's policy.
    ByPolicy,
    /// Until the head of the response is sent.
    Head,
    /// The same if the connection is upgraded; otherwise by policy.
    Upgrade,
    /// The same if `CONNECT` succeeds; otherwise by policy.
    Connect,
}

impl HoldUntil {
    pub(crate) fn of(head: Head<'_>, long_running: Option<LongRunning>) -> Self {
        match long_running {
            None => HoldUntil::ByPolicy,
            Some(_) if head.method == Method::CONNECT => HoldUntil::Connect,
            Some(_) if head.upgrades() => HoldUntil::Upgrade,
            Some(_) => HoldUntil::Head,
        }
    }
}

impl Seat {
    pub(crate) fn new(
        shared: &Arc<Reference>,
        handle: RequestHandle,
        phase: Phase,
        kind: Kind,
        hold_until: HoldUntil,
    ) -> Self {
        Seat { shared: shared.clone(), handle: Some(handle), phase, kind, hold_until }
    }

    /// Whether the seats are freed at the head of a response with this status.
    pub(crate) fn ends_with_head(&self, status: StatusCode) -> bool {
        match self.hold_until {
            HoldUntil::Head => true,
            HoldUntil::Upgrade if status == StatusCode::SWITCHING_PROTOCOLS => true,
            HoldUntil::Connect if status.is_success() => true,
            _ => self.shared.policy.body == BodyPolicy::ReleaseAtHead,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The flow schema and the level of the request.
    pub fn destination(&self) -> Option<&Arc<Destination>> {
        self.handle.as_ref().map(|handle| &handle.destination)
    }

    /// The state of a request that waited, and after how many seconds to retry if it was rejected.
    pub(crate) fn verdict(&mut self, waker: &Waker) -> (Verdict, u32) {
        let Some(handle) = &self.handle else { return (Verdict::Dispatched, 0) };
        // A waker's destructor is foreign code: it runs after the level's lock is released.
        let mut replaced = None;
        let (verdict, retry_after) =
            self.shared.dispatcher.verdict(handle, |old: Option<Waker>| match old {
                Some(old) if old.will_wake(waker) => old,
                old => {
                    replaced = old;
                    waker.clone()
                }
            });
        drop(replaced);
        if verdict == Verdict::Dispatched {
            let now = self.shared.clock.now();
            self.shared.in_flight.leave(now, self.phase, self.kind);
            self.phase = Phase::Executing;
            self.shared.in_flight.enter(now, self.phase, self.kind);
        }
        (verdict, retry_after)
    }

    /// Identifies the request in a dump of its level.
    pub fn ticket(&self) -> Option<Ticket> {
        self.handle.as_ref().map(RequestHandle::ticket)
    }

    /// The head of the response is sent and its body has not ended: from now on the seats are held
    /// for [`Settings::response_hold`](evenkeel_fairness::Settings) at most.
    pub fn respond(&self) {
        let Some(handle) = &self.handle else { return };
        if self.shared.dispatcher.settings().response_hold.is_none() {
            return;
        }
        let earlier_deadline = self.shared.dispatcher.respond(self.shared.clock.now(), handle);
        self.shared.notify_if_earlier(earlier_deadline);
    }

    pub(crate) fn leave(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        let now = self.shared.clock.now();
        self.shared.in_flight.leave(now, self.phase, self.kind);
        self.shared.leave(now, handle);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}
