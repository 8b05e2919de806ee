//! Requests over time: a stack for each window.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use super::{FAILED, FAILED_COLOUR, lasted};
use crate::{
    drill::report::{Report, Window},
    svg::{
        axis::{grid, time_axis},
        scale::{TimeScale, ticks},
        style::{MAX_SERIES, Style},
        text::{SIZE, SMALL, escaped, fitted, width_of},
    },
};

pub(super) const HEIGHT: f64 = 190.0;
/// Above the panel: the names of moments.
pub(super) const MARKS: f64 = 34.0;
const CAPTION: &str =
    "<text y=\"-22\" fill=\"#333\">Requests a second, by the zone that answered</text>\n";
const LINE: f64 = 20.0;
const LONGEST_NAME: f64 = 210.0;

/// The zones that answered, the lost one first: it is at the bottom, where its gap shows best.
pub(super) fn zones(report: &Report) -> Vec<Arc<str>> {
    let all = report.windows.iter().flat_map(|window| window.answered.keys().cloned());
    let left: BTreeSet<Arc<str>> = all.filter(|zone| *zone != report.zone).collect();
    [Arc::clone(&report.zone)].into_iter().chain(left).collect()
}

pub(super) fn legend(zones: &[Arc<str>], lost: &str, width: f64) -> (String, f64) {
    let name = |zone: &str| match zone {
        "" => "no zone".to_owned(),
        zone if zone == lost => format!("{zone} (lost)"),
        zone => zone.to_owned(),
    };
    let shown = zones.iter().enumerate().take(MAX_SERIES);
    let entries = shown.map(|(n, zone)| (Style(n).fill(), name(zone)));
    let others = zones.len().saturating_sub(MAX_SERIES);
    let others = (others > 0).then(|| (Style(MAX_SERIES).fill(), format!("{others} other zones")));
    let failed = [(FAILED.to_owned(), "not answered".to_owned())];
    let (mut svg, mut x, mut y) = (String::new(), 0.0, 0.0);
    for (fill, name) in entries.chain(others).chain(failed) {
        let name = fitted(&name, LONGEST_NAME, SIZE);
        let entry = 40.0 + width_of(&name, SIZE);
        if x > 0.0 && x + entry > width {
            (x, y) = (0.0, y + LINE);
        }
        let _ = writeln!(
            svg,
            "<g transform=\"translate({x:.1} {y})\"><rect y=\"1\" width=\"12\" height=\"12\" \
             fill=\"{fill}\"/><text x=\"18\" y=\"11\">{}</text></g>",
            escaped(&name)
        );
        x += entry;
    }
    (svg, y + LINE + 8.0)
}

pub(super) fn render(report: &Report, zones: &[Arc<str>], width: f64) -> String {
    let time = TimeScale::new(report.timeline.end);
    let most = report.windows.iter().map(per_second).fold(1.0, f64::max);
    let y = |rate: f64| HEIGHT * (1.0 - rate / most);
    let mut svg = CAPTION.to_owned();
    let from = width * time.position(report.timeline.lost);
    let to = width * time.position(report.timeline.restored);
    let _ = writeln!(
        svg,
        "<rect class=\"outage\" x=\"{from:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\" fill=\"#eee\"/>",
        (to - from).max(0.0)
    );
    let ticks = ticks(most, 4);
    let names: Vec<String> = ticks.iter().map(ToString::to_string).collect();
    svg +=
        &grid(ticks.iter().zip(&names).map(|(tick, name)| (y(*tick), name.as_str())), width, true);
    for window in &report.windows {
        let x = width * time.position(window.from);
        let right = width * time.position(window.from + window.seconds);
        svg += &stack(window, zones, &y, (x, (right - x - 0.6).max(0.3)));
    }
    svg += &marks(report, time, width);
    let _ = writeln!(
        svg,
        "<path d=\"M0 0V{HEIGHT}H{width:.1}\" stroke=\"#333\" stroke-width=\"0.8\" fill=\"none\"/>"
    );
    svg + &time_axis(time, width, HEIGHT, true)
}

/// The last window may be cut short, and is then lower.
fn per_second(window: &Window) -> f64 {
    (window.failed + window.answered.values().sum::<usize>()) as f64 / window.seconds
}

/// Zones from the bottom on, then what failed.
fn stack(
    window: &Window,
    zones: &[Arc<str>],
    y: &dyn Fn(f64) -> f64,
    (x, width): (f64, f64),
) -> String {
    let answered = |zone: &Arc<str>| window.answered.get(zone).copied().unwrap_or(0);
    let shown = zones.iter().enumerate().take(MAX_SERIES);
    let shown = shown.map(|(n, zone)| (Style(n).fill(), answered(zone)));
    let others = zones.iter().skip(MAX_SERIES).map(answered).sum();
    let parts =
        shown.chain([(Style(MAX_SERIES).fill(), others), (FAILED.to_owned(), window.failed)]);
    let (mut svg, mut base) = (String::new(), 0.0);
    for (fill, count) in parts.filter(|(_, count)| *count > 0) {
        let top = base + count as f64 / window.seconds;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
            y(top),
            y(base) - y(top)
        );
        base = top;
    }
    svg
}

/// When the zone was lost, traffic had moved, and the zone was given back. A name that would cover the one
/// before it is left out: the line is there.
fn marks(report: &Report, time: TimeScale, width: f64) -> String {
    let lost = report.timeline.lost;
    let converged =
        report.converged_seconds.filter(|after| *after > 0.0 && *after < lasted(report));
    let moments = [
        (Some(lost), "lost", "#333"),
        (converged.map(|after| lost + after), "converged", "#006d2c"),
        (Some(report.timeline.restored), "restored", "#333"),
    ];
    let (mut svg, mut free) = (String::new(), f64::MIN);
    for (second, name, colour) in moments {
        let Some(second) = second else { continue };
        let colour = if report.converged_seconds.is_none() { FAILED_COLOUR } else { colour };
        let x = width * time.position(second);
        let _ = writeln!(
            svg,
            "<path class=\"moment\" d=\"M{x:.1} -4V{HEIGHT}\" stroke=\"{colour}\" \
             stroke-width=\"1.2\" stroke-dasharray=\"4 2\"/>"
        );
        let half = width_of(name, SMALL) / 2.0;
        if x - half >= free {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"-8\" text-anchor=\"middle\" font-size=\"{SMALL}\" \
                 fill=\"{colour}\">{name}</text>"
            );
            free = x + half + 4.0;
        }
    }
    svg
}
