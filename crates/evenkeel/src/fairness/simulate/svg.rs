//! Seats in use over time as a picture: a panel for each configuration, levels stacked.

use std::{collections::BTreeSet, fmt::Write};

use evenkeel_fairness::simulate::Report;

use super::Outcome;

const WIDTH: f64 = 900.0;
const PANEL: f64 = 220.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;

/// Told apart by all kinds of eyes: Okabe and Ito (2008), then paler ones.
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999",
    "#7fb8d8", "#f2cf7f", "#7fceb9", "#e5bcd3",
];

/// `warmup` is shaded.
pub(super) fn render(outcomes: &[Outcome], warmup: f64) -> String {
    let panel = TOP + PANEL + BOTTOM;
    let height = panel * outcomes.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Seats in use by priority level</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let levels = levels(outcomes);
    for (position, outcome) in outcomes.iter().enumerate() {
        let y = position as f64 * panel + TOP;
        let _ = writeln!(svg, "<g transform=\"translate({LEFT} {y})\">");
        svg += &panel_of(outcome, &levels, warmup);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// All levels of all configurations, so that one has the same colour in each.
fn levels(outcomes: &[Outcome]) -> Vec<&str> {
    let levels = outcomes.iter().flat_map(|outcome| &outcome.report.levels);
    levels.map(|level| &*level.level).collect::<BTreeSet<_>>().into_iter().collect()
}

fn panel_of(outcome: &Outcome, levels: &[&str], warmup: f64) -> String {
    let report = &outcome.report;
    let steps = report.series.seats.iter().map(Vec::len).max().unwrap_or(0);
    let seconds = (steps as f64 * report.series.step_seconds).max(f64::MIN_POSITIVE);
    let most = most_seats(report, steps);
    let width = WIDTH - LEFT - RIGHT;
    let x = |second: f64| width * second / seconds;
    let y = |seats: f64| PANEL * (1.0 - seats / most);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<text x=\"0\" y=\"-12\" font-weight=\"bold\">{} (profile {})</text>",
        escaped(&outcome.configuration),
        outcome.profile
    );
    let shaded = x(warmup.min(seconds));
    let _ = writeln!(svg, "<rect width=\"{shaded:.1}\" height=\"{PANEL}\" fill=\"#f2f2f2\"/>");
    svg += &areas(report, levels, steps, &x, &y);
    let limit = y(report.server_seats.into());
    let _ = writeln!(
        svg,
        "<path d=\"M0 {limit:.1}H{width}\" stroke=\"black\" stroke-dasharray=\"4 3\" fill=\"none\"/>"
    );
    svg += &axes(seconds, most, &x, &y);
    svg + &legend(report, levels)
}

fn most_seats(report: &Report, steps: usize) -> f64 {
    let at = |step: usize| -> f64 {
        report.series.seats.iter().filter_map(|seats| seats.get(step)).sum()
    };
    (0..steps).map(at).fold(report.server_seats.into(), f64::max).max(1.0)
}

fn areas(
    report: &Report,
    levels: &[&str],
    steps: usize,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let step = report.series.step_seconds;
    let mut base = vec![0.0; steps];
    let mut svg = String::new();
    for (level, seats) in report.levels.iter().zip(&report.series.seats) {
        if seats.iter().all(|seats| *seats == 0.0) {
            continue;
        }
        let top: Vec<f64> = base.iter().zip(seats).map(|(below, seats)| below + seats).collect();
        let mut path = format!("M0 {:.1}", y(0.0));
        for (at, seats) in top.iter().enumerate() {
            let _ = write!(path, "V{:.1}H{:.1}", y(*seats), x((at + 1) as f64 * step));
        }
        for (at, seats) in base.iter().enumerate().rev() {
            let _ = write!(path, "V{:.1}H{:.1}", y(*seats), x(at as f64 * step));
        }
        let colour = colour(levels, &level.level);
        let _ = writeln!(
            svg,
            "<path d=\"{path}Z\" fill=\"{colour}\"><title>{}</title></path>",
            escaped(&level.level)
        );
        base = top;
    }
    svg
}

fn axes(seconds: f64, most: f64, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let width = x(seconds);
    let mut svg = format!("<path d=\"M0 0V{PANEL}H{width}\" stroke=\"black\" fill=\"none\"/>\n");
    for second in ticks(seconds) {
        let (x, below) = (x(second), PANEL + 16.0);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {PANEL}v4\" stroke=\"black\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{second} s</text>"
        );
    }
    for seats in ticks(most) {
        let y = y(seats);
        let _ = writeln!(svg, "<path d=\"M0 {y:.1}h-4\" stroke=\"black\"/>");
        let _ =
            writeln!(svg, "<text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{seats}</text>", y + 4.0);
    }
    let middle = PANEL / 2.0;
    let _ = writeln!(
        svg,
        "<text transform=\"rotate(-90)\" x=\"-{middle}\" y=\"-44\" text-anchor=\"middle\">seats in use</text>"
    );
    svg
}

/// Round numbers from 0 on, about five of them.
fn ticks(most: f64) -> Vec<f64> {
    let rough = (most / 5.0).max(f64::MIN_POSITIVE);
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let round = |n: u32| (f64::from(n) * step * 1e9).round() / 1e9;
    (0..=10).map(round).take_while(|tick| *tick <= most * 1.000_001).collect()
}

fn legend(report: &Report, levels: &[&str]) -> String {
    let mut svg = String::new();
    let x = WIDTH - LEFT - RIGHT + 12.0;
    for (position, level) in report.levels.iter().enumerate() {
        let (y, colour) = (position as f64 * 16.0, colour(levels, &level.level));
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            x + 15.0,
            y + 9.0,
            escaped(&level.level)
        );
    }
    svg
}

fn colour(levels: &[&str], level: &str) -> &'static str {
    let position = levels.iter().position(|name| *name == level).unwrap_or(0);
    COLOURS[position % COLOURS.len()]
}

/// Text that is safe in XML: no markup, and none of the characters XML has no place for.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.3), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(ticks(600.0), [0.0, 200.0, 400.0, 600.0]);
    }

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escaped("<a&\"'\u{1}>"), "&lt;a&amp;&quot;&apos;\u{fffd}&gt;");
    }
}
