//! Forecasts as text for people.

use std::{cmp::Reverse, fmt::Write, sync::Arc};

use evenkeel_topology::{
    Policy,
    whatif::{Figures, Forecast, Forecasts, TrafficProfile, Why, ZoneLost},
};

use crate::{
    printer::{HEADING, styled},
    table::{Table, percent},
};

/// Up to so many Services are shown with every lost zone; beyond, `wide` is needed.
const DETAILED: usize = 3;

const LEGEND: &str = "
* in force now, with the hints that are there. IN ZONE: part of traffic that stays in its zone. WORST
LOAD: most loaded endpoint against its fair share. CROSS GB: traffic across zones in a month. ZONE LOST:
the worst when a zone fails and its clients move on; loads are against the fair share of today, so
200 % is twice the load.
";

/// Less than this is rounding.
const TRACE: f64 = 0.0005;

pub(crate) fn render(forecasts: &[Forecasts], profile: &TrafficProfile, wide: bool) -> String {
    if forecasts.is_empty() {
        return "no Services here\n".to_owned();
    }
    let detailed = wide || forecasts.len() <= DETAILED;
    let mut table = Table::new(&[
        "NAMESPACE",
        "SERVICE",
        "READY",
        "POLICY",
        "IN ZONE",
        "WORST LOAD",
        "CROSS GB",
        "COST",
        "ZONE LOST",
    ]);
    for forecast in forecasts {
        service_rows(forecast, detailed, &mut table);
    }
    let mut text = table.render("");
    text.push_str(LEGEND);
    for forecast in forecasts {
        recommendation(forecast, &mut text);
    }
    totals(forecasts, profile, &mut text);
    text
}

fn service_rows(forecast: &Forecasts, detailed: bool, table: &mut Table) {
    for (index, of_policy) in forecast.policies.iter().enumerate() {
        let first = |value: String| if index == 0 { value } else { String::new() };
        let mark = if of_policy.policy == forecast.current { " *" } else { "" };
        let mut row = vec![
            first(forecast.namespace.to_string()),
            first(forecast.service.to_string()),
            first(endpoints(forecast)),
            format!("{}{mark}", of_policy.policy),
        ];
        row.extend(figures(&of_policy.figures));
        row.push(worst_loss(of_policy));
        table.row(row);
        if detailed {
            for lost in &of_policy.zone_lost {
                lost_row(lost, table);
            }
        }
    }
}

fn lost_row(lost: &ZoneLost, table: &mut Table) {
    let blank = [String::new(), String::new(), String::new()];
    let name = format!("  without {}", lost.zone);
    table.row(blank.into_iter().chain([name]).chain(figures(&lost.figures)));
}

fn endpoints(forecast: &Forecasts) -> String {
    match forecast.replicas {
        Some(_) => format!("{} (planned)", forecast.endpoints),
        None => forecast.endpoints.to_string(),
    }
}

fn figures(figures: &Figures) -> [String; 4] {
    let dash = || "-".to_owned();
    let unserved = unserved(figures);
    if figures.worst_endpoint.is_none() {
        return [dash(), unserved.unwrap_or_else(dash), dash(), dash()];
    }
    let load = percent(figures.worst_load);
    [
        percent(figures.in_zone_share),
        unserved.map_or_else(|| load.clone(), |unserved| format!("{load}, {unserved}")),
        format!("{:.0}", figures.cross_zone_gb),
        format!("{:.2}", figures.cost),
    ]
}

fn unserved(figures: &Figures) -> Option<String> {
    let share = figures.unserved_share;
    (share > TRACE).then(|| format!("{} unserved", percent(share)))
}

/// The worst of lost zones: traffic that is not served is worse than any load.
fn worst_loss(forecast: &Forecast) -> String {
    // Beyond a millionth, figures differ by rounding only.
    let whole = |figure: f64| (figure * 1e6).round() as u64;
    let badness = |lost: &&ZoneLost| {
        let Figures { unserved_share, worst_load, .. } = lost.figures;
        (whole(unserved_share), whole(worst_load), Reverse(Arc::clone(&lost.zone)))
    };
    let Some(lost) = forecast.zone_lost.iter().max_by_key(badness) else {
        return "-".to_owned();
    };
    match (unserved(&lost.figures), &lost.figures.worst_endpoint) {
        (Some(unserved), _) => format!("{unserved} ({})", lost.zone),
        (None, Some(_)) => format!("{} ({})", percent(lost.figures.worst_load), lost.zone),
        (None, None) => "-".to_owned(),
    }
}

fn recommendation(forecast: &Forecasts, text: &mut String) {
    let Forecasts { namespace, service, current, recommendation, .. } = forecast;
    let verb = if recommendation.policy == *current { "keep" } else { "take" };
    let name = styled(HEADING, format_args!("{namespace}/{service}"));
    let policy = styled(HEADING, recommendation.policy);
    let _ = writeln!(text, "\n{name}: {verb} {policy}: {}", recommendation.why.message);
    for caveat in &forecast.caveats {
        let _ = writeln!(text, "  {}", caveat.message);
    }
    // The recommendation may have said already why Auto gives no hints.
    let said = matches!(recommendation.why.reason, Why::NoEffectNow { .. });
    for of_policy in &forecast.policies {
        let worth = !said && (forecast.replicas.is_some() || of_policy.otherwise.is_some());
        if of_policy.policy == Policy::Auto && of_policy.cannot_act.is_none() && worth {
            let _ = writeln!(text, "  hints of Auto: {}", of_policy.hints.message);
        }
        if let Some(otherwise) = &of_policy.otherwise {
            let _ = writeln!(text, "  {}: {}", which_case(of_policy), otherwise.message);
        }
    }
}

/// In which case the other outcome holds: with hints in force already, or without.
fn which_case(forecast: &Forecast) -> &'static str {
    use evenkeel_topology::explain::Outcome;
    match forecast.hints.reason {
        Outcome::Refused { .. } => "if hints were in force already",
        _ => "if hints were not in force yet",
    }
}

fn totals(forecasts: &[Forecasts], profile: &TrafficProfile, text: &mut String) {
    if forecasts.len() < 2 {
        return;
    }
    let sum = |cost: fn(&Forecasts) -> Option<f64>| forecasts.iter().filter_map(cost).sum::<f64>();
    let now = sum(|of| Some(of_policy(of, of.current)?.figures.cost));
    let then = sum(|of| Some(of_policy(of, of.recommendation.policy)?.settled().cost));
    let currency = &profile.price.currency;
    let _ = writeln!(
        text,
        "\n{} Services: {now:.2} {currency} a month across zones now, {then:.2} as recommended",
        forecasts.len()
    );
}

fn of_policy(forecasts: &Forecasts, policy: Policy) -> Option<&Forecast> {
    forecasts.policies.iter().find(|f| f.policy == policy)
}
