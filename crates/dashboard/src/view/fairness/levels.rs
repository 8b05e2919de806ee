//! What is known of each priority level and of the flows in it, of all parts that were read.

use std::collections::BTreeMap;

use evenkeel_fairness::config::{Config, Handling, Source};
use jiff::{Timestamp, Unit};

use super::{
    dumps::{Dump, LevelRow},
    metrics::Limits,
    reading::Reading,
};
use crate::view::words::shown;

/// The level whose requests need no seats.
const EXEMPT: &str = "exempt";

/// `None` everywhere: unknown.
#[derive(Debug)]
pub(super) struct Level<'r> {
    pub name: &'r str,
    pub handling: Option<Handling>,
    pub limits: Limits,
    /// Seats in use.
    pub used: Option<f64>,
    /// Requests.
    pub waiting: Option<f64>,
    /// Removed from the configuration, and still with requests.
    pub quiescing: bool,
    /// An object of this name exists, and the server has no such level yet.
    pub awaited: bool,
    /// Of `dump_requests`.
    pub flows: Vec<Flow<'r>>,
}

/// The requests of one flow that are in a level now.
#[derive(Clone, Debug)]
pub(super) struct Flow<'r> {
    pub level: &'r str,
    pub schema: &'r str,
    pub label: String,
    pub waiting: u64,
    /// Seconds; `None`: none waits.
    pub longest: Option<f64>,
    /// `None`: unknown.
    pub executing: Option<u64>,
    pub seats: Option<u64>,
}

/// By name. O((rows + objects) · log).
pub(super) fn levels(reading: &Reading, now: Timestamp) -> Vec<Level<'_>> {
    let mut parts: BTreeMap<&str, Parts<'_>> = BTreeMap::new();
    if let Ok(metrics) = &reading.metrics {
        for (name, limits) in &metrics.levels {
            let counts = (metrics.unread == 0).then(Counted::default);
            let part = parts.entry(name).or_default();
            (part.limits, part.counted) = (*limits, counts);
        }
        for ((level, _), counts) in &metrics.schemas {
            if let Some(sums) = parts.get_mut(level.as_str()).and_then(|part| part.counted.as_mut())
            {
                sums.seats += counts.seats.unwrap_or(0.0);
                sums.waiting += counts.waiting.unwrap_or(0.0);
            }
        }
    }
    if let Ok(config) = &reading.config {
        for level in &config.levels {
            parts.entry(&level.name).or_default().handling = Some(level.handling);
        }
    }
    if let Ok(dump) = &reading.levels {
        for row in &dump.rows {
            parts.entry(&row.name).or_default().row = Some(row);
        }
    }
    if let Some(dump) = reading.queues.as_ref().ok().filter(|dump| dump.is_whole()) {
        for row in &dump.rows {
            *parts.entry(&row.level).or_default().in_queues.get_or_insert(0.0) += row.seats as f64;
        }
    }
    for flow in flows(reading, now) {
        parts.entry(flow.level).or_default().flows.push(flow);
    }
    let all = reading.requests.as_ref().is_ok_and(Dump::is_whole);
    let running = reading.requests.as_ref().is_ok_and(|dump| !dump.waiting_only);
    let mut levels: Vec<Level<'_>> =
        parts.into_iter().map(|(name, part)| part.level(name, all, running)).collect();
    // The metrics have every level of the server.
    if reading.metrics.as_ref().is_ok_and(|metrics| metrics.unread == 0) {
        for level in &mut levels {
            level.awaited = level.limits.nominal.is_none() && level.flows.is_empty();
        }
    }
    levels
}

/// What each part says of a level.
#[derive(Default)]
struct Parts<'r> {
    limits: Limits,
    /// A level with limits and without a sample has nothing: Kubernetes begins a series with the first
    /// request.
    counted: Option<Counted>,
    handling: Option<Handling>,
    row: Option<&'r LevelRow>,
    /// Seats, of `dump_queues`.
    in_queues: Option<f64>,
    flows: Vec<Flow<'r>>,
}

/// Sums of metrics.
#[derive(Clone, Copy, Default)]
struct Counted {
    seats: f64,
    waiting: f64,
}

impl<'r> Parts<'r> {
    /// `all`: every row of `dump_requests` was read; `running`: it has requests that run.
    fn level(self, name: &'r str, all: bool, running: bool) -> Level<'r> {
        let Parts { limits, counted, handling, row, in_queues, mut flows } = self;
        flows.sort_by(Flow::by_waiting);
        let waiting = flows.iter().map(|flow| flow.waiting).sum::<u64>() as f64;
        let mut seats_held = flows.iter().map(|flow| flow.seats);
        let held = seats_held.try_fold(0, |sum: u64, n| Some(sum.saturating_add(n?)));
        let dumped = row.and_then(|row| row.waiting).map(|n| n as f64);
        let seats = counted.map(|sums| sums.seats).or(in_queues);
        Level {
            name,
            handling: handling.or((name == EXEMPT).then_some(Handling::Exempt)),
            limits,
            used: seats.or(held.filter(|_| all && running).map(|n| n as f64)),
            waiting: match all {
                true => Some(waiting),
                false => dumped.or(counted.map(|sums| sums.waiting)),
            },
            quiescing: row.is_some_and(|row| row.quiescing),
            awaited: false,
            flows,
        }
    }
}

/// O(requests · log).
fn flows(reading: &Reading, now: Timestamp) -> Vec<Flow<'_>> {
    let Ok(dump) = &reading.requests else { return Vec::new() };
    let sources = reading.config.as_deref().map(sources).unwrap_or_default();
    let runs = (!dump.waiting_only).then_some(0);
    let mut flows: BTreeMap<(&str, &str, &str), Flow<'_>> = BTreeMap::new();
    for row in &dump.rows {
        let key = (row.level.as_str(), row.schema.as_str(), row.flow.as_str());
        let flow = flows.entry(key).or_insert_with(|| Flow {
            level: &row.level,
            schema: &row.schema,
            label: label(sources.get(row.schema.as_str()), &row.schema, &row.flow),
            waiting: 0,
            longest: None,
            executing: runs,
            seats: runs,
        });
        if row.waits {
            let waited = (now - row.arrived).total(Unit::Second).unwrap_or(0.0).max(0.0);
            flow.waiting += 1;
            flow.longest = Some(flow.longest.unwrap_or(0.0).max(waited));
        } else {
            flow.executing = flow.executing.map(|n| n + 1);
            flow.seats = flow.seats.map(|n| n.saturating_add(row.seats));
        }
    }
    flows.into_values().collect()
}

/// What tells the flows of a schema apart, by its name; the inner `None`: nothing does.
fn sources(config: &Config) -> BTreeMap<&str, Option<&Source>> {
    let mut sources = BTreeMap::new();
    for schema in &config.schemas {
        sources.insert(&*schema.name, schema.distinguisher.as_ref().map(|by| &by.source));
    }
    sources
}

/// What tells a flow from others of its schema: `user “alice”`. The outer `None`: unknown.
pub(super) fn label(source: Option<&Option<&Source>>, schema: &str, flow: &str) -> String {
    let what = match source {
        Some(Some(Source::User)) => "user",
        Some(Some(Source::Namespace)) if flow.is_empty() => {
            return "requests without a namespace".to_owned();
        }
        Some(Some(Source::Namespace)) => "namespace",
        Some(None) => return format!("all of {}", shown(schema)),
        _ if flow.is_empty() => return format!("all of {}", shown(schema)),
        _ => "flow",
    };
    format!("{what} “{}”", shown(flow))
}

// === impl Level ===

impl Level<'_> {
    pub(super) fn is_exempt(&self) -> bool {
        self.handling == Some(Handling::Exempt)
    }

    /// Whether every seat it has now is in use.
    pub(super) fn is_full(&self) -> bool {
        let limit = self.limits.current.or(self.limits.nominal);
        let full = self.used.zip(limit).is_some_and(|(used, limit)| used >= limit && used > 0.0);
        full && !self.is_exempt()
    }

    /// Seats that it has now beyond its nominal ones.
    pub(super) fn borrowed(&self) -> Option<f64> {
        Some((self.limits.current? - self.limits.nominal?).max(0.0))
    }

    /// Nominal seats that others have now.
    pub(super) fn lent(&self) -> Option<f64> {
        Some((self.limits.nominal? - self.limits.current?).max(0.0))
    }

    /// Of all its waiting requests, in seconds.
    pub(super) fn longest(&self) -> Option<f64> {
        self.flows.iter().filter_map(|flow| flow.longest).reduce(f64::max)
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// Most waiting requests first, then the longest wait, most seats, the name.
    pub(super) fn by_waiting(a: &Self, b: &Self) -> std::cmp::Ordering {
        let longest = |flow: &Self| flow.longest.unwrap_or(0.0);
        b.waiting
            .cmp(&a.waiting)
            .then(longest(b).total_cmp(&longest(a)))
            .then(b.seats.cmp(&a.seats))
            .then_with(|| (a.level, a.schema, &a.label).cmp(&(b.level, b.schema, &b.label)))
    }
}
