//! A copy of everything that a scrape reports.

use std::sync::Arc;

use evenkeel_fairness::{
    Time,
    config::Handling,
    dispatcher::LevelLimits,
    queues::{
        LevelDump, SlowFlowsDump,
        stats::{LevelStats, SchemaStats},
    },
};

use crate::{
    head::Kind,
    in_flight::{Phase, Reading},
    shared::{Level, Shared},
    watch_counts::WatchCount,
};

#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) levels: Vec<LevelSnapshot>,
    pub(super) limits: Vec<LevelLimits>,
    pub(super) fair_fraction: f64,
    /// By the labels `phase` and `request_kind`.
    pub(super) in_flight: [(&'static str, &'static str, Reading); 4],
    pub(super) watch_counts: Vec<WatchCount>,
    pub(super) max_detached: u32,
}

#[derive(Debug)]
pub(super) struct LevelSnapshot {
    pub(super) name: Arc<str>,
    pub(super) schemas: Vec<(Arc<str>, SchemaStats)>,
    pub(super) stats: LevelStats,
    /// None: it has no queues.
    pub(super) queues: Option<Queues>,
    /// None: it has no queues, or treats slow flows like others.
    pub(super) slow_flows: Option<SlowFlowsDump>,
    /// How many seats it may use now.
    pub(super) limit: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    pub(super) length_limit: u32,
    /// In seat-seconds.
    pub(super) r: f64,
    /// Over queues in which something waits: the virtual start of the next.
    pub(super) next_start: Option<Bounds>,
    /// The same less what those that run are still expected to use.
    pub(super) next_discounted: Option<Bounds>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Snapshot {
    pub(super) fn of(shared: &Shared) -> Self {
        let now = shared.clock.now();
        let guess = shared.dispatcher.settings().guess.as_secs_f64();
        let mut levels: Vec<_> = shared
            .dispatcher
            .levels()
            .iter()
            .map(|level| LevelSnapshot::of(level, now, guess))
            .collect();
        levels.sort_by(|a, b| a.name.cmp(&b.name));
        let (mut limits, fair_fraction) = shared.dispatcher.limits();
        limits.sort_by(|a, b| a.level.cmp(&b.level));
        let read = |phase, kind| shared.in_flight.read(now, phase, kind);
        Snapshot {
            levels,
            limits,
            fair_fraction,
            in_flight: [
                ("executing", "mutating", read(Phase::Executing, Kind::Mutating)),
                ("executing", "readOnly", read(Phase::Executing, Kind::ReadOnly)),
                ("waiting", "mutating", read(Phase::Waiting, Kind::Mutating)),
                ("waiting", "readOnly", read(Phase::Waiting, Kind::ReadOnly)),
            ],
            watch_counts: shared.watch_counts.copy(),
            max_detached: shared.dispatcher.settings().max_detached,
        }
    }

    /// What is counted for each schema, with the names of level and schema.
    pub(super) fn schemas(&self) -> impl Iterator<Item = (&str, &str, &SchemaStats)> {
        self.levels.iter().flat_map(|level| {
            level.schemas.iter().map(|(name, stats)| (&*level.name, &**name, stats))
        })
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = (&LevelSnapshot, Queues)> {
        self.levels.iter().filter_map(|level| Some((level, level.queues?)))
    }
}

impl LevelSnapshot {
    fn of(level: &Level, now: Time, guess: f64) -> Self {
        let (mut schemas, stats, handling, limit, dump) = level.view(|view| {
            let schemas = view.schemas().map(|(name, stats)| (name.clone(), stats));
            let schemas: Vec<_> = schemas.collect();
            let (stats, limit) = (view.set.stats(now), view.set.seats().limit);
            (schemas, stats, view.set.handling(), limit, view.set.dump())
        });
        schemas.sort_by(|a, b| a.0.cmp(&b.0));
        let queues = match handling {
            Handling::Queue(queuing) => Some(queues(&dump, queuing.queue_length_limit, guess)),
            _ => None,
        };
        let slow_flows = dump.slow_flows.filter(|_| queues.is_some());
        LevelSnapshot { name: level.name.clone(), schemas, stats, queues, slow_flows, limit }
    }
}

fn queues(dump: &LevelDump, length_limit: u32, guess: f64) -> Queues {
    let waiting = || dump.queues.iter().filter(|queue| queue.waiting > 0);
    let start = waiting().map(|queue| queue.next_dispatch_r.seat_seconds());
    let discounted = waiting()
        .map(|queue| queue.next_dispatch_r.seat_seconds() - queue.seats_in_use as f64 * guess);
    Queues {
        length_limit,
        r: dump.r.seat_seconds(),
        next_start: bounds(start),
        next_discounted: bounds(discounted),
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<Bounds> {
    values
        .map(|value| Bounds { min: value, max: value })
        .reduce(|all, one| Bounds { min: all.min.min(one.min), max: all.max.max(one.max) })
}
