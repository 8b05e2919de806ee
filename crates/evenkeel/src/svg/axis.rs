//! Grid lines and the time axis of a panel.

use std::fmt::Write;

use super::{scale::TimeScale, text::SMALL};

/// A line across for each row, named at the left if `is_first`.
pub(crate) fn grid<'t>(
    rows: impl Iterator<Item = (f64, &'t str)>,
    width: f64,
    is_first: bool,
) -> String {
    let mut svg = String::new();
    for (y, name) in rows {
        let _ = writeln!(
            svg,
            "<path d=\"M-4 {y:.1}H{width:.1}\" stroke=\"#bbb\" stroke-width=\"0.5\"/>"
        );
        if is_first {
            let _ = writeln!(
                svg,
                "<text x=\"-7\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"{SMALL}\">{name}</text>",
                y + 4.0
            );
        }
    }
    svg
}

/// Ticks below a panel, named if it is the last of its column.
pub(crate) fn time_axis(time: TimeScale, width: f64, height: f64, is_last: bool) -> String {
    let mut svg = String::new();
    for (second, name) in time.ticks((width / 55.0) as u32) {
        let x = width * time.position(second);
        let _ =
            writeln!(svg, "<path d=\"M{x:.1} {height}v4\" stroke=\"#333\" stroke-width=\"0.8\"/>");
        if is_last {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"{SMALL}\">{name}</text>",
                height + 17.0
            );
        }
    }
    if is_last {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">time ({})</text>",
            width / 2.0,
            height + 35.0,
            time.unit
        );
    }
    svg
}
