//! One panel: one quantity of all flows over time.

use std::fmt::Write;

use super::Axes;
use crate::{
    fairness::simulate::Outcome,
    svg::{
        axis::{grid, time_axis},
        scale::ticks,
        style::{MAX_SERIES, Style},
        text::{SMALL, escaped, width_of},
    },
    table::percent,
};

/// How the limit of the server is drawn.
pub(super) const LIMIT: &str =
    "fill=\"none\" stroke=\"black\" stroke-width=\"1.2\" stroke-dasharray=\"1 3\"";
pub(super) const WARMUP: &str = "#e9e9e9";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Quantity {
    WaitP50,
    WaitP99,
    Seats,
}

/// A panel's place in its column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub width: f64,
    pub height: f64,
    /// The axis is named in the first column only.
    pub is_first: bool,
}

/// A flow, or those drawn as one, above those below it.
struct Band {
    style: Style,
    label: Option<String>,
    base: Vec<f64>,
    top: Vec<f64>,
}

impl Quantity {
    pub(super) fn height(self) -> f64 {
        match self {
            Quantity::WaitP50 | Quantity::WaitP99 => 120.0,
            Quantity::Seats => 150.0,
        }
    }

    fn caption(self) -> &'static str {
        match self {
            Quantity::WaitP50 => "Waiting time, p50",
            Quantity::WaitP99 => "Waiting time, p99",
            Quantity::Seats => "Seats in use; share of all seat-time in use",
        }
    }
}

/// The last panel of a column has the time axis.
pub(super) fn render(
    quantity: Quantity,
    outcome: &Outcome,
    axes: &Axes,
    frame: Frame,
    is_last: bool,
) -> String {
    let Frame { width, height, is_first } = frame;
    let warmup = width * axes.time.position(axes.warmup);
    let mut svg = String::new();
    if is_first {
        let _ = writeln!(svg, "<text y=\"-7\" fill=\"#333\">{}</text>", quantity.caption());
    }
    if warmup > 0.0 {
        let _ = writeln!(
            svg,
            "<rect class=\"warmup\" width=\"{warmup:.1}\" height=\"{height}\" fill=\"{WARMUP}\"/>"
        );
    }
    svg += &match quantity {
        Quantity::Seats => seats(outcome, axes, frame),
        _ => waits(quantity, outcome, axes, frame),
    };
    if warmup > 0.0 {
        let _ = writeln!(
            svg,
            "<path d=\"M{warmup:.1} 0V{height}\" stroke=\"#777\" stroke-width=\"0.7\" \
             stroke-dasharray=\"3 2\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M0 0V{height}H{width:.1}\" stroke=\"#333\" stroke-width=\"0.8\" fill=\"none\"/>"
    );
    svg + &time_axis(axes.time, width, height, is_last)
}

// === Waiting times ===

fn waits(quantity: Quantity, outcome: &Outcome, axes: &Axes, frame: Frame) -> String {
    let Frame { width, height, is_first } = frame;
    let y = |seconds: f64| height * (1.0 - axes.waits.position(seconds));
    let ticks = axes.waits.ticks();
    let mut svg = grid(ticks.iter().map(|(tick, name)| (y(*tick), name.as_str())), width, is_first);
    let series = &outcome.report.series;
    let x =
        |window: usize| width * axes.time.position((window as f64 + 0.5) * series.window_seconds);
    for (style, flow) in axes.flows.styled() {
        let Some(flow) = series.flows.get(flow) else { continue };
        let waits = if quantity == Quantity::WaitP50 { &flow.wait_p50 } else { &flow.wait_p99 };
        svg += &line(waits, style, &x, &y);
    }
    svg
}

/// Windows without requests are gaps. What has gaps on both sides is a dot.
fn line(
    waits: &[Option<f64>],
    style: Style,
    x: &dyn Fn(usize) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let (mut path, mut dots) = (String::new(), String::new());
    let has = |window: usize| waits.get(window).is_some_and(Option::is_some);
    for (window, wait) in waits.iter().enumerate() {
        let Some(wait) = wait else { continue };
        let before = window > 0 && has(window - 1);
        let (x, y) = (x(window), y(*wait));
        if !before && !has(window + 1) {
            let colour = style.colour();
            let _ =
                writeln!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.6\" fill=\"{colour}\"/>");
        } else {
            let _ = write!(path, "{}{x:.1} {y:.1}", if before { 'L' } else { 'M' });
        }
    }
    match path.is_empty() {
        true => dots,
        false => format!("<path d=\"{path}\" {}/>\n{dots}", style.line()),
    }
}

// === Seats ===

fn seats(outcome: &Outcome, axes: &Axes, frame: Frame) -> String {
    let Frame { width, height, is_first } = frame;
    let y = |seats: f64| height * (1.0 - seats / axes.most_seats);
    let ticks = ticks(axes.most_seats, 5);
    let names: Vec<String> = ticks.iter().map(ToString::to_string).collect();
    let rows = ticks.iter().map(|tick| y(*tick)).zip(names.iter().map(String::as_str));
    let mut svg = grid(rows, width, is_first);
    let seconds = outcome.report.series.window_seconds;
    let x = |window: usize| width * axes.time.position(window as f64 * seconds);
    let bands = bands(outcome, axes);
    for Band { style, base, top, .. } in &bands {
        let mut path = format!("M0 {:.1}", y(base.first().copied().unwrap_or(0.0)));
        for (window, seats) in top.iter().enumerate() {
            let _ = write!(path, "V{:.1}H{:.1}", y(*seats), x(window + 1));
        }
        for (window, seats) in base.iter().enumerate().rev() {
            let _ = write!(path, "V{:.1}H{:.1}", y(*seats), x(window));
        }
        let _ = writeln!(svg, "<path d=\"{path}Z\" fill=\"{}\"/>", style.fill());
    }
    // The areas cover the shade of the warm-up, so they are paled instead.
    let warmup = width * axes.time.position(axes.warmup);
    let _ = writeln!(
        svg,
        "<rect width=\"{warmup:.1}\" height=\"{height}\" fill=\"{WARMUP}\" fill-opacity=\"0.5\"/>"
    );
    let measured = (axes.warmup / seconds).ceil() as usize;
    for band in &bands {
        svg += &label(band, measured, &x, &y);
    }
    let limit = y(outcome.report.server_seats.into());
    let _ = writeln!(svg, "<path d=\"M0 {limit:.1}H{width:.1}\" {LIMIT}/>");
    svg
}

fn bands(outcome: &Outcome, axes: &Axes) -> Vec<Band> {
    let report = &outcome.report;
    let windows = report.series.flows.iter().map(|flow| flow.seats.len()).max().unwrap_or(0);
    let sum = |flows: &[usize]| -> Vec<f64> {
        let series = || flows.iter().filter_map(|flow| report.series.flows.get(*flow));
        let at = |window: usize| series().filter_map(|flow| flow.seats.get(window)).sum();
        (0..windows).map(at).collect()
    };
    let named = |flow: usize| {
        let flow = report.flows.get(flow)?;
        Some(format!("{} {}", flow.flow, percent(flow.figures.share)))
    };
    let shown = axes.flows.styled().map(|(style, flow)| (style, named(flow), vec![flow]));
    let others = (Style(MAX_SERIES), None, axes.flows.others.clone());
    let mut base = vec![0.0; windows];
    let mut bands = Vec::new();
    for (style, label, flows) in shown.chain([others]) {
        let seats = sum(&flows);
        if seats.iter().all(|seats| *seats == 0.0) {
            continue;
        }
        let top: Vec<f64> = base.iter().zip(&seats).map(|(base, seats)| base + seats).collect();
        bands.push(Band { style, label, base: std::mem::replace(&mut base, top.clone()), top });
    }
    bands
}

/// The name of a band, inside of it: as near to the middle of the measured time as there is room, else
/// anywhere; nowhere if there is none.
fn label(band: &Band, measured: usize, x: &dyn Fn(usize) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    const HEIGHT: f64 = SMALL + 4.0;
    let Some(name) = &band.label else { return String::new() };
    let n = band.top.len();
    let needed = width_of(name, SMALL) + 8.0;
    let Some(span) = (1..=n).find(|windows| x(*windows) >= needed) else { return String::new() };
    // The top and the bottom of the largest rectangle inside the band.
    let room = |from: usize| {
        let top = band.top[from..from + span].iter().copied().fold(f64::INFINITY, f64::min);
        let base = band.base[from..from + span].iter().copied().fold(0.0, f64::max);
        Some((from, y(top), y(base))).filter(|(_, top, base)| base - top >= HEIGHT)
    };
    let middle = measured + n.saturating_sub(measured + span) / 2;
    let nearest = |from: &(usize, f64, f64)| (from.0 < measured, from.0.abs_diff(middle));
    let Some((from, top, base)) = (0..=n - span).filter_map(room).min_by_key(nearest) else {
        return String::new();
    };
    let center = f64::midpoint(x(from), x(from + span));
    let (left, upper) = (center - needed / 2.0, f64::midpoint(top, base) - HEIGHT / 2.0);
    format!(
        "<rect x=\"{left:.1}\" y=\"{upper:.1}\" width=\"{needed:.1}\" height=\"{HEIGHT}\" rx=\"2\" \
         fill=\"white\" fill-opacity=\"0.85\"/><text x=\"{center:.1}\" y=\"{:.1}\" \
         text-anchor=\"middle\" font-size=\"{SMALL}\">{}</text>\n",
        upper + SMALL,
        escaped(name)
    )
}
