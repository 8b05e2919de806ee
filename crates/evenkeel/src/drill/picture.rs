//! A report as a picture: what became of requests over time, by the zone that answered, and the load
//! of the endpoints that are left. Pure.

mod bars;
mod history;

use std::fmt::Write as _;

use super::{report::Report, text};
use crate::{
    error::counted,
    svg::{
        style::definitions,
        text::{BOLD, SIZE, escaped, fitted},
    },
};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TITLE: f64 = 64.0;
/// Below the panel of the history: its axis and the caption of the next.
const AXIS: f64 = 76.0;
const BOTTOM: f64 = 16.0;

/// Failed requests, whatever colours zones have; hatched, so that it is told apart without colour, too.
const FAILED: &str = "url(#failed)";
const FAILED_COLOUR: &str = "#b00020";

pub(super) fn render(report: &Report) -> String {
    let width = WIDTH - LEFT - RIGHT;
    let zones = history::zones(report);
    let (legend, legend_height) = history::legend(&zones, &report.zone, WIDTH - 28.0);
    let (bars, bars_height) = bars::render(report, width);
    let top = TITLE + legend_height + history::MARKS;
    let below = top + history::HEIGHT + AXIS;
    let height = below + bars_height + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"{SIZE}\">\n"
    );
    svg += &head(report);
    svg += &definitions(zones.len());
    let _ = writeln!(
        svg,
        "<defs><pattern id=\"failed\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"6\" height=\"6\" fill=\"{FAILED_COLOUR}\"/><path d=\"M0 6L6 0\" \
         stroke=\"white\" stroke-width=\"1.2\"/></pattern></defs>"
    );
    let _ = writeln!(svg, "<g class=\"legend\" transform=\"translate(14 {TITLE})\">\n{legend}</g>");
    let history = history::render(report, &zones, width);
    let _ = writeln!(
        svg,
        "<g class=\"history\" transform=\"translate({LEFT} {top})\">\n{history}</g>\n\
         <g class=\"load\" transform=\"translate({LEFT} {below})\">\n{bars}</g>"
    );
    svg + "</svg>\n"
}

fn head(report: &Report) -> String {
    let title = format!("{} lost for {:.0} s", report.zone, lasted(report));
    let converged = match report.converged_seconds {
        Some(seconds) => format!("converged after {seconds:.1} s"),
        None => "not converged before the end of the outage".to_owned(),
    };
    let about = format!(
        "{} of {} answered in the outage; {converged}; measured",
        text::rate(report.outage),
        counted(report.outage.requests, "request"),
    );
    let title = escaped(&fitted(&title, WIDTH - 30.0, 17.0 * BOLD));
    format!(
        "<title>{title}</title>\n\
         <desc>Requests over time by the zone that answered, and the load of endpoints</desc>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"14\" y=\"25\" font-size=\"17\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"14\" y=\"45\" fill=\"#555\">{}</text>\n",
        escaped(&about)
    )
}

pub(super) fn lasted(report: &Report) -> f64 {
    report.timeline.restored - report.timeline.lost
}

#[cfg(test)]
mod tests;
