//! Outcomes as tables.

use std::fmt::Write;

use evenkeel_fairness::simulate::{Counts, Figures, FlowReport, LevelReport};

use super::{super::units::short, Outcome};
use crate::{
    printer::{HEADING, styled},
    table::{Table, percent},
};

const LEGEND: &str = "
SHARE: share of the seat-time in use. RATE: requests completed per second. WAIT, LATENCY: of served
requests. JAIN: Jain's fairness index of the clients' seat-time, from 1 (equal) to 1/n (one client
has everything).
";

const FIGURES: [&str; 10] = [
    "ARRIVED",
    "SERVED",
    "REJECTED",
    "SHARE",
    "RATE",
    "WAIT P50",
    "WAIT P99",
    "LATENCY P50",
    "LATENCY P99",
    "JAIN",
];

pub(super) fn render(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for Outcome { configuration, profile, report } in outcomes {
        let name = styled(HEADING, evenkeel_model::harmless(configuration));
        let _ = writeln!(
            text,
            "{name} (profile {profile}): {} of {} seats in use, {} requests, {} s measured{}",
            percent(report.in_use),
            report.server_seats,
            report.requests,
            report.measured_seconds,
            if report.sampled { "; quantiles are estimated from a sample" } else { "" },
        );
    }
    text + "\n" + &flows(outcomes).render("") + "\n" + &levels(outcomes).render("") + LEGEND
}

/// One row for each flow and configuration, grouped by flow.
fn flows(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&[&["FLOW", "CONFIGURATION", "LEVEL"], &FIGURES[..]].concat());
    let n_flows = outcomes.first().map_or(0, |outcome| outcome.report.flows.len());
    for number in 0..n_flows {
        for (position, outcome) in outcomes.iter().enumerate() {
            let FlowReport { flow, clients, levels, jain, figures } = &outcome.report.flows[number];
            let name = match clients {
                1 => flow.clone(),
                clients => format!("{flow} × {clients}"),
            };
            let name = if position == 0 { name } else { String::new() };
            let row = [name, outcome.configuration.clone(), levels.join(", ")];
            let jain = jain.filter(|_| *clients > 1);
            table.row(row.into_iter().chain(cells(figures, jain)));
        }
    }
    table
}

/// Levels without requests are left out.
fn levels(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&[&["LEVEL", "CONFIGURATION", "SEATS"], &FIGURES[..]].concat());
    for outcome in outcomes {
        for LevelReport { level, nominal, limit_at_end, jain, figures } in &outcome.report.levels {
            if figures.counts.arrived == 0 && figures.seat_seconds == 0.0 {
                continue;
            }
            let seats = match (nominal, limit_at_end) {
                (Some(nominal), Some(limit)) if nominal != limit => format!("{nominal} → {limit}"),
                (Some(nominal), _) => nominal.to_string(),
                _ => "removed".to_owned(),
            };
            let row = [level.to_string(), outcome.configuration.clone(), seats];
            table.row(row.into_iter().chain(cells(figures, *jain)));
        }
    }
    table
}

fn cells(figures: &Figures, jain: Option<f64>) -> [String; 10] {
    let Figures { counts, share, throughput, wait, latency, .. } = figures;
    let rejected = match counts.rejected() {
        0 => "0".to_owned(),
        _ => {
            let reasons = [
                (counts.queue_full, "queue full"),
                (counts.concurrency_limit, "no seat"),
                (counts.timed_out, "timed out"),
            ];
            let reasons = reasons.iter().filter(|(n, _)| *n > 0);
            reasons.map(|(n, why)| format!("{n} {why}")).collect::<Vec<_>>().join(", ")
        }
    };
    [
        counts.arrived.to_string(),
        served(counts),
        rejected,
        percent(*share),
        format!("{throughput:.1}/s"),
        short(wait.p50),
        short(wait.p99),
        short(latency.p50),
        short(latency.p99),
        jain.map_or_else(|| "-".to_owned(), |jain| format!("{jain:.3}")),
    ]
}

/// Not `100 %` if any request was rejected, or if all requests still wait.
fn served(counts: &Counts) -> String {
    let ratio = counts.served();
    if counts.dispatched + counts.rejected() == 0 {
        "-".to_owned()
    } else if ratio >= 1.0 {
        "100 %".to_owned()
    } else {
        format!("{:.2} %", (ratio * 1e4).floor() / 100.0)
    }
}
