//! Counts and samples while a simulation runs.

use std::{sync::Arc, time::Duration};

use super::{
    Counts, Figures, FlowReport, Random, Scenario, Series,
    measure::{Samples, jain, summaries},
    report::LevelReport,
    windows::{Windows, spread},
};
use crate::{Time, queues::stats::RejectReason, time::nanos};

/// How many steps the time series has.
const STEPS: u64 = 500;

/// A client that has not sent anything yet.
const NO_LEVEL: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Recorder<'s> {
    scenario: &'s Scenario,
    from: Time,
    end: Time,
    levels: Vec<Arc<str>>,
    /// By level, then by flow.
    cells: Vec<Cell>,
    clients: Vec<ClientUsage>,
    /// Seat-nanoseconds by level and step.
    steps: Vec<Vec<u64>>,
    step: u64,
    windows: Windows,
    budget: usize,
    random: Random,
}

/// The requests of one flow in one level.
#[derive(Debug, Default)]
struct Cell {
    counts: Counts,
    seat_nanos: u64,
    samples: Samples,
}

#[derive(Clone, Copy, Debug)]
struct ClientUsage {
    flow: u32,
    level: u32,
    seat_nanos: u64,
}

/// Whose request it is, and where it went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub flow: u32,
    pub client: u32,
    pub level: u32,
}

impl<'s> Recorder<'s> {
    /// `flows` are those of the clients.
    pub(super) fn new(scenario: &'s Scenario, flows: impl Iterator<Item = u32>) -> Self {
        Recorder {
            scenario,
            from: Time(0) + scenario.warmup,
            end: Time(0) + scenario.duration,
            levels: Vec::new(),
            cells: Vec::new(),
            clients: flows
                .map(|flow| ClientUsage { flow, level: NO_LEVEL, seat_nanos: 0 })
                .collect(),
            steps: Vec::new(),
            step: nanos(scenario.duration).div_ceil(STEPS).max(1),
            windows: Windows::new(scenario),
            budget: super::MAX_SAMPLES,
            random: Random::new(scenario.seed, u64::MAX),
        }
    }

    /// The number of a level, which is new if its name is.
    pub(super) fn level(&mut self, name: &Arc<str>) -> u32 {
        let known = self.levels.iter().position(|level| level == name);
        let number = known.unwrap_or_else(|| {
            self.levels.push(name.clone());
            let cells = self.levels.len() * self.scenario.flows.len();
            self.cells.resize_with(cells, Cell::default);
            self.steps.push(vec![0; nanos(self.scenario.duration).div_ceil(self.step) as usize]);
            self.levels.len() - 1
        });
        u32::try_from(number).expect("fewer levels than 2^32")
    }

    pub(super) fn arrived(&mut self, now: Time, origin: Origin) {
        self.clients[origin.client as usize].level = origin.level;
        self.count(now, origin, |counts| counts.arrived += 1);
    }

    /// Called in the order of time.
    pub(super) fn dispatched(&mut self, now: Time, origin: Origin, wait: Duration) {
        self.count(now, origin, |counts| counts.dispatched += 1);
        self.windows.dispatched(now, origin.flow, nanos(wait));
    }

    pub(super) fn rejected(&mut self, now: Time, origin: Origin, reason: RejectReason) {
        self.count(now, origin, |counts| match reason {
            RejectReason::QueueFull => counts.queue_full += 1,
            RejectReason::ConcurrencyLimit => counts.concurrency_limit += 1,
            RejectReason::TimeOut | RejectReason::Cancelled => counts.timed_out += 1,
        });
    }

    pub(super) fn completed(&mut self, now: Time, origin: Origin, arrived: Time, wait: Duration) {
        self.count(now, origin, |counts| counts.completed += 1);
        if arrived >= self.from {
            let cell = self.cell(origin);
            let Recorder { cells, budget, random, .. } = self;
            cells[cell].samples.add(nanos(wait), nanos(now - arrived), budget, random);
        }
    }

    /// Seats that were in use for a while.
    pub(super) fn occupied(&mut self, origin: Origin, seats: u32, from: Time, until: Time) {
        let until = until.min(self.end);
        let measured = nanos(until - from.max(self.from)).saturating_mul(seats.into());
        let cell = self.cell(origin);
        self.cells[cell].seat_nanos += measured;
        self.clients[origin.client as usize].seat_nanos += measured;
        let steps = &mut self.steps[origin.level as usize];
        spread(steps, self.step, seats, from, until);
        self.windows.occupied(origin.flow, seats, from, until);
    }

    fn count(&mut self, now: Time, origin: Origin, count: impl FnOnce(&mut Counts)) {
        if now >= self.from {
            let cell = self.cell(origin);
            count(&mut self.cells[cell].counts);
        }
    }

    fn cell(&self, origin: Origin) -> usize {
        origin.level as usize * self.scenario.flows.len() + origin.flow as usize
    }
}

// === The report ===

impl Recorder<'_> {
    pub(super) fn is_sampled(&self) -> bool {
        self.cells.iter().any(|cell| !cell.samples.is_whole())
    }

    pub(super) fn seat_seconds(&self) -> f64 {
        self.cells.iter().map(|cell| cell.seat_nanos as f64 / 1e9).sum()
    }

    /// Over the clients that sent anything.
    pub(super) fn jain(&self, of: impl Fn(u32, u32) -> bool) -> Option<f64> {
        let sent = self.clients.iter().filter(|client| client.level != NO_LEVEL);
        let of = sent.filter(|client| of(client.flow, client.level));
        jain(of.map(|client| client.seat_nanos as f64))
    }

    /// `seats` gives the nominal limit of a level and that in force.
    pub(super) fn level_reports(
        &self,
        seats: impl Fn(&str) -> Option<(u32, u32)>,
    ) -> Vec<LevelReport> {
        let flows = self.scenario.flows.len();
        let of = |(number, level): (usize, &Arc<str>)| {
            let seats = seats(level);
            LevelReport {
                level: level.clone(),
                nominal: seats.map(|(nominal, _)| nominal),
                limit_at_end: seats.map(|(_, limit)| limit),
                jain: self.jain(|_, level| level as usize == number),
                figures: self.figures(self.cells[number * flows..][..flows].iter()),
            }
        };
        self.levels.iter().enumerate().map(of).collect()
    }

    pub(super) fn flow_reports(&self) -> Vec<FlowReport> {
        let flows = &self.scenario.flows;
        let of = |number: usize| {
            let cells = self.cells[number.min(self.cells.len())..].iter().step_by(flows.len());
            let used = self.levels.iter().zip(cells.clone());
            let used = used.filter(|(_, cell)| cell.counts != Counts::default());
            FlowReport {
                flow: flows[number].name.clone(),
                clients: flows[number].clients,
                levels: used.map(|(level, _)| level.clone()).collect(),
                jain: self.jain(|flow, _| flow as usize == number),
                figures: self.figures(cells),
            }
        };
        (0..flows.len()).map(of).collect()
    }

    pub(super) fn series(&self) -> Series {
        let end = self.end.0;
        let mean = |(number, seat_nanos): (u64, &u64)| {
            let from = number * self.step;
            *seat_nanos as f64 / (end - from).min(self.step) as f64
        };
        let seats = self.steps.iter().map(|steps| (0..).zip(steps).map(mean).collect()).collect();
        Series {
            step_seconds: self.step as f64 / 1e9,
            seats,
            window_seconds: self.windows.seconds(),
            flows: self.windows.series(self.end),
        }
    }

    fn figures<'c>(&self, cells: impl Iterator<Item = &'c Cell> + Clone) -> Figures {
        let counts = cells.clone().map(|cell| cell.counts).fold(Counts::default(), Counts::plus);
        let seat_seconds = cells.clone().map(|cell| cell.seat_nanos as f64 / 1e9).sum::<f64>();
        let (wait, latency) = summaries(&cells.map(|cell| &cell.samples).collect::<Vec<_>>());
        let all = self.seat_seconds();
        Figures {
            counts,
            seat_seconds,
            share: if all > 0.0 { seat_seconds / all } else { 0.0 },
            throughput: counts.completed as f64 / (self.end - self.from).as_secs_f64(),
            wait,
            latency,
        }
    }
}
