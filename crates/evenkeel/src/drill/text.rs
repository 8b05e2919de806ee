//! Reports and forecasts as text. Pure.

use std::{fmt::Write as _, time::Duration};

use evenkeel_model::harmless;

use super::{
    forecast::Forecasts,
    recording::Recent,
    report::{Counts, EndpointLoad, Report, ServiceReport},
};
use crate::{
    error::counted,
    printer::{BAD, GOOD, HEADING, styled},
    table::{Table, percent},
};

const LEGEND: &str = "
CONVERGED: until no request failed or reached the lost zone. MAX LOAD, LOAD: of the
requests after that, 100 % is an endpoint's fair share before, so 200 % is twice the load.
FORECAST: what `evenkeel plan` predicts for the lost zone.
";

/// Without a failure for so long, traffic is taken to have moved. A failure is known after a second.
const SETTLED: Duration = Duration::from_secs(3);

/// Zones in the progress line.
const LIVE_ZONES: usize = 6;

/// Endpoints of so many Services are listed.
const DETAILED: usize = 5;

/// Of a drill that runs, since its first request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub lost: Duration,
    pub now: Duration,
    pub end: Duration,
}

/// The progress line: what may still change, in few words.
pub(super) fn live(zone: &str, at: Moment, recent: &Recent) -> String {
    let Moment { lost, now, end } = at;
    let answered: usize = recent.answered.values().sum();
    let counts = Counts::new(answered, recent.failed);
    let moved = match recent.last_failed.filter(|failed| *failed >= lost) {
        None => "no failure".to_owned(),
        Some(failed) if now.saturating_sub(failed) < SETTLED => "not converged yet".to_owned(),
        Some(failed) => format!("converged after {:.1} s", (failed - lost).as_secs_f64()),
    };
    let share = |n: usize| percent((n as f64 / answered as f64 * 100.0).round() / 100.0);
    let zones = recent.answered.iter().take(LIVE_ZONES);
    let zones: Vec<String> = zones.map(|(zone, n)| format!("{zone} {}", share(*n))).collect();
    let left = end.saturating_sub(now).as_secs();
    let line = format!(
        "{zone} is lost, {left} s left: {} answered, {moved}; load: {}",
        rate(counts),
        if zones.is_empty() { "unknown".to_owned() } else { zones.join(", ") }
    );
    harmless(&line).into_owned()
}

pub(super) fn report(report: &Report) -> String {
    let mut text = heading(report);
    let _ = write!(text, "\n{}", services(&report.services).render(""));
    for service in report.services.iter().take(DETAILED) {
        let _ = write!(text, "\n{}\n{}", name(service), endpoints(service).render("  "));
    }
    if report.services.len() > DETAILED {
        let _ = writeln!(
            text,
            "\nand the endpoints of {} more; -o json has all",
            counted(report.services.len() - DETAILED, "Service")
        );
    }
    text + LEGEND
}

fn heading(report: &Report) -> String {
    let Report { zone, nodes, outage, before, after, .. } = report;
    let lasted = report.timeline.restored - report.timeline.lost;
    let early = if report.interrupted { " (interrupted)" } else { "" };
    let mut text = styled(HEADING, harmless(&format!("{zone} was lost for {lasted:.1} s{early}")));
    let _ = writeln!(text, ": {}\n", harmless(&nodes.join(", ")));
    let style = if outage.failed == 0 { GOOD } else { BAD };
    let _ = writeln!(
        text,
        "success    {} of {}; before {}, after {}",
        styled(style, rate(*outage)),
        counted(outage.requests, "request"),
        rate(*before),
        rate(*after)
    );
    let converged = match report.converged_seconds {
        Some(seconds) => format!("after {seconds:.1} s"),
        None => "not before the end of the outage".to_owned(),
    };
    let _ = writeln!(text, "converged  {converged}");
    let back = match report.back_seconds {
        Some(seconds) => format!("{zone} is back after {seconds:.1} s"),
        None => format!("{zone} is not back yet (kubectl get nodes)"),
    };
    let _ = writeln!(text, "restored   {}", harmless(&back));
    for failure in &report.failures {
        let _ = writeln!(text, "failed     {} x {}", failure.requests, failure.problem);
    }
    if report.unsent > 0 {
        let _ = writeln!(
            text,
            "not sent   {}: too many waited for an answer; set a lower --rate",
            counted(report.unsent, "request")
        );
    }
    text
}

/// Never `100 %` if a request failed.
pub(super) fn rate(counts: Counts) -> String {
    match counts.success_rate {
        None => "unknown".to_owned(),
        Some(rate) if rate >= 1.0 => "100 %".to_owned(),
        Some(rate) => format!("{:.2} %", (rate * 1e4).floor() / 100.0),
    }
}

fn known(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), percent)
}

fn services(services: &[ServiceReport]) -> Table {
    let mut table = Table::new(&[
        "SERVICE",
        "POLICY",
        "REQUESTS",
        "SUCCESS",
        "CONVERGED",
        "MAX LOAD",
        "FORECAST",
        "IN ZONE",
        "FORECAST",
    ]);
    for one in services {
        let forecast = one.forecast.as_ref();
        // A forecast without anybody who serves has no load.
        let served = forecast.filter(|forecast| forecast.unserved_share < 1.0);
        table.row([
            name(one),
            forecast.map_or_else(|| "-".to_owned(), |forecast| forecast.policy.to_string()),
            one.outage.requests.to_string(),
            rate(one.outage),
            one.converged_seconds.map_or_else(|| "no".to_owned(), |after| format!("{after:.1} s")),
            known(one.load.max_load),
            known(served.map(|forecast| forecast.max_load)),
            known(one.load.in_zone_share),
            known(served.map(|forecast| forecast.in_zone_share)),
        ]);
    }
    table
}

fn name(service: &ServiceReport) -> String {
    harmless(&format!("{}/{}", service.namespace, service.service)).into_owned()
}

fn endpoints(service: &ServiceReport) -> Table {
    let mut table = Table::new(&["ZONE", "NODE", "POD", "TOTAL", "AFTER", "LOAD"]);
    for EndpointLoad { place, total, answered, load } in &service.load.endpoints {
        let cells = [&place.zone, &place.node, &place.pod].map(ToString::to_string).into_iter();
        table.row(cells.chain([total.to_string(), answered.to_string(), known(*load)]));
    }
    table
}

pub(super) fn forecasts(forecasts: &Forecasts) -> String {
    let Forecasts { zone, nodes, services, why, .. } = forecasts;
    let title = format!("Forecast of the loss of {zone}");
    let mut text = styled(HEADING, harmless(&title));
    let _ = writeln!(text, " ({}); nothing was changed: {why}\n", counted(nodes.len(), "Node"));
    let mut table = Table::new(&["SERVICE", "POLICY", "UNSERVED", "MAX LOAD", "IN ZONE"]);
    for one in services {
        let forecast = one.forecast.as_ref();
        let served = forecast.filter(|forecast| forecast.unserved_share < 1.0);
        table.row([
            format!("{}/{}", one.namespace, one.service),
            forecast.map_or_else(|| "-".to_owned(), |forecast| forecast.policy.to_string()),
            known(forecast.map(|forecast| forecast.unserved_share)),
            known(served.map(|forecast| forecast.max_load)),
            known(served.map(|forecast| forecast.in_zone_share)),
        ]);
    }
    text + &table.render("") + FORECAST_LEGEND
}

const FORECAST_LEGEND: &str = "
MAX LOAD: traffic of the busiest endpoint, 100 % is its fair share with all zones, so 200 % is
twice the load. `evenkeel plan` shows other policies.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::report::tests::reported;

    fn line(last_failed: Option<u64>, answered: &[(&str, usize)], failed: usize) -> String {
        let at = Duration::from_secs;
        let answered = answered.iter().map(|(zone, n)| ((*zone).into(), *n)).collect();
        let recent = Recent { answered, failed, last_failed: last_failed.map(at) };
        live("zone-a", Moment { lost: at(3), now: at(20), end: at(63) }, &recent)
    }

    #[test]
    fn the_progress_line_says_what_is_known() {
        let [b, c] = [("zone-b", 20), ("zone-c", 10)];
        for (line, expected) in [
            (line(None, &[b, c], 0), "100 % answered, no failure; load: zone-b 67 %, zone-c 33 %"),
            (line(Some(2), &[b], 0), "100 % answered, no failure; load: zone-b 100 %"),
            (line(Some(19), &[b], 20), "50.00 % answered, not converged yet; load: zone-b 100 %"),
            (line(Some(8), &[c], 0), "100 % answered, converged after 5.0 s; load: zone-c 100 %"),
            (line(Some(19), &[], 5), "0.00 % answered, not converged yet; load: unknown"),
            (line(None, &[], 0), "unknown answered, no failure; load: unknown"),
        ] {
            assert_eq!(line, format!("zone-a is lost, 43 s left: {expected}"));
        }
    }

    #[test]
    fn the_report_has_measured_figures_beside_the_forecast() {
        let text = report(&reported("abcxbxcbcabc"));
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected = "\
zone-a was lost for 6.0 s: node-a1

success    66.66 % of 6 requests; before 100 %, after 100 %
converged  after 3.0 s
restored   zone-a is back after 0.2 s
failed     2 x timed out

SERVICE    POLICY           REQUESTS   SUCCESS   CONVERGED   MAX LOAD   FORECAST   IN ZONE   FORECAST
shop/web   PreferSameZone   6          66.66 %   3.0 s       200 %      150 %      0 %       100 %

shop/web
  ZONE     NODE      POD     TOTAL   AFTER   LOAD
  zone-a   node-a1   web-a   2       0       0 %
  zone-b   node-b1   web-b   4       1       100 %
  zone-c   node-c1   web-c   4       2       200 %
";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let text = report(&reported("abc"));
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.contains("unknown of 0 requests; before 100 %, after unknown"), "{text}");
        assert!(text.contains("not before the end of the outage"), "{text}");
    }
}
