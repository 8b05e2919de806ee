//! Flows by what they wait for.

use serde::Serialize;

use super::{
    figures::{counted, seconds, share},
    levels::{Flow, Level},
    reading::Reading,
};
use crate::view::words::{Number, count, shown};

const MOST_FLOWS: usize = 50;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowRow {
    pub flow: String,
    pub level: String,
    pub schema: String,
    pub waiting: Number,
    /// Of the level's waiting requests.
    pub share: Number,
    pub longest: Number,
    pub executing: Number,
    pub seats: Number,
}

/// Of all levels, those with most waiting requests first, and how many are left out.
pub(super) fn flows(levels: &[Level<'_>]) -> (Vec<FlowRow>, usize) {
    let of = |level: &'_ Level<'_>| -> u64 { level.flows.iter().map(|flow| flow.waiting).sum() };
    let mut flows: Vec<(&Flow<'_>, u64)> = levels
        .iter()
        .flat_map(|level| {
            let all = of(level);
            level.flows.iter().map(move |flow| (flow, all))
        })
        .collect();
    flows.sort_by(|(a, _), (b, _)| Flow::by_waiting(a, b));
    let rows = flows.iter().take(MOST_FLOWS).map(|(flow, all)| row(flow, *all));
    (rows.collect(), flows.len().saturating_sub(MOST_FLOWS))
}

/// What the table does not say by itself; empty if that is nothing.
pub(super) fn note(reading: &Reading) -> String {
    match &reading.requests {
        Err(_) => "Flows could not be read.".to_owned(),
        Ok(dump) if !dump.is_whole() => format!(
            "{} of the dump could not be read, so that sums over all requests are unknown.",
            count(dump.unread, "row")
        ),
        Ok(dump) if dump.rows.is_empty() => "No request is in a level now.".to_owned(),
        Ok(_) => String::new(),
    }
}

fn row(flow: &Flow<'_>, all: u64) -> FlowRow {
    // Of no waiting requests there is no share.
    let none = || Number { text: "none waits".to_owned(), ..Number::unknown() };
    let (part, longest) = match flow.waiting {
        0 => (none(), none()),
        n => (share(Some(n as f64 / all as f64)), seconds(flow.longest)),
    };
    FlowRow {
        flow: flow.label.clone(),
        level: shown(flow.level),
        schema: shown(flow.schema),
        waiting: counted(Some(flow.waiting as f64)),
        share: part,
        longest,
        executing: counted(flow.executing.map(|n| n as f64)),
        seats: counted(flow.seats.map(|n| n as f64)),
    }
}
