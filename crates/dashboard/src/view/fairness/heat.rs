//! The queues of each level as a heat map. Levels whose queues are empty are only counted.

use std::collections::BTreeMap;

use evenkeel_fairness::config::{Config, Handling};
use serde::Serialize;

use super::{dumps::QueueRow, reading::Reading};
use crate::view::words::{count, shown};

/// Cells of all maps together, save that each map has one at least. A cell may have a number in it.
const MOST_CELLS: usize = 400;
const COLUMNS: usize = 32;
/// The side of a cell, and to the next one.
const SIDE: usize = 20;
const STEP: usize = 22;
/// The shade of a single waiting request, so that it is seen.
const LEAST_SHADE: f64 = 0.2;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queues {
    pub maps: Vec<HeatMap>,
    /// About all levels that have none.
    pub note: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeatMap {
    pub level: String,
    pub words: String,
    pub width: usize,
    pub height: usize,
    pub cells: Vec<HeatCell>,
}

/// One queue, or several that are next to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatCell {
    pub x: usize,
    pub y: usize,
    /// `empty`, `busy` (requests run and none waits) or `waits`.
    pub kind: &'static str,
    /// 0 to 1: how full it is.
    pub shade: f64,
    /// Waiting requests; `None` if there are none.
    pub text: Option<String>,
    pub title: String,
}

pub(super) fn queues(reading: &Reading) -> Queues {
    let Ok(dump) = &reading.queues else {
        return Queues { maps: Vec::new(), note: "The queues could not be read.".to_owned() };
    };
    let mut by_level: BTreeMap<&str, Vec<&QueueRow>> = BTreeMap::new();
    for row in &dump.rows {
        by_level.entry(&row.level).or_default().push(row);
    }
    let all = by_level.len();
    by_level.retain(|_, rows| rows.iter().any(|row| row.waiting + row.executing > 0));
    let idle = all - by_level.len();
    let drawn: usize = by_level.values().map(Vec::len).sum();
    let per_cell = drawn.div_ceil(MOST_CELLS).max(1);
    let config = reading.config.as_deref().ok();
    let mut levels: Vec<(&str, Vec<&QueueRow>)> = by_level.into_iter().collect();
    // Those where requests wait come first, then by name.
    levels.sort_by_key(|(_, rows)| !rows.iter().any(|row| row.waiting > 0));
    let maps = levels.into_iter().take(super::lanes::MOST_LANES);
    let maps = maps.map(|(level, rows)| map(level, rows, per_cell, length_limit(config, level)));
    Queues { maps: maps.collect(), note: note(idle, dump.unread) }
}

fn note(idle: usize, unread: usize) -> String {
    let mut note = match idle {
        0 => String::new(),
        1 => "The queues of 1 level are empty.".to_owned(),
        n => format!("The queues of {n} levels are empty."),
    };
    if unread > 0 {
        note += &format!(" {} could not be read.", count(unread, "row"));
    }
    note.trim_start().to_owned()
}

fn length_limit(config: Option<&Config>, level: &str) -> Option<u64> {
    let level = config?.levels.iter().find(|known| *known.name == *level)?;
    match level.handling {
        Handling::Queue(queuing) => Some(queuing.queue_length_limit.into()),
        Handling::Exempt | Handling::Reject => None,
    }
}

fn map(level: &str, mut rows: Vec<&QueueRow>, per_cell: usize, limit: Option<u64>) -> HeatMap {
    rows.sort_by_key(|row| row.index);
    let fullest = rows.iter().map(|row| row.waiting).max().unwrap_or(0);
    // A queue can be longer than its limit after a change of the configuration.
    let full = limit.unwrap_or(fullest).max(1);
    let chunks = rows.chunks(per_cell).enumerate();
    let cells: Vec<HeatCell> = chunks.map(|(at, queues)| cell(at, queues, full)).collect();
    let used = rows.iter().filter(|row| row.waiting > 0).count();
    let mut words = format!("{used} of {} have waiting requests", count(rows.len(), "queue"));
    if fullest > 0 {
        words += &format!("; the fullest has {fullest}");
        words += &limit.map_or_else(String::new, |limit| format!(" of at most {limit}"));
    }
    if per_cell > 1 {
        words += &format!("; each cell is {per_cell} queues");
    }
    HeatMap {
        level: shown(level),
        words: words + ".",
        width: COLUMNS.min(cells.len()) * STEP,
        height: cells.len().div_ceil(COLUMNS) * STEP,
        cells,
    }
}

fn cell(at: usize, queues: &[&QueueRow], full: u64) -> HeatCell {
    let sum =
        |of: fn(&QueueRow) -> u64| queues.iter().map(|row| of(row)).fold(0, u64::saturating_add);
    let (waiting, executing) = (sum(|row| row.waiting), sum(|row| row.executing));
    let fullest = queues.iter().map(|row| row.waiting).max().unwrap_or(0);
    let shade = match fullest {
        0 => 0.0,
        n => LEAST_SHADE + (1.0 - LEAST_SHADE) * (n as f64 / full as f64).min(1.0),
    };
    let name = match queues {
        [one] => format!("queue {}", one.index),
        [first, .., last] => format!("queues {} to {}", first.index, last.index),
        [] => String::new(),
    };
    HeatCell {
        x: at % COLUMNS * STEP + (STEP - SIDE) / 2,
        y: at / COLUMNS * STEP + (STEP - SIDE) / 2,
        kind: match (waiting, executing) {
            (0, 0) => "empty",
            (0, _) => "busy",
            _ => "waits",
        },
        shade: (shade * 100.0).round() / 100.0,
        text: (waiting > 0).then(|| waiting.to_string()),
        title: format!("{name}: {waiting} waiting, {executing} executing"),
    }
}

// === impl Queues ===

impl Queues {
    pub(super) fn marks(&self) -> usize {
        let cells = self.maps.iter().flat_map(|map| &map.cells);
        self.maps.len() * 2 + cells.map(|cell| 1 + usize::from(cell.text.is_some())).sum::<usize>()
    }
}
