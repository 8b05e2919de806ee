//! Admits a request, and ends it.

use std::sync::Arc;

use super::{Destination, Dispatcher, Level, exchange::earliest};
use crate::{
    Request, Time, Width,
    flow::Flow,
    queues::{Arrival, Outcome, Ticket, Verdict, stats::RejectReason},
};

/// What a request costs, and how long it may wait.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub width: Width,
    pub wait_until: Time,
    /// Whether it is a watch, which is done once it is set up.
    pub watch: bool,
}

/// Where a request goes, and whether it was dispatched.
#[derive(Debug)]
pub struct Admitted<'r, W> {
    pub destination: Arc<Destination<W>>,
    pub flow: Flow<'r>,
    pub admission: Admission<W>,
    /// The earliest [`Level::deadline`] that this brought forward, of any level: lent seats that
    /// change hands move the deadlines of other levels too.
    pub earlier_deadline: Option<Time>,
}

#[derive(Debug)]
pub enum Admission<W> {
    Dispatched(RequestHandle<W>),
    Waiting(RequestHandle<W>),
    Rejected {
        reason: RejectReason,
        /// In seconds.
        retry_after: u32,
    },
}

/// A request's place in its queue, and then its seats. Pass it to [`Dispatcher::leave`] when the
/// request ends, whatever the reason.
#[derive(Debug)]
pub struct RequestHandle<W> {
    pub destination: Arc<Destination<W>>,
    ticket: Ticket,
}

impl<W> RequestHandle<W> {
    /// Identifies the request in a dump of its level.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }
}

impl<W> Dispatcher<W> {
    /// Admits a request. `cost` is called when its destination is known; `waker` if it has to wait.
    pub fn admit<'r>(
        &self,
        now: Time,
        request: &Request<'r>,
        cost: impl Fn(&Destination<W>) -> Cost,
        waker: impl Fn() -> W,
        woken: &mut Vec<W>,
    ) -> Admitted<'r, W> {
        loop {
            let (destination, flow) = self.classify(request);
            let cost = cost(&destination);
            let mut earlier = None;
            if destination.level.deadline().is_some_and(|deadline| deadline <= now) {
                // Seats that are due go to those who claim them, before any of its own.
                earlier = self.tick(now, &destination.level, woken);
            }
            if let Some((admission, own)) =
                self.arrive(now, &destination, flow, cost, &waker, woken)
            {
                // It may claim seats, and what was due may have freed some.
                let by_reclaim = self.reclaim(now, &destination.level, woken);
                let by_offer = self.offer(now, &destination.level, woken);
                let earlier_deadline =
                    [own, by_reclaim, by_offer].into_iter().fold(earlier, earliest);
                return Admitted { destination, flow, admission, earlier_deadline };
            }
            // The level was removed meanwhile: classify again with the configuration now in force.
        }
    }

    /// Where a request goes, and as which flow.
    pub fn classify<'r>(&self, request: &Request<'r>) -> (Arc<Destination<W>>, Flow<'r>) {
        let in_force = self.in_force.load();
        let matched = in_force.classifier.classify(request);
        let flow = in_force.classifier.flow(matched, request);
        (in_force.destinations[matched.schema].own().clone(), flow)
    }

    /// None: the level is retired.
    fn arrive(
        &self,
        now: Time,
        destination: &Arc<Destination<W>>,
        flow: Flow<'_>,
        cost: Cost,
        waker: impl FnOnce() -> W,
        woken: &mut Vec<W>,
    ) -> Option<(Admission<W>, Option<Time>)> {
        let Cost { width, wait_until, watch } = cost;
        let level = &*destination.level;
        let mut earlier = None;
        let mut state = level.lock();
        if destination.rejects && self.settings.reclaim_at_once && state.set.want(width.max_seats())
        {
            // It can't wait for the seats that its level lent, so they are asked for first.
            let own = level.publish(&state, &self.claims);
            drop(state);
            earlier = earliest(own, self.reclaim(now, level, woken));
            state = level.lock();
        }
        let state = &mut *state;
        if state.retired {
            return None;
        }
        if flow.hash != 0 {
            state.top_flows.add(flow.hash, width.max_seats().into(), flow.distinguisher);
        }
        let arrival =
            Arrival { flow: flow.hash, width, wait_until, schema: destination.number, watch };
        let outcome = state.set.arrive(now, arrival, waker, woken);
        let earlier = earliest(earlier, level.publish(state, &self.claims));
        let handle = |ticket| RequestHandle { destination: destination.clone(), ticket };
        Some(match outcome {
            Outcome::Dispatched(ticket) => (Admission::Dispatched(handle(ticket)), earlier),
            Outcome::Waiting(ticket) => (Admission::Waiting(handle(ticket)), earlier),
            Outcome::Rejected(reason) => {
                let retry_after = state.set.retry_after();
                (Admission::Rejected { reason, retry_after }, earlier)
            }
        })
    }

    /// The state of a request that waited; if it still does, it is woken by what `waker`
    /// makes of its old waker. A rejection comes with the number of seconds after which to retry.
    pub fn verdict(
        &self,
        handle: &RequestHandle<W>,
        waker: impl FnOnce(Option<W>) -> W,
    ) -> (Verdict, u32) {
        let state = &mut *handle.destination.level.lock();
        (state.set.verdict(handle.ticket, waker), state.set.retry_after())
    }

    /// The response of a request has begun; see [`Settings::response_hold`](crate::Settings).
    /// Returns the level's deadline if it is earlier than before.
    pub fn respond(&self, now: Time, handle: &RequestHandle<W>) -> Option<Time> {
        let level = &*handle.destination.level;
        let state = &mut *level.lock();
        state.set.respond(now, handle.ticket);
        level.publish(state, &self.claims)
    }

    /// A request leaves, served or not. Returns the earliest deadline that this brought forward, of
    /// any level.
    pub fn leave(&self, now: Time, handle: RequestHandle<W>, woken: &mut Vec<W>) -> Option<Time> {
        let RequestHandle { destination, ticket } = handle;
        self.free(now, &destination.level, woken, |set, ceding, woken| {
            set.leave(now, ticket, ceding, woken)
        })
    }

    /// Does what is due in a level. Returns what [`Self::leave`] does.
    pub fn tick(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) -> Option<Time> {
        self.free(now, level, woken, |set, ceding, woken| set.tick(now, ceding, woken))
    }
}
