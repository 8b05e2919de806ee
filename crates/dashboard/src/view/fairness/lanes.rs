//! Each priority level as a lane: its nominal seats, those in use, borrowed ones and lent ones.

use evenkeel_fairness::config::Handling;
use serde::Serialize;

use super::{
    figures::{counted, duration, number, seconds, wait},
    levels::{Flow, Level},
};
use crate::view::words::{Number, count, shown};

/// Levels that are drawn. Kubernetes creates eight.
pub(super) const MOST_LANES: usize = 40;
/// Elements of a lane and of its row.
pub(super) const LANE_MARKS: usize = 10;
/// Flows that are named in a sentence.
const MOST_NAMED: usize = 3;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    pub level: String,
    /// In one word or two: `full`, `requests wait`, `exempt`, `removed`, `not in force`; empty if there is nothing to say.
    pub state: &'static str,
    /// What happens to requests beyond the seats.
    pub handling: &'static str,
    pub words: String,
    /// Who waits for whom, if somebody waits and it is known.
    pub held: Option<String>,
    pub bar: LaneBar,
    pub used: Number,
    pub nominal: Number,
    pub limit: Number,
    /// The least and the most seats it may have.
    pub lower: Number,
    pub upper: Number,
    pub borrowed: Number,
    pub lent: Number,
    pub waiting: Number,
    pub longest: Number,
}

/// Lengths from the left edge in percent of the width; all lanes have one scale. `None`: unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneBar {
    /// The nominal seats.
    pub track: Option<f64>,
    pub used: Option<f64>,
    /// From the nominal seats to the limit.
    pub borrowed: Option<[f64; 2]>,
    /// From the limit to the nominal seats.
    pub lent: Option<[f64; 2]>,
}

/// Those that wait first, then by name.
pub(super) fn lanes(levels: &[Level<'_>]) -> Vec<Lane> {
    let scale = levels.iter().filter(|level| !level.is_exempt()).flat_map(|level| {
        let limits = [level.limits.nominal, level.limits.current, level.used];
        limits.into_iter().flatten()
    });
    let scale = scale.fold(1.0, f64::max);
    let mut sorted: Vec<&Level<'_>> = levels.iter().collect();
    let waiting = |level: &Level<'_>| level.waiting.unwrap_or(0.0);
    sorted.sort_by(|a, b| waiting(b).total_cmp(&waiting(a)).then(a.name.cmp(b.name)));
    sorted.into_iter().take(MOST_LANES).map(|level| lane(level, scale)).collect()
}

fn lane(level: &Level<'_>, scale: f64) -> Lane {
    Lane {
        level: shown(level.name),
        state: state(level),
        handling: level.handling.map_or("unknown", Handling::name),
        words: words(level),
        held: held(&level.flows),
        bar: bar(level, scale),
        used: counted(level.used),
        nominal: counted(level.limits.nominal),
        limit: counted(level.limits.current),
        lower: counted(level.limits.lower),
        upper: counted(level.limits.upper),
        borrowed: counted(level.borrowed()),
        lent: counted(level.lent()),
        waiting: counted(level.waiting),
        longest: match level.waiting {
            Some(0.0) => Number { text: "none waits".to_owned(), ..Number::unknown() },
            _ => seconds(level.longest()),
        },
    }
}

fn state(level: &Level<'_>) -> &'static str {
    match level {
        _ if level.awaited => "not in force",
        _ if level.is_exempt() => "exempt",
        _ if level.quiescing => "removed",
        _ if level.is_full() => "full",
        _ if level.waiting.is_some_and(|n| n > 0.0) => "requests wait",
        _ => "",
    }
}

fn words(level: &Level<'_>) -> String {
    if level.awaited {
        return "The object exists; the API server has no such level yet.".to_owned();
    }
    if [level.used, level.limits.current.or(level.limits.nominal), level.waiting] == [None; 3] {
        return "Its seats and waiting requests are unknown.".to_owned();
    }
    let used = level.used.map_or_else(|| "an unknown number".to_owned(), number);
    if level.is_exempt() {
        let seats = if level.used == Some(1.0) { "seat" } else { "seats" };
        return format!("{used} {seats} in use; its requests never wait and have no limit.");
    }
    let limit = level.limits.current.or(level.limits.nominal);
    let mut words = match limit {
        Some(limit) => format!("{used} of {} seats in use", number(limit)),
        None => format!("{used} seats in use, of an unknown number"),
    };
    let nominal = level.limits.nominal.map(number).unwrap_or_default();
    match (level.borrowed(), level.lent()) {
        (Some(borrowed), _) if borrowed > 0.0 => {
            words += &format!(": {nominal} nominal and {} borrowed", number(borrowed));
        }
        (_, Some(lent)) if lent > 0.0 => {
            words += &format!("; {} of its {nominal} are lent", number(lent));
        }
        _ => {}
    }
    match (level.waiting, level.longest()) {
        (Some(0.0), _) => words += "; no request waits.",
        (Some(n), Some(longest)) => {
            words += &format!("; {}, the longest {}.", wait(n), duration(longest));
        }
        (Some(n), None) => words += &format!("; {}.", wait(n)),
        (None, _) => words += "; how many requests wait is unknown.",
    }
    words
}

/// Who waits for whom. Flows are sorted by waiting requests.
fn held(flows: &[Flow<'_>]) -> Option<String> {
    let waiting: Vec<(&Flow<'_>, u64)> =
        flows.iter().filter(|flow| flow.waiting > 0).map(|flow| (flow, flow.waiting)).collect();
    let held = flows.iter().filter_map(|flow| Some((flow, flow.seats.filter(|n| *n > 0)?)));
    let mut holding: Vec<(&Flow<'_>, u64)> = held.collect();
    holding.sort_by_key(|(_, seats)| std::cmp::Reverse(*seats));
    if waiting.is_empty() || holding.is_empty() {
        return None;
    }
    Some(format!("Waiting requests: {}. Seats are held by: {}.", named(&waiting), named(&holding)))
}

fn named(flows: &[(&Flow<'_>, u64)]) -> String {
    let mut named: Vec<String> =
        flows.iter().take(MOST_NAMED).map(|(flow, n)| format!("{n} of {}", flow.label)).collect();
    let rest: u64 = flows.iter().skip(MOST_NAMED).map(|(_, n)| n).sum();
    if rest > 0 {
        named.push(format!("{rest} of {}", count(flows.len() - MOST_NAMED, "other flow")));
    }
    named.join(", ")
}

fn bar(level: &Level<'_>, scale: f64) -> LaneBar {
    let place = |seats: f64| ((seats / scale).clamp(0.0, 1.0) * 10_000.0).round() / 100.0;
    let (nominal, limit) = (level.limits.nominal, level.limits.current);
    let between = |from: f64, to: f64| (to > from).then(|| [place(from), place(to)]);
    let both = nominal.zip(limit).filter(|_| !level.is_exempt());
    LaneBar {
        track: nominal.map(place),
        used: level.used.map(place),
        borrowed: both.and_then(|(nominal, limit)| between(nominal, limit)),
        lent: both.and_then(|(nominal, limit)| between(limit, nominal)),
    }
}
