//! The load of each endpoint that is left, against its fair share of before and the forecast.

use std::fmt::Write as _;

use crate::{
    drill::report::{EndpointLoad, Report, ServiceReport},
    svg::{
        scale::ticks,
        style::Style,
        text::{BOLD, SIZE, SMALL, escaped, fitted},
    },
    table::percent,
};

const ROW: f64 = 18.0;
const CAPTION: f64 = 24.0;
const CAPTION_OF_ALL: &str = "<text y=\"-8\" x=\"-48\" fill=\"#333\">Load of endpoints after traffic had \
    moved; 100 % is the fair share of before; the diamond is the forecast for the busiest</text>\n";
/// What names of endpoints have.
const NAMES: f64 = 250.0;
/// Right of the longest bar.
const VALUES: f64 = 70.0;
/// Endpoints that are drawn of all Services, those of the first Services first.
const MOST_ROWS: usize = 60;
const SCALE: f64 = 22.0;

/// Everything, and its height.
pub(super) fn render(report: &Report, width: f64) -> (String, f64) {
    let most = most(report);
    let bar = width - NAMES - VALUES;
    let x = |load: f64| NAMES + bar * load / most;
    let mut svg = CAPTION_OF_ALL.to_owned();
    let (mut y, mut left) = (4.0, MOST_ROWS);
    let mut hidden = 0;
    for service in &report.services {
        let rows: Vec<&EndpointLoad> = remaining(service, &report.zone).collect();
        let shown = rows.len().min(left);
        hidden += rows.len() - shown;
        left -= shown;
        if shown == 0 {
            continue;
        }
        let height = CAPTION + ROW * shown as f64;
        let _ = writeln!(svg, "<g class=\"service\" transform=\"translate(0 {y:.1})\">");
        svg += &service_bars(service, &rows[..shown], &x);
        svg += "</g>\n";
        y += height + 6.0;
    }
    if hidden > 0 {
        let _ = writeln!(
            svg,
            "<text y=\"{:.1}\" fill=\"#555\">and {hidden} more endpoints</text>",
            y + 12.0
        );
        y += ROW;
    }
    for tick in ticks(most, 6) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{SMALL}\">{}</text>",
            x(tick),
            y + 14.0,
            percent(tick)
        );
    }
    (svg, y + SCALE)
}

fn remaining<'s>(service: &'s ServiceReport, lost: &str) -> impl Iterator<Item = &'s EndpointLoad> {
    service.load.endpoints.iter().filter(move |one| *one.place.zone != *lost)
}

fn most(report: &Report) -> f64 {
    let measured = report.services.iter().filter_map(|one| one.load.max_load);
    let forecast = report.services.iter().filter_map(|one| Some(one.forecast.as_ref()?.max_load));
    measured.chain(forecast).fold(1.2, f64::max) * 1.05
}

fn service_bars(service: &ServiceReport, rows: &[&EndpointLoad], x: &dyn Fn(f64) -> f64) -> String {
    let name = format!("{}/{}", service.namespace, service.service);
    let name = escaped(&fitted(&name, NAMES - 10.0, SIZE * BOLD));
    let mut svg = format!("<text x=\"-48\" y=\"14\" font-weight=\"bold\">{name}</text>\n");
    for (n, row) in rows.iter().enumerate() {
        let y = CAPTION + ROW * n as f64;
        let place = format!("{} on {} ({})", row.place.pod, row.place.node, row.place.zone);
        let _ = writeln!(
            svg,
            "<text x=\"-48\" y=\"{:.1}\" font-size=\"{SMALL}\">{}</text>",
            y + 11.0,
            escaped(&fitted(&place, NAMES + 38.0, SMALL))
        );
        let (value, load) =
            (row.load.map_or_else(|| "unknown".to_owned(), percent), row.load.unwrap_or(0.0));
        let _ = writeln!(
            svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"13\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SMALL}\">{value}</text>",
            x(0.0),
            x(load) - x(0.0),
            Style(0).colour(),
            x(load) + 8.0,
            y + 11.0
        );
    }
    let bottom = CAPTION + ROW * rows.len() as f64 - 3.0;
    let _ = writeln!(
        svg,
        "<path class=\"fair\" d=\"M{:.1} {:.1}V{bottom:.1}\" stroke=\"black\" stroke-width=\"1.2\" \
         stroke-dasharray=\"1 3\"/>",
        x(1.0),
        CAPTION - 4.0
    );
    if let Some(forecast) = &service.forecast {
        let _ = writeln!(
            svg,
            "<path class=\"forecast\" d=\"M{:.1} {:.1}l5 5l-5 5l-5 -5z\" fill=\"#d55e00\"/>",
            x(forecast.max_load),
            CAPTION - 14.0
        );
    }
    svg
}
