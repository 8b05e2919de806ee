//! Which flow is drawn how.

use std::fmt::Write;

use super::Axes;
use crate::{
    fairness::simulate::Outcome,
    svg::{
        style::{OTHERS, Style},
        text::{SIZE, escaped, fitted, width_of},
    },
};

const LINE: f64 = 20.0;
/// The sample before a name.
const SAMPLE: f64 = 44.0;
const LONGEST_NAME: f64 = 210.0;

/// One line or more that are `width` wide, and their height.
pub(super) fn render(outcomes: &[Outcome], axes: &Axes, width: f64) -> (String, f64) {
    let (mut svg, mut x, mut y) = (String::new(), 0.0, 0.0);
    for (sample, name) in entries(outcomes, axes) {
        let name = fitted(&name, LONGEST_NAME, SIZE);
        let entry = SAMPLE + width_of(&name, SIZE) + 22.0;
        if x > 0.0 && x + entry > width {
            (x, y) = (0.0, y + LINE);
        }
        let _ = writeln!(
            svg,
            "<g transform=\"translate({x:.1} {y})\">{sample}<text x=\"{SAMPLE}\" y=\"11\">{}</text></g>",
            escaped(&name)
        );
        x += entry;
    }
    (svg, y + LINE + 8.0)
}

fn entries(outcomes: &[Outcome], axes: &Axes) -> Vec<(String, String)> {
    let reports = outcomes.first().map_or(&[][..], |outcome| &outcome.report.flows);
    let flow = |(style, flow): (Style, usize)| {
        let (name, clients) = reports.get(flow).map_or(("", 1), |flow| (&flow.flow, flow.clients));
        let name = match clients {
            1 => name.to_owned(),
            clients => format!("{} × {clients}", fitted(name, LONGEST_NAME - 60.0, SIZE)),
        };
        let sample = format!(
            "<rect y=\"1\" width=\"12\" height=\"12\" fill=\"{}\"/><path d=\"M15 7h24\" {}/>",
            style.fill(),
            style.line()
        );
        (sample, name)
    };
    let mut entries: Vec<(String, String)> = axes.flows.styled().map(flow).collect();
    let others = axes.flows.others.len();
    if others > 0 {
        let sample = format!("<rect y=\"1\" width=\"38\" height=\"12\" fill=\"{OTHERS}\"/>");
        entries.push((sample, format!("{others} other flows (seats only)")));
    }
    let limit = format!("<path d=\"M2 7h36\" {}/>", super::panel::LIMIT);
    entries.push((limit, "seats of the server".to_owned()));
    if axes.warmup > 0.0 {
        let sample = format!(
            "<rect y=\"1\" width=\"38\" height=\"12\" fill=\"{}\" stroke=\"#999\" \
             stroke-width=\"0.5\"/>",
            super::panel::WARMUP
        );
        entries.push((sample, "warm-up, not measured".to_owned()));
    }
    entries
}
