//! One Service: every policy, and each zone lost in turn.

use std::fmt::Write;

use evenkeel_topology::{
    Policy,
    explain::Outcome,
    whatif::{Figures, Forecast, Forecasts, Why},
};

use super::{name, remarks, verdict, wrapped};
use crate::table::{Table, percent};

pub(super) const LEGEND: &str = "
* in force, with the hints that are there now. IN ZONE: share of traffic that
stays in its zone. MAX LOAD: traffic of the busiest endpoint, 100 % is its fair
share. \"without ZONE\": the zone fails and its clients move to the other zones;
loads are against the fair share of today, so 200 % is twice the load.
";

/// Less than this is rounding.
const TRACE: f64 = 0.0005;

pub(super) fn block(forecasts: &Forecasts, text: &mut String) {
    let _ = writeln!(text, "\n{}: {}", name(forecasts), verdict(forecasts));
    *text += &wrapped("  ", &forecasts.recommendation.why.message);
    remarks(forecasts, text);
    auto(forecasts, text);
    *text += &wrapped("  ", &subject(forecasts));
    text.push('\n');
    table(forecasts, text);
}

/// How many endpoints and how much traffic the figures are for.
fn subject(forecasts: &Forecasts) -> String {
    let n = forecasts.endpoints;
    let s = if n == 1 { "" } else { "s" };
    let mut subject = match forecasts.replicas {
        Some(_) => format!("{n} endpoint{s} planned"),
        None => format!("{n} ready endpoint{s}"),
    };
    if let Some(gb) = forecasts.gb_per_month {
        let _ = write!(subject, ", {gb:.0} GB a month");
    }
    subject
}

/// Which hints Auto assigns, where that is a question.
fn auto(forecasts: &Forecasts, text: &mut String) {
    // The recommendation may have told already why Auto assigns no hints.
    let is_told = matches!(forecasts.recommendation.why.reason, Why::HintsUnavailable { .. });
    let Some(auto) = forecasts.of(Policy::Auto).filter(|auto| auto.cannot_act.is_none()) else {
        return;
    };
    if !is_told && (forecasts.replicas.is_some() || auto.otherwise.is_some()) {
        *text += &wrapped("  hints of Auto: ", &auto.hints.message);
    }
    if let Some(otherwise) = &auto.otherwise {
        let case = match auto.hints.reason {
            Outcome::Refused { .. } => "if hints were in force already",
            _ => "if hints were not in force yet",
        };
        *text += &wrapped(&format!("  {case}: "), &otherwise.message);
    }
}

fn table(forecasts: &Forecasts, text: &mut String) {
    let is_priced = forecasts.gb_per_month.is_some();
    let all = || {
        let lost = |f: &'_ Forecast| {
            f.zone_lost.iter().map(|lost| lost.figures.clone()).collect::<Vec<_>>()
        };
        forecasts.policies.iter().flat_map(move |f| [vec![f.figures.clone()], lost(f)].concat())
    };
    let is_unserved = all().any(|figures| figures.unserved_share > TRACE);
    let mut heading = vec!["POLICY", "IN ZONE", "MAX LOAD"];
    heading.extend(is_unserved.then_some("UNSERVED"));
    heading.extend(is_priced.then_some(["CROSS GB", "COST"]).into_iter().flatten());
    let mut table = Table::new(&heading);
    let row = |name: String, figures: &Figures| {
        let mut row = vec![name];
        let is_served = figures.busiest_endpoint.is_some();
        let cell = |text: String| if is_served { text } else { "-".to_owned() };
        row.push(cell(percent(figures.in_zone_share)));
        row.push(cell(percent(figures.max_load)));
        row.extend(is_unserved.then(|| percent(figures.unserved_share)));
        if is_priced {
            row.push(cell(format!("{:.0}", figures.cross_zone_gb.unwrap_or(0.0))));
            row.push(cell(format!("{:.2}", figures.cost.unwrap_or(0.0))));
        }
        row
    };
    for of_policy in &forecasts.policies {
        let mark = if of_policy.policy == forecasts.current { " *" } else { "" };
        table.row(row(format!("{}{mark}", of_policy.policy), &of_policy.figures));
        for lost in &of_policy.zone_lost {
            table.row(row(format!("  without {}", lost.zone), &lost.figures));
        }
    }
    text.push_str(&table.render("  "));
}
