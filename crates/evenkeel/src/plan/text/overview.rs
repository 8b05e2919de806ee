//! Many Services: a line for each, the largest saving first.

use evenkeel_topology::{
    Policy,
    whatif::{Figures, Forecasts, Needs, Why},
};

use super::{WIDTH, is_remarkable, left_out, name, remarks, saves, verdict, wrapped};
use crate::{plan::Plan, table::Table};

/// Of this many Services the reasons are told; beyond, people ask for one.
const EXPLAINED: usize = 10;

/// No name is cut shorter than this.
const SHORTEST: usize = 12;

const IN_ZONE: &str = "IN ZONE: share of traffic that stays in its zone.";
const MAX_LOAD: &str = "MAX LOAD: traffic of the busiest endpoint, 100 % is its fair share.";

pub(super) fn table(plan: &Plan, text: &mut String) {
    let services = &plan.services;
    let is_priced = plan.assumptions.traffic.is_some();
    let last = if is_priced { "SAVES" } else { "MAX LOAD" };
    let heading = ["SERVICE", "POLICY", "SWITCH TO", "IN ZONE", last];
    let one_namespace = services.iter().all(|f| f.namespace == services[0].namespace);
    let rows: Vec<[String; 5]> =
        services.iter().map(|f| row(f, one_namespace, is_priced)).collect();
    // What the other columns leave of the line, gaps of three between them.
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(heading[column].len()) + 3
    };
    let left = WIDTH.saturating_sub((1..heading.len()).map(width).sum()).max(SHORTEST);
    let mut table = Table::new(&heading);
    for mut row in rows {
        row[0] = cut(&row[0], left);
        table.row(row);
    }
    text.push('\n');
    text.push_str(&table.render(""));
    text.push_str(&left_out(plan));
    let currency = plan.assumptions.traffic.as_ref().map(|given| &given.price_in_use.currency);
    let last =
        currency.map_or(MAX_LOAD.to_owned(), |currency| format!("SAVES: {currency} a month."));
    text.push('\n');
    *text += &wrapped("", &format!("{IN_ZONE} {last}"));
    reasons(services, text);
}

fn row(forecasts: &Forecasts, one_namespace: bool, is_priced: bool) -> [String; 5] {
    let Forecasts { namespace, service, current, recommendation, .. } = forecasts;
    let name = if one_namespace { service.to_string() } else { format!("{namespace}/{service}") };
    let now = forecasts.of(*current).map(|f| &f.figures);
    let then = forecasts.of(recommendation.policy);
    let then = then.map(|f| if forecasts.changes() { f.settled() } else { &f.figures });
    let served = |figures: Option<&Figures>| {
        figures.filter(|figures| figures.busiest_endpoint.is_some()).cloned()
    };
    let whole = |share: f64| (share * 100.0).round();
    let (in_zone, load) = match (served(now), served(then)) {
        (Some(now), Some(then)) => {
            let (before, after) = (whole(now.in_zone_share), whole(then.in_zone_share));
            let in_zone = if before == after {
                format!("{after} %")
            } else {
                format!("{before} → {after} %")
            };
            (in_zone, format!("{} %", whole(then.max_load)))
        }
        _ => ("-".to_owned(), "-".to_owned()),
    };
    let to = if forecasts.changes() { recommendation.policy.as_str() } else { "-" };
    let last = if is_priced { saves(forecasts.saving()) } else { load };
    [name, current.to_string(), to.to_owned(), in_zone, last]
}

/// Cut in the middle: both ends of a name tell it from its neighbours.
fn cut(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let tail = width / 2;
    let head = name.chars().take(width - 1 - tail);
    head.chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

fn reasons(services: &[Forecasts], text: &mut String) {
    let remarkable: Vec<&Forecasts> = services.iter().filter(|f| is_remarkable(f)).collect();
    for forecasts in remarkable.iter().take(EXPLAINED) {
        text.push('\n');
        let why = &forecasts.recommendation.why.message;
        *text += &wrapped("", &format!("{}: {}: {why}", name(forecasts), verdict(forecasts)));
        remarks(forecasts, text);
        missing(forecasts, text);
    }
    if remarkable.len() > EXPLAINED {
        let more = remarkable.len() - EXPLAINED;
        let s = if more == 1 { "" } else { "s" };
        let line =
            format!("Reasons for {more} more Service{s}: run evenkeel plan SERVICE -n NAMESPACE");
        text.push('\n');
        *text += &wrapped("", &line);
    }
}

/// What Balanced needs, where the recommended policy keeps little traffic in its zone.
fn missing(forecasts: &Forecasts, text: &mut String) {
    let why = &forecasts.recommendation.why.reason;
    if !matches!(why, Why::HintsUnavailable { .. } | Why::WouldOverload { .. }) {
        return;
    }
    let balanced = forecasts.of(Policy::Balanced).and_then(|f| f.needs.as_ref());
    if let Some(needs) = balanced.filter(|n| matches!(n.reason, Needs::ProxyForShares { .. })) {
        *text += &wrapped("  note: ", &format!("Balanced {}", needs.message));
    }
}
