//! One request through the door, and out again.

use std::sync::Arc;

use super::{Dispatcher, Level, Place, exchange::earliest};
use crate::{
    Request, Time, Width,
    flow::Flow,
    queues::{Arrival, Outcome, Ticket, Verdict, stats::Refusal},
};

/// What a request costs, and how long it may wait.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub width: Width,
    pub wait_until: Time,
    /// Whether it is a watch, which is done once it is set up.
    pub watch: bool,
}

/// Where a request belongs, and what became of it.
#[derive(Debug)]
pub struct Admitted<'r, W> {
    pub place: Arc<Place<W>>,
    pub flow: Flow<'r>,
    pub admission: Admission<W>,
    /// The earliest [`Level::deadline`] that this brought forward, of any level: lent seats that
    /// change hands move the deadlines of other levels too.
    pub earlier_deadline: Option<Time>,
}

#[derive(Debug)]
pub enum Admission<W> {
    Dispatched(Turn<W>),
    Waiting(Turn<W>),
    Refused {
        refusal: Refusal,
        /// In seconds.
        retry_after: u32,
    },
}

/// A request's place in its queue, then its seats: to be handed to [`Dispatcher::leave`] at its end,
/// whatever that is.
#[derive(Debug)]
pub struct Turn<W> {
    pub place: Arc<Place<W>>,
    ticket: Ticket,
}

impl<W> Dispatcher<W> {
    /// Takes a request in. `cost` is asked once its place is known; `waker` if it has to wait.
    pub fn admit<'r>(
        &self,
        now: Time,
        request: &Request<'r>,
        cost: impl Fn(&Place<W>) -> Cost,
        waker: impl Fn() -> W,
        woken: &mut Vec<W>,
    ) -> Admitted<'r, W> {
        loop {
            let (place, flow) = self.place(request);
            let cost = cost(&place);
            let mut earlier = None;
            if place.level.deadline().is_some_and(|deadline| deadline <= now) {
                // Seats that are due go to those who claim them, before any of its own.
                earlier = self.tick(now, &place.level, woken);
            }
            if let Some((admission, own)) = self.arrive(now, &place, flow, cost, &waker, woken) {
                // It may claim seats, and what was due may have freed some.
                let by_reclaim = self.reclaim(now, &place.level, woken);
                let by_offer = self.offer(now, &place.level, woken);
                let earlier_deadline =
                    [own, by_reclaim, by_offer].into_iter().fold(earlier, earliest);
                return Admitted { place, flow, admission, earlier_deadline };
            }
            // The level went while we looked: the configuration in force now has another.
        }
    }

    /// Where a request belongs.
    pub fn place<'r>(&self, request: &Request<'r>) -> (Arc<Place<W>>, Flow<'r>) {
        let in_force = self.in_force.load();
        let matched = in_force.classifier.classify(request);
        let flow = in_force.classifier.flow(matched, request);
        (in_force.places[matched.schema].clone(), flow)
    }

    /// None: the level is retired.
    fn arrive(
        &self,
        now: Time,
        place: &Arc<Place<W>>,
        flow: Flow<'_>,
        cost: Cost,
        waker: impl FnOnce() -> W,
        woken: &mut Vec<W>,
    ) -> Option<(Admission<W>, Option<Time>)> {
        let Cost { width, wait_until, watch } = cost;
        let level = &*place.level;
        let mut earlier = None;
        let mut state = level.state.lock();
        if place.rejects && self.settings.reclaim_at_once && state.set.want(width.max_seats()) {
            // It can't wait for the seats that its level lent, so they are asked for first.
            let own = level.publish(&state, &self.claims);
            drop(state);
            earlier = earliest(own, self.reclaim(now, level, woken));
            state = level.state.lock();
        }
        let state = &mut *state;
        if state.retired {
            return None;
        }
        if flow.hash != 0 {
            state.top_flows.add(flow.hash, width.max_seats().into(), flow.distinguisher);
        }
        let arrival = Arrival { flow: flow.hash, width, wait_until, schema: place.number, watch };
        let outcome = state.set.arrive(now, arrival, waker, woken);
        let earlier = earliest(earlier, level.publish(state, &self.claims));
        let turn = |ticket| Turn { place: place.clone(), ticket };
        Some(match outcome {
            Outcome::Dispatched(ticket) => (Admission::Dispatched(turn(ticket)), earlier),
            Outcome::Waiting(ticket) => (Admission::Waiting(turn(ticket)), earlier),
            Outcome::Refused(refusal) => {
                let retry_after = state.set.retry_after();
                (Admission::Refused { refusal, retry_after }, earlier)
            }
        })
    }

    /// What has become of a request that waited; if it still does, it is woken by what `waker`
    /// makes of its old waker. With a refusal comes for how many seconds to stay away.
    pub fn verdict(&self, turn: &Turn<W>, waker: impl FnOnce(Option<W>) -> W) -> (Verdict, u32) {
        let state = &mut *turn.place.level.state.lock();
        (state.set.verdict(turn.ticket, waker), state.set.retry_after())
    }

    /// The response of a request has begun; see [`Settings::response_hold`](crate::Settings).
    /// Returns the level's deadline if it is earlier than before.
    pub fn respond(&self, now: Time, turn: &Turn<W>) -> Option<Time> {
        let level = &*turn.place.level;
        let state = &mut *level.state.lock();
        state.set.respond(now, turn.ticket);
        level.publish(state, &self.claims)
    }

    /// A request leaves, served or not. Returns the earliest deadline that this brought forward, of
    /// any level.
    pub fn leave(&self, now: Time, turn: Turn<W>, woken: &mut Vec<W>) -> Option<Time> {
        let Turn { place, ticket } = turn;
        self.free(now, &place.level, woken, |set, ceding, woken| {
            set.leave(now, ticket, ceding, woken)
        })
    }

    /// Does what is due in a level. Returns what [`Self::leave`] does.
    pub fn tick(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) -> Option<Time> {
        self.free(now, level, woken, |set, ceding, woken| set.tick(now, ceding, woken))
    }
}
