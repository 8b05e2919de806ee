//! The sentence that the page opens with.

use super::{
    figures::{duration, number, wait},
    history::Since,
    levels::Level,
    reading::Reading,
    served,
};
use crate::view::words::{percent, shown};

/// Sums over levels whose requests need seats. `None`: unknown.
#[derive(Debug)]
pub(super) struct Totals {
    pub used: Option<f64>,
    pub seats: Option<f64>,
    pub waiting: Option<f64>,
}

/// A flow with this part of the waiting requests is named.
const MUCH: f64 = 0.5;

pub(super) fn sentence(
    reading: &Reading,
    levels: &[Level<'_>],
    totals: &Totals,
    since: Option<&Since>,
) -> String {
    let busiest = levels.iter().max_by(|a, b| {
        let waiting = |level: &Level<'_>| level.waiting.unwrap_or(0.0);
        // Of two that are alike, the first by name.
        waiting(a).total_cmp(&waiting(b)).then(b.name.cmp(a.name))
    });
    let busiest = busiest.and_then(|level| Some((level, level.waiting.filter(|n| *n > 0.0)?)));
    if let Some((level, waiting)) = busiest {
        return full(level, waiting, totals);
    }
    let Some(0.0) = totals.waiting else {
        return "Whether requests wait is unknown; below is what could not be read.".to_owned();
    };
    let seats = match (totals.used, totals.seats) {
        (Some(used), Some(seats)) => {
            let are = if used == 1.0 { "is" } else { "are" };
            format!("{} of {} seats {are} in use", number(used), number(seats))
        }
        _ => "how many seats are in use is unknown".to_owned(),
    };
    let rejected = since.zip(reading.metrics.as_deref().ok()).and_then(|(since, metrics)| {
        let n = served::rejected(metrics, since).filter(|n| *n > 0.0)?;
        let were = if n == 1.0 { "request was" } else { "requests were" };
        Some(format!(
            "{} {were} rejected in the last {}",
            number(n),
            duration(since.seconds.round())
        ))
    });
    match rejected {
        None => format!("All requests are served at once: {seats}."),
        Some(rejected) => format!("No request waits, and {seats}; {rejected}."),
    }
}

fn full(level: &Level<'_>, waiting: f64, totals: &Totals) -> String {
    let name = shown(level.name);
    let mut sentence = match level.is_full() {
        true => format!("{name} is full: {}", wait(waiting)),
        false => format!("In {name} {}", wait(waiting)),
    };
    if let Some(longest) = level.longest() {
        sentence += &format!(", the longest {}", duration(longest));
    }
    let first = level.flows.first().filter(|flow| flow.waiting as f64 / waiting >= MUCH);
    if let Some(flow) = first {
        let part = percent(flow.waiting as f64 / waiting);
        sentence += &format!("; {} has {part} of the waiting requests", flow.label);
        match (flow.seats, level.used) {
            (None, _) => {}
            (Some(0), _) => sentence += " and holds no seat",
            (Some(seats), Some(used)) if used >= seats as f64 => {
                sentence += &format!(" and holds {seats} of {} seats in use", number(used));
            }
            (Some(seats), _) => sentence += &format!(" and holds {seats} seats"),
        }
    }
    let others = totals.waiting.map(|all| all - waiting).filter(|n| *n > 0.0);
    if let Some(others) = others {
        sentence += &format!("; {} in other levels", wait(others));
    }
    sentence + "."
}

// === impl Totals ===

impl Totals {
    pub(super) fn of(levels: &[Level<'_>]) -> Totals {
        // Without any level nothing is known, not nothing in use.
        let sum = |of: fn(&Level<'_>) -> Option<f64>| {
            let limited = levels.iter().filter(|level| !level.is_exempt() && !level.awaited);
            limited.map(of).reduce(|a, b| Some(a? + b?)).flatten()
        };
        Totals {
            used: sum(|level| level.used),
            seats: sum(|level| level.limits.nominal),
            waiting: sum(|level| level.waiting),
        }
    }
}
