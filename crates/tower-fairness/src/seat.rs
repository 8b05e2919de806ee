//! A request's place in its queue, then its seats, for as long as this lives.

use std::{sync::Arc, task::Waker};

use evenkeel_fairness::queues::Verdict;
use http::{Method, StatusCode};

use crate::{
    head::{Head, Kind},
    in_flight::Phase,
    policy::{BodyPolicy, LongRunning},
    shared::{Place, Shared, Turn},
};

/// Dropping it leaves the queue or frees the seats, at once, and wakes those whose turn has come.
#[derive(Debug)]
pub(crate) struct Seat {
    shared: Arc<Shared>,
    /// None once it has left.
    turn: Option<Turn>,
    phase: Phase,
    kind: Kind,
    keep: Keep,
}

/// Until when seats are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keep {
    /// As the layer's policy says.
    AsConfigured,
    /// Until the head of the response is there.
    UntilHead,
    /// The same, if it takes over the connection as it asked to; else as any other.
    UntilUpgraded,
    /// The same, for `CONNECT`, where any success does.
    UntilConnected,
}

impl Keep {
    pub(crate) fn of(head: Head<'_>, long_running: Option<LongRunning>) -> Self {
        match long_running {
            None => Keep::AsConfigured,
            Some(_) if head.method == Method::CONNECT => Keep::UntilConnected,
            Some(_) if head.upgrades() => Keep::UntilUpgraded,
            Some(_) => Keep::UntilHead,
        }
    }
}

impl Seat {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        turn: Turn,
        phase: Phase,
        kind: Kind,
        keep: Keep,
    ) -> Self {
        Seat { shared: shared.clone(), turn: Some(turn), phase, kind, keep }
    }

    /// Whether the seats are free once a response begins like this.
    pub(crate) fn ends_with_head(&self, status: StatusCode) -> bool {
        match self.keep {
            Keep::UntilHead => true,
            Keep::UntilUpgraded if status == StatusCode::SWITCHING_PROTOCOLS => true,
            Keep::UntilConnected if status.is_success() => true,
            _ => self.shared.policy.body == BodyPolicy::ReleaseAtHead,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn place(&self) -> Option<&Place> {
        self.turn.as_ref().map(|turn| &*turn.place)
    }

    /// What has become of a request that waited, with for how many seconds to stay away.
    pub(crate) fn verdict(&mut self, waker: &Waker) -> (Verdict, u32) {
        let Some(turn) = &self.turn else { return (Verdict::Dispatched, 0) };
        // A waker's destructor is not ours: it runs when the level's lock is free again.
        let mut replaced = None;
        let (verdict, retry_after) =
            self.shared.dispatcher.verdict(turn, |old: Option<Waker>| match old {
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

    /// The head of the response is there and its body has not ended.
    pub(crate) fn respond(&self) {
        let Some(turn) = &self.turn else { return };
        if self.shared.dispatcher.settings().response_hold.is_none() {
            return;
        }
        let earlier_deadline = self.shared.dispatcher.respond(self.shared.clock.now(), turn);
        self.shared.notify_if_earlier(earlier_deadline);
    }

    pub(crate) fn leave(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let now = self.shared.clock.now();
        self.shared.in_flight.leave(now, self.phase, self.kind);
        self.shared.leave(now, turn);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}
