//! Fair queuing for server requests: one priority level as a state machine.
//!
//! Source: the proposal of 2019, "Dispatching", and what Kubernetes made of it (its traces are our
//! conformance cases). The original is Demers, Keshav and Shenker, 1989.
//!
//! Seats are shared fairly among *queues*. The progress meter R counts the seat-seconds that every
//! active queue has been given since the start, were each served continuously and equally:
//!
//! ```text
//! dR/dt = min(seats in use + seats waiting, limit) / active queues
//! ```
//!
//! Each queue has a virtual start S, the reading of R at which its next request begins in that ideal
//! world. A request is taken to cost `initial seats × G + final seats × additional latency`; this is
//! added to S at its dispatch, and once it is known how long it ran, S is corrected. The head with
//! the least virtual finish, S + cost, goes next.
//!
//! Bounds: queues that always have something waiting get equal seat-time, save for at most as many
//! requests as there are seats. Every call costs O(log queues + log waiting); a request that does
//! not wait costs O(hand) and allocates nothing. Seat sums and the count of active queues are kept
//! as they change, R advances at each event, and `order.rs` determines which queue is next.
//!
//! ```text
//!            arrive                 dispatch               leave
//!   ────────► Waiting ─────────────► Executing ──────────► gone, or Lingering ──► gone
//!       │        │ └► TimedOut ► gone    └► Responding ─┬► gone, or Lingering
//!       ▼        ▼ leave                                └► Detached (held too long) ► gone
//!     rejected   gone
//! ```
//!
//! Calls never wake requests: they return the wakers, so that the caller can release its lock first.

mod arrive;
mod counts;
mod dispatch;
mod dump;
mod expire;
mod leave;
mod order;
mod queue;
mod reconfigure;
mod service_time;
mod slots;
mod slow;
mod slow_lane;
pub mod stats;
mod utilization;
mod virtual_time;
mod work;

use std::collections::BTreeSet;

pub use self::{
    arrive::{Arrival, Outcome, Verdict},
    dump::{LevelDump, QueueDump, RequestDump},
    slots::Ticket,
    slow::SlowFlowsDump,
    work::Work,
};
use self::{
    counts::Counts,
    expire::Timer,
    order::Order,
    queue::Queue,
    slots::{List, Slots},
    slow_lane::SlowLane,
    stats::{LevelStats, Load, RejectReason, SchemaStats},
};
use crate::{
    Settings, Time,
    config::Handling,
    limits::demand::{Demand, DemandStats},
    retry_after::RetryAfter,
    shard::Dealer,
};

/// The requests of one priority level. `W` is what the caller needs to wake a waiting request.
///
/// What every request writes comes first and in this order, so that it is on few cache lines: they
/// move from core to core with the level's lock.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct QueueSet<W> {
    now: Time,
    r: Work,
    /// Lingering ones included.
    seats_in_use: u64,
    /// Seats in use and seats waiting of requests in queues: the numerator of the speed of R.
    queued_seats: u64,
    seats_waiting: u64,
    waiting: u32,
    executing: u32,
    active: u32,
    /// Where the next lap around the queues begins: behind the one served last.
    lap: u32,
    arrivals: u64,

    dispatches: u64,
    slots: Slots<W>,
    /// Responses on their way, by the end of their hold, which is the order they began in.
    holds: List,

    demand: Demand,
    /// What is known of slow flows, if they are treated separately.
    slow_lane: Option<SlowLane>,
    stats: LevelStats,
    counts: Counts,

    queues: Vec<Queue>,
    order: Order,
    /// Until when those that wait may do so.
    waits: BTreeSet<Timer>,
    /// Until when those that have ended linger.
    lingers: BTreeSet<Timer>,
    /// Seats that new requests lacked since limits were set, in a level without queues.
    wanted: u32,
    /// Requests that run without seats: see [`Settings::max_detached`].
    detached: u32,
    retry_after: RetryAfter,
    seats: SeatLimit,
    handling: Handling,
    dealer: Option<Dealer>,
    settings: Settings,
}

/// How many seats a level may use now, and how many are its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SeatLimit {
    pub limit: u32,
    pub nominal: u32,
}

impl<W> QueueSet<W> {
    /// A level without requests. Set [`Self::schemas_mut`] before it gets any.
    ///
    /// # Panics
    /// Here and in [`Self::reconfigure`], if hands of the size asked for can't be dealt: see
    /// [`Queuing`](crate::config::Queuing).
    pub fn new(now: Time, handling: Handling, seats: SeatLimit, settings: &Settings) -> Self {
        let capacity = (seats.limit as usize).min(1024);
        let mut set = QueueSet {
            settings: settings.clone(),
            handling: Handling::Reject,
            dealer: None,
            seats: SeatLimit::default(),
            now,
            r: Work(0),
            queues: Vec::new(),
            order: Order::default(),
            lap: 1,
            arrivals: 0,
            dispatches: 0,
            slow_lane: settings.slow_flows.as_ref().map(|slow| SlowLane::new(now, slow)),
            slots: Slots::with_capacity(capacity),
            waits: BTreeSet::new(),
            lingers: BTreeSet::new(),
            holds: List::default(),
            waiting: 0,
            seats_waiting: 0,
            executing: 0,
            seats_in_use: 0,
            queued_seats: 0,
            active: 0,
            wanted: 0,
            detached: 0,
            demand: Demand::new(now),
            retry_after: RetryAfter::default(),
            stats: LevelStats::new(now),
            counts: Counts::default(),
        };
        set.handle(handling, seats);
        set
    }

    /// Nothing waits, nothing runs, and nothing lingers.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.executing == 0 && self.seats_in_use == 0
    }

    pub fn seats(&self) -> SeatLimit {
        self.seats
    }

    pub fn handling(&self) -> Handling {
        self.handling
    }

    /// The progress meter, as of the last call.
    pub fn r(&self) -> Work {
        self.r
    }

    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    pub fn executing(&self) -> u32 {
        self.executing
    }

    /// How many requests still run although they were held for too long and lost their seats.
    pub fn detached(&self) -> u32 {
        self.detached
    }

    pub fn seats_in_use(&self) -> u64 {
        self.seats_in_use
    }

    pub fn seats_waiting(&self) -> u64 {
        self.seats_waiting
    }

    pub fn retry_after(&self) -> u32 {
        self.retry_after.seconds()
    }

    /// What is counted for each schema, by the number that [`Arrival::schema`] gives: the sum of all
    /// stripes. Bound: O(schemas + requests).
    pub fn schemas(&self) -> Vec<SchemaStats> {
        let mut schemas = self.counts.merged();
        for (_, slot) in self.slots.iter() {
            slot.count(&mut schemas[slot.schema as usize]);
        }
        schemas
    }

    /// Add one for each schema.
    pub fn schemas_mut(&mut self) -> &mut Vec<SchemaStats> {
        &mut self.counts.first
    }

    /// Begins to count anew for a schema, of which nothing may wait or run.
    pub(crate) fn reset_schema(&mut self, number: usize) {
        self.counts.reset(number);
    }

    /// The [`stripe`](crate::stripes) of the thread that makes the next calls.
    pub fn use_stripe(&mut self, stripe: usize) {
        self.counts.use_stripe(stripe);
        self.slots.use_stripe(stripe);
    }

    /// Those who would be woken, were it their turn.
    pub fn wakers(&mut self) -> impl Iterator<Item = &W> {
        self.slots.iter_mut().filter_map(|slot| slot.waker.as_ref())
    }

    /// What is counted for all, up to `now`.
    pub fn stats(&mut self, now: Time) -> LevelStats {
        let mut stats = self.stats.read(now.max(self.now));
        let fill = self.counts.merged_fill();
        (stats.fill, stats.fill_sum) = (fill.counts, fill.sum);
        stats
    }

    /// The demand for seats since the last call.
    pub fn take_demand(&mut self, now: Time) -> DemandStats {
        self.demand.take(now.max(self.now))
    }

    /// How many seats of its own this level lacks: it lent them, and now requests wait, or were
    /// [`wanted`](Self::want).
    pub fn claim(&self) -> u32 {
        let lent = self.seats.nominal.saturating_sub(self.seats.limit);
        if lent == 0 || self.waiting == 0 {
            return lent.min(self.wanted);
        }
        let wanted =
            (self.seats_in_use + self.seats_to_go()).saturating_sub(self.seats.limit.into());
        lent.min(u32::try_from(wanted).unwrap_or(u32::MAX))
    }

    fn is_exempt(&self) -> bool {
        self.handling == Handling::Exempt
    }

    /// Brings all that is counted by time up to what now holds. Called once at the end of each call
    /// that changes something.
    fn note(&mut self) {
        self.count_others();
        let demand = self.seats_in_use + self.seats_to_go();
        self.demand.set(self.now, u32::try_from(demand).unwrap_or(u32::MAX));
        let load = Load {
            seats: self.seats_in_use,
            executing: self.executing.into(),
            waiting: self.waiting.into(),
            demand,
        };
        self.stats.set(self.now, self.counts.stripe(), load);
    }

    /// Where the schema of a request is counted.
    fn schema(&mut self, index: u32) -> &mut SchemaStats {
        self.counts.of(self.slots[index].schema)
    }
}
