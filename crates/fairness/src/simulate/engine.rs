//! The event loop.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc, time::Duration};

use super::{
    Arrivals, Change, MAX_AT_A_TIME, MAX_REQUESTS, Report, Scenario, Setup, SimulationError,
    client::{Client, Stream},
    recorder::{Origin, Recorder},
};
use crate::{
    Time, Width,
    dispatcher::{
        ADJUSTMENT_PERIOD, Admission, Cost, Destination, Dispatcher, Level, RequestHandle,
    },
    queues::{Verdict, stats::RejectReason},
};

/// Progress is reported once per this number of events.
const REPORT_EVERY: u64 = 1 << 16;

#[derive(Debug)]
pub(super) struct Engine<'s> {
    scenario: &'s Scenario,
    dispatcher: Dispatcher<usize>,
    streams: Vec<Stream<'s>>,
    requests: Vec<InFlight>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<Event>>,
    n_events: u64,
    n_requests: u64,
    now: Time,
    end: Time,
    levels: Vec<KnownLevel>,
    woken: Vec<usize>,
    recorder: Recorder<'s>,
    capacity: Capacity,
}

#[derive(Debug)]
struct InFlight {
    origin: Origin,
    width: Width,
    arrived: Time,
    dispatched: Option<Time>,
    service: Duration,
    handle: Option<RequestHandle<usize>>,
}

/// Those of one moment are in the order in which they were scheduled.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Event {
    at: Time,
    number: u64,
    kind: EventKind,
}

#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
enum EventKind {
    Arrive(u32),
    End(u32),
    Tick(u32),
    Adjust,
    Change(u32),
}

#[derive(Debug)]
struct KnownLevel {
    level: Arc<Level<usize>>,
    number: u32,
    /// For when a tick is scheduled.
    armed: Time,
}

/// The server's seats, over the time that counts.
#[derive(Debug)]
struct Capacity {
    seats: u32,
    since: Time,
    seat_seconds: f64,
}

impl<'s> Engine<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        setup: &Setup,
        clients: &'s [Client],
    ) -> Result<Self, SimulationError> {
        let Setup { config, server_limit, settings, .. } = setup;
        let dispatcher = Dispatcher::new(Time(0), config.clone(), *server_limit, settings.clone())?;
        let stream = |(number, client)| Stream::new(scenario, number, client);
        let mut engine = Engine {
            scenario,
            dispatcher,
            streams: (0..).zip(clients).map(stream).collect(),
            requests: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            n_events: 0,
            n_requests: 0,
            now: Time(0),
            end: Time(0) + scenario.duration,
            levels: Vec::new(),
            woken: Vec::new(),
            recorder: Recorder::new(scenario, clients.iter().map(|client| client.flow)),
            capacity: Capacity {
                seats: *server_limit,
                since: Time(0) + scenario.warmup,
                seat_seconds: 0.0,
            },
        };
        engine.know_levels();
        Ok(engine)
    }

    pub(super) fn run(
        &mut self,
        setup: &Setup,
        progress: &mut dyn FnMut(Time),
    ) -> Result<(), SimulationError> {
        self.begin(setup);
        let mut handled = 0;
        while let Some(Reverse(Event { at, kind, .. })) = self.events.pop() {
            if at >= self.end {
                break;
            }
            self.now = at;
            match kind {
                EventKind::Arrive(client) => self.arrive(client),
                EventKind::End(request) => self.end(request as usize),
                EventKind::Tick(level) => self.tick(level as usize),
                EventKind::Adjust => self.adjust(),
                EventKind::Change(number) => self.change(&setup.changes[number as usize])?,
            }
            self.handle_woken();
            handled += 1;
            if handled % REPORT_EVERY == 0 {
                progress(at);
            }
            self.check_bounds()?;
        }
        self.finish();
        Ok(())
    }

    pub(super) fn report(&self) -> Report {
        let (limits, _) = self.dispatcher.limits();
        let seats = |name: &str| {
            let found = limits.iter().find(|limits| &*limits.level == name)?;
            Some((found.limits.nominal, found.limits.current))
        };
        let seat_seconds = self.recorder.seat_seconds();
        Report {
            measured_seconds: self
                .scenario
                .duration
                .saturating_sub(self.scenario.warmup)
                .as_secs_f64(),
            server_seats: self.capacity.seats,
            requests: self.n_requests,
            in_use: seat_seconds / self.capacity.seat_seconds.max(f64::MIN_POSITIVE),
            jain: self.recorder.jain(|_, _| true),
            sampled: self.recorder.is_sampled(),
            levels: self.recorder.level_reports(seats),
            flows: self.recorder.flow_reports(),
            series: self.recorder.series(),
        }
    }

    fn begin(&mut self, setup: &Setup) {
        for (client, number) in (0..self.streams.len()).zip(0..) {
            let n = match self.streams[client].flow.arrivals {
                Arrivals::Closed { outstanding, .. } => outstanding,
                _ => 1,
            };
            for _ in 0..n {
                let first = self.streams[client].first();
                self.schedule_arrival(number, first);
            }
        }
        for (number, change) in (0..).zip(&setup.changes) {
            self.schedule(Time(0) + change.at, EventKind::Change(number));
        }
        self.schedule(Time(0) + ADJUSTMENT_PERIOD, EventKind::Adjust);
    }

    // === Events ===

    fn arrive(&mut self, client: u32) {
        if let Some(next) = self.streams[client as usize].next_by_itself() {
            self.schedule_arrival(client, Some(next));
        }
        self.n_requests += 1;
        let slot = self.free.pop().unwrap_or(self.requests.len());
        let now = self.now;
        let stream = &mut self.streams[client as usize];
        let service = stream.service();
        let width = |destination: &Destination<usize>| stream.width(destination.max_seats);
        let wait_until = now + stream.flow.wait_limit;
        let admitted = self.dispatcher.admit(
            now,
            &stream.request(),
            |destination| Cost { width: width(destination), wait_until, watch: false },
            || slot,
            &mut self.woken,
        );
        let width = width(&admitted.destination);
        let brings_forward = admitted.earlier_deadline.is_some();
        let (destination, admission) = (admitted.destination, admitted.admission);
        let flow = stream.flow_number;
        let known = self.known(&destination.level);
        let origin = Origin { flow, client, level: self.levels[known].number };
        self.recorder.arrived(now, origin);
        if brings_forward {
            self.arm_all();
        }
        let (handle, runs) = match admission {
            Admission::Dispatched(handle) => (handle, true),
            Admission::Waiting(handle) => (handle, false),
            Admission::Rejected { reason, retry_after } => {
                if slot < self.requests.len() {
                    self.free.push(slot);
                }
                return self.rejected(origin, reason, retry_after);
            }
        };
        let dispatched = None;
        let request =
            InFlight { origin, width, arrived: now, dispatched, service, handle: Some(handle) };
        if slot < self.requests.len() {
            self.requests[slot] = request;
        } else {
            self.requests.push(request);
        }
        if runs {
            // Waiting requests were dispatched before this one.
            self.handle_woken();
            self.start(slot);
        }
    }

    fn start(&mut self, slot: usize) {
        let request = &mut self.requests[slot];
        request.dispatched = Some(self.now);
        let (origin, at) = (request.origin, self.now + request.service);
        let wait = self.now - request.arrived;
        self.recorder.dispatched(self.now, origin, wait);
        let slot = u32::try_from(slot).expect("fewer requests at a time than 2^32");
        self.schedule(at, EventKind::End(slot));
    }

    fn end(&mut self, slot: usize) {
        let request = &mut self.requests[slot];
        let (Some(handle), Some(dispatched)) = (request.handle.take(), request.dispatched) else {
            return;
        };
        let (origin, width, arrived) = (request.origin, request.width, request.arrived);
        self.free.push(slot);
        if self.dispatcher.leave(self.now, handle, &mut self.woken).is_some() {
            self.arm_all();
        }
        self.recorder.completed(self.now, origin, arrived, dispatched - arrived);
        let until = self.now + width.additional_latency;
        self.recorder.occupied(origin, width.max_seats(), dispatched, until);
        let next = self.streams[origin.client as usize].next_after(self.now);
        self.schedule_arrival(origin.client, next);
    }

    fn rejected(&mut self, origin: Origin, reason: RejectReason, retry_after: u32) {
        self.recorder.rejected(self.now, origin, reason);
        // A retry takes time, or the simulation would not advance.
        let back = self.now + Duration::from_secs(retry_after.max(1).into());
        let next = self.streams[origin.client as usize].next_after(back);
        self.schedule_arrival(origin.client, next);
    }

    fn tick(&mut self, known: usize) {
        self.levels[known].armed = Time::MAX;
        if self.levels[known].level.deadline().is_some_and(|deadline| deadline <= self.now) {
            let level = &self.levels[known].level;
            if self.dispatcher.tick(self.now, level, &mut self.woken).is_some() {
                self.arm_all();
            }
        }
        self.arm(known);
    }

    fn adjust(&mut self) {
        self.dispatcher.adjust(self.now, &mut self.woken);
        self.schedule(self.now + ADJUSTMENT_PERIOD, EventKind::Adjust);
        self.know_levels();
    }

    fn change(&mut self, change: &Change) -> Result<(), SimulationError> {
        let Change { config, server_limit, .. } = change;
        self.dispatcher.configure(self.now, config.clone(), *server_limit, &mut self.woken)?;
        self.capacity.until(self.now);
        self.capacity.seats = *server_limit;
        self.know_levels();
        Ok(())
    }

    /// Those origin waiting is over run, or were turned away.
    fn handle_woken(&mut self) {
        let mut woken = std::mem::take(&mut self.woken);
        for slot in woken.drain(..) {
            let Some(handle) = &self.requests[slot].handle else { continue };
            match self.dispatcher.verdict(handle, |_| slot) {
                (Verdict::Waiting, _) => {}
                (Verdict::Dispatched, _) => self.start(slot),
                (Verdict::Rejected(reason), retry_after) => {
                    self.requests[slot].handle = None;
                    self.free.push(slot);
                    self.rejected(self.requests[slot].origin, reason, retry_after);
                }
            }
        }
        self.woken = woken;
    }

    fn check_bounds(&self) -> Result<(), SimulationError> {
        let at = self.now - Time(0);
        if self.n_requests > MAX_REQUESTS {
            return Err(SimulationError::TooManyRequests { at });
        }
        // Slots are reused, so there are as many as there were concurrent requests.
        if self.requests.len() > MAX_AT_A_TIME {
            return Err(SimulationError::TooManyAtATime { at });
        }
        Ok(())
    }

    fn finish(&mut self) {
        for request in self.requests.iter().filter(|request| request.handle.is_some()) {
            if let Some(dispatched) = request.dispatched {
                let seats = request.width.max_seats();
                self.recorder.occupied(request.origin, seats, dispatched, self.end);
            }
        }
        self.capacity.until(self.end);
    }

    // === Schedule ===

    fn schedule(&mut self, at: Time, kind: EventKind) {
        self.events.push(Reverse(Event { at, number: self.n_events, kind }));
        self.n_events += 1;
    }

    fn schedule_arrival(&mut self, client: u32, at: Option<Time>) {
        if let Some(at) = at.filter(|at| *at < self.end) {
            self.schedule(at, EventKind::Arrive(client));
        }
    }

    /// Schedules what is due next in a level.
    fn arm(&mut self, known: usize) {
        let KnownLevel { level, armed, .. } = &mut self.levels[known];
        let Some(deadline) = level.deadline().filter(|deadline| *deadline < *armed) else { return };
        *armed = deadline;
        let number = u32::try_from(known).expect("fewer levels than 2^32");
        self.schedule(deadline, EventKind::Tick(number));
    }

    /// Seats that change hands move the deadlines of other levels as well.
    fn arm_all(&mut self) {
        (0..self.levels.len()).for_each(|known| self.arm(known));
    }

    fn know_levels(&mut self) {
        for level in self.dispatcher.levels() {
            let known = self.known(&level);
            self.arm(known);
        }
    }

    fn known(&mut self, level: &Arc<Level<usize>>) -> usize {
        if let Some(known) = self.levels.iter().position(|known| Arc::ptr_eq(&known.level, level)) {
            return known;
        }
        let number = self.recorder.level(&level.name);
        self.levels.push(KnownLevel { level: level.clone(), number, armed: Time::MAX });
        self.levels.len() - 1
    }
}

impl Capacity {
    fn until(&mut self, now: Time) {
        self.seat_seconds += f64::from(self.seats) * (now - self.since).as_secs_f64();
        self.since = self.since.max(now);
    }
}
