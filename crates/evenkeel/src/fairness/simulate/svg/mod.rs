//! What a simulation shows, as a picture: for each configuration a column with the waiting time (p50
//! and p99) and the seats in use over time, by flow. All columns have the same axes.

mod legend;
mod panel;
mod scale;

use std::fmt::Write;

use evenkeel_fairness::simulate::{FlowSeries, Report};

use self::{
    panel::{Frame, Quantity},
    scale::WaitScale,
};
use super::Outcome;
use crate::svg::{
    scale::TimeScale,
    style::{MAX_SERIES, Style, definitions},
    text::{self, BOLD, SIZE, SMALL, escaped, fitted},
};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
/// Between columns.
const GUTTER: f64 = 22.0;
const TITLE: f64 = 56.0;
/// The names of configurations.
const HEADING: f64 = 42.0;
/// Between panels of a column; the next one's caption is there.
const GAP: f64 = 30.0;
/// Below the last panel of a column.
const TIME_AXIS: f64 = 56.0;
const BOTTOM: f64 = 4.0;

const QUANTITIES: [Quantity; 3] = [Quantity::WaitP50, Quantity::WaitP99, Quantity::Seats];

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture<'o> {
    /// The name of the scenario.
    pub title: &'o str,
    pub seed: u64,
    /// In seconds.
    pub warmup: f64,
    pub outcomes: &'o [Outcome],
}

/// The axes, which all columns share, and the flows, which look the same in all of them.
#[derive(Clone, Debug)]
struct Axes {
    time: TimeScale,
    waits: WaitScale,
    most_seats: f64,
    warmup: f64,
    flows: Flows,
}

/// Flows by number, in the order of the scenario.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Flows {
    shown: Vec<usize>,
    /// Those drawn as one: the least users of seats, where there are too many.
    others: Vec<usize>,
}

pub(super) fn render(picture: Picture<'_>) -> String {
    let axes = Axes::new(picture);
    let n_columns = columns(picture.outcomes.len());
    let n_rows = picture.outcomes.len().div_ceil(n_columns);
    let (legend, legend_height) = legend::render(picture.outcomes, &axes, WIDTH - 28.0);
    let top = TITLE + legend_height;
    let panels = QUANTITIES.map(Quantity::height).iter().sum::<f64>() + 2.0 * GAP;
    let block = HEADING + panels + TIME_AXIS;
    let height = top + block * n_rows as f64 + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"{SIZE}\">\n"
    );
    svg += &head(picture);
    svg += &definitions(axes.flows.shown.len());
    let _ = writeln!(svg, "<g class=\"legend\" transform=\"translate(14 {TITLE})\">\n{legend}</g>");
    let width = column_width(n_columns);
    for (number, outcome) in picture.outcomes.iter().enumerate() {
        let (row, column) = (number / n_columns, number % n_columns);
        let x = LEFT + column as f64 * (width + GUTTER);
        let y = top + row as f64 * block;
        let _ = writeln!(svg, "<g class=\"configuration\" transform=\"translate({x:.1} {y:.1})\">");
        svg += &self::column(outcome, &axes, width, column == 0);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// As few rows as fit without panels that are too narrow, and all rows about as full.
fn columns(n: usize) -> usize {
    match n {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

fn column_width(n: usize) -> f64 {
    (WIDTH - LEFT - RIGHT - GUTTER * (n - 1) as f64) / n as f64
}

fn head(picture: Picture<'_>) -> String {
    let Picture { title, seed, warmup, outcomes } = picture;
    let measured = outcomes.first().map_or(0.0, |outcome| outcome.report.measured_seconds);
    let about = match warmup > 0.0 {
        true => format!("{measured} s measured after {warmup} s of warm-up, seed {seed}"),
        false => format!("{measured} s measured, seed {seed}"),
    };
    let title = escaped(&fitted(title, WIDTH - 30.0, 17.0 * BOLD));
    format!(
        "<title>{title}</title>\n\
         <desc>Waiting time and seats in use over time, by flow, for each configuration</desc>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"14\" y=\"25\" font-size=\"17\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"14\" y=\"43\" fill=\"#555\">{about}</text>\n"
    )
}

fn column(outcome: &Outcome, axes: &Axes, width: f64, is_first: bool) -> String {
    let profile = format!("profile {}", outcome.profile);
    let room = width - text::width_of(&profile, SMALL) - 10.0;
    let name = escaped(&fitted(&outcome.configuration, room, 13.0 * BOLD));
    let mut svg = format!(
        "<text y=\"16\" font-size=\"13\" font-weight=\"bold\">{name}</text>\n\
         <text y=\"16\" x=\"{width:.1}\" text-anchor=\"end\" fill=\"#555\" \
         font-size=\"{SMALL}\">{profile}</text>\n"
    );
    let mut y = HEADING;
    for quantity in QUANTITIES {
        let frame = Frame { width, height: quantity.height(), is_first };
        let last = quantity == Quantity::Seats;
        let _ = writeln!(
            svg,
            "<g class=\"panel\" transform=\"translate(0 {y})\">\n{}</g>",
            panel::render(quantity, outcome, axes, frame, last)
        );
        y += frame.height + GAP;
    }
    svg
}

// === impl Axes ===

impl Axes {
    fn new(picture: Picture<'_>) -> Self {
        let reports = || picture.outcomes.iter().map(|outcome| &outcome.report);
        let seconds = reports().map(seconds).fold(0.0, f64::max);
        let flows = Flows::new(picture.outcomes);
        let shown = |report: &'_ Report| {
            let series = flows.shown.iter().filter_map(|flow| report.series.flows.get(*flow));
            series.flat_map(waits).collect::<Vec<f64>>()
        };
        let waits: Vec<f64> = reports().flat_map(shown).collect();
        Axes {
            time: TimeScale::new(seconds),
            waits: WaitScale::new(waits.iter().copied()),
            most_seats: reports().map(most_seats).fold(1.0, f64::max),
            warmup: picture.warmup,
            flows,
        }
    }
}

fn seconds(report: &Report) -> f64 {
    let windows = report.series.flows.iter().map(|flow| flow.seats.len()).max().unwrap_or(0);
    windows as f64 * report.series.window_seconds
}

fn waits(series: &FlowSeries) -> impl Iterator<Item = f64> {
    series.wait_p50.iter().chain(&series.wait_p99).copied().flatten()
}

fn most_seats(report: &Report) -> f64 {
    let flows = &report.series.flows;
    let windows = flows.iter().map(|flow| flow.seats.len()).max().unwrap_or(0);
    let at = |window: usize| flows.iter().filter_map(|flow| flow.seats.get(window)).sum::<f64>();
    (0..windows).map(at).fold(report.server_seats.into(), f64::max)
}

// === impl Flows ===

impl Flows {
    fn new(outcomes: &[Outcome]) -> Self {
        let n = outcomes.first().map_or(0, |outcome| outcome.report.flows.len());
        if n <= MAX_SERIES {
            return Flows { shown: (0..n).collect(), others: Vec::new() };
        }
        let used = |flow: usize| -> f64 {
            let flows = outcomes.iter().filter_map(|outcome| outcome.report.flows.get(flow));
            flows.map(|flow| flow.figures.seat_seconds).sum()
        };
        let mut by_use: Vec<(f64, usize)> = (0..n).map(|flow| (used(flow), flow)).collect();
        by_use.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut shown: Vec<usize> = by_use.drain(..MAX_SERIES - 1).map(|(_, flow)| flow).collect();
        let mut others: Vec<usize> = by_use.into_iter().map(|(_, flow)| flow).collect();
        shown.sort_unstable();
        others.sort_unstable();
        Flows { shown, others }
    }

    fn styled(&self) -> impl Iterator<Item = (Style, usize)> {
        self.shown.iter().enumerate().map(|(position, flow)| (Style(position), *flow))
    }
}

#[cfg(test)]
mod tests;
