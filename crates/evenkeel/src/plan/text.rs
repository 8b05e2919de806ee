//! Forecasts as text for people.

use std::fmt::Write;

use evenkeel_topology::{
    Policy,
    whatif::{Figures, Forecast, Forecasts, TrafficProfile, ZoneLost},
};

use crate::{
    printer::{HEADING, styled},
    table::{Table, percent},
};

/// Up to so many Services are shown with every lost zone; beyond, `wide` is needed.
const DETAILED: usize = 3;

pub(crate) fn render(forecasts: &[Forecasts], profile: &TrafficProfile, wide: bool) -> String {
    if forecasts.is_empty() {
        return "no Services here\n".to_owned();
    }
    let detailed = wide || forecasts.len() <= DETAILED;
    let mut table = Table::new(&[
        "NAMESPACE",
        "SERVICE",
        "ENDPOINTS",
        "POLICY",
        "IN ZONE",
        "WORST LOAD",
        "CROSS-ZONE GB",
        "COST",
        "ZONE LOST",
    ]);
    for forecast in forecasts {
        service_rows(forecast, detailed, &mut table);
    }
    let mut text = table.render("");
    text.push_str("\n* in force now. IN ZONE: part of traffic that stays in its zone. WORST LOAD: most loaded endpoint\n");
    text.push_str("against its fair share. ZONE LOST: the worst load when a zone fails and its clients move on.\n");
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
        Some(n) => format!("{n} (planned)"),
        None => forecast.endpoints.to_string(),
    }
}

fn figures(figures: &Figures) -> [String; 4] {
    if figures.worst_endpoint.is_none() {
        return [(); 4].map(|()| "-".to_owned());
    }
    let unserved = match figures.unserved_share {
        share if share > 0.0 => format!(", {} unserved", percent(share)),
        _ => String::new(),
    };
    [
        percent(figures.in_zone_share),
        format!("{}{unserved}", percent(figures.worst_load)),
        format!("{:.0}", figures.cross_zone_gb),
        format!("{:.2}", figures.cost),
    ]
}

fn worst_loss(forecast: &Forecast) -> String {
    let worst = |a: &&ZoneLost, b: &&ZoneLost| {
        a.figures.worst_load.total_cmp(&b.figures.worst_load).then_with(|| b.zone.cmp(&a.zone))
    };
    match forecast.zone_lost.iter().max_by(worst) {
        Some(lost) if lost.figures.worst_endpoint.is_some() => {
            format!("{} ({})", percent(lost.figures.worst_load), lost.zone)
        }
        _ => "-".to_owned(),
    }
}

fn recommendation(forecast: &Forecasts, text: &mut String) {
    let Forecasts { namespace, service, current, recommendation, .. } = forecast;
    let verb = if recommendation.policy == *current { "keep" } else { "take" };
    let name = styled(HEADING, format_args!("{namespace}/{service}"));
    let policy = styled(HEADING, recommendation.policy);
    let _ = writeln!(text, "\n{name}: {verb} {policy}: {}", recommendation.why.message);
    for of_policy in &forecast.policies {
        let worth = forecast.replicas.is_some() || of_policy.otherwise.is_some();
        if of_policy.policy == Policy::Auto && worth {
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
    let cost = |of: &Forecasts, policy| {
        let found = of.policies.iter().find(|f| f.policy == policy);
        found.map_or(0.0, |f| f.figures.cost)
    };
    let now: f64 = forecasts.iter().map(|f| cost(f, f.current)).sum();
    let then: f64 = forecasts.iter().map(|f| cost(f, f.recommendation.policy)).sum();
    let currency = &profile.price.currency;
    let _ = writeln!(
        text,
        "\n{} Services: {now:.2} {currency} a month across zones now, {then:.2} as recommended",
        forecasts.len()
    );
}
