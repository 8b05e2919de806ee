//! One Service: every policy, and each zone lost in turn.

use std::fmt::Write;

use evenkeel_topology::{
    DataPlane, Policy,
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

/// Columns and policies of the table are those that fit into a terminal, unless it is `wide`.
pub(super) fn block(forecasts: &Forecasts, wide: bool, text: &mut String) {
    let _ = writeln!(text, "\n{}: {}", name(forecasts), verdict(forecasts));
    *text += &wrapped("  ", &forecasts.recommendation.why.message);
    remarks(forecasts, text);
    auto(forecasts, text);
    let DataPlane { hints, .. } = &forecasts.data_plane;
    let rules = format!("{} rules ({})", hints.profile, hints.because.message);
    *text += &wrapped("  hints: ", &rules);
    *text += &wrapped("  ", &subject(forecasts));
    text.push('\n');
    table(forecasts, wide, text);
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

fn table(forecasts: &Forecasts, wide: bool, text: &mut String) {
    let shown: Vec<&Forecast> =
        forecasts.policies.iter().filter(|f| wide || is_usual(f.policy, forecasts)).collect();
    let columns = Columns::of(forecasts, &shown, wide);
    let mut table = Table::new(&columns.heading());
    for of_policy in &shown {
        let mark = if of_policy.policy == forecasts.current { " *" } else { "" };
        let name = format!("{}{mark}", of_policy.policy);
        if !of_policy.acts() {
            table.row(columns.unavailable(name));
            continue;
        }
        table.row(columns.row(name, &of_policy.figures));
        for lost in &of_policy.zone_lost {
            table.row(columns.row(format!("  without {}", lost.zone), &lost.figures));
        }
    }
    text.push_str(&table.render("  "));
    for of_policy in &shown {
        let why = of_policy.cannot_act.as_ref().map(|why| &why.message);
        if let Some(why) = why.or(of_policy.needs.as_ref().map(|needs| &needs.message)) {
            *text += &wrapped(&format!("  {}: ", of_policy.policy), why);
        }
    }
}

/// Policies of Evenkeel's own are many: only Balanced is always shown.
fn is_usual(policy: Policy, forecasts: &Forecasts) -> bool {
    Policy::KUBERNETES.contains(&policy)
        || policy == Policy::Balanced
        || [forecasts.current, forecasts.recommendation.policy].contains(&policy)
        || forecasts.trades.iter().any(|trade| trade.policy == policy)
}

/// Which columns there is something to say in.
#[derive(Clone, Copy)]
struct Columns {
    regions: bool,
    unserved: bool,
    priced: bool,
}

impl Columns {
    fn of(forecasts: &Forecasts, shown: &[&Forecast], wide: bool) -> Self {
        let lost = |f: &Forecast| f.zone_lost.iter().any(|lost| is_unserved(&lost.figures));
        Columns {
            regions: wide && shown.iter().any(|f| f.figures.regions.is_some()),
            unserved: shown.iter().any(|f| is_unserved(&f.figures) || lost(f)),
            priced: forecasts.gb_per_month.is_some(),
        }
    }

    fn heading(self) -> Vec<&'static str> {
        let mut heading = vec!["POLICY", "IN ZONE"];
        heading.extend(self.regions.then_some("IN REGION"));
        heading.push("MAX LOAD");
        heading.extend(self.unserved.then_some("UNSERVED"));
        heading.extend(self.priced.then_some(["CROSS GB", "COST"]).into_iter().flatten());
        heading
    }

    fn unavailable(self, name: String) -> Vec<String> {
        let mut row = vec![name];
        row.resize(self.heading().len(), "-".to_owned());
        row
    }

    fn row(self, name: String, figures: &Figures) -> Vec<String> {
        let is_served = figures.busiest_endpoint.is_some();
        let cell = |text: String| if is_served { text } else { "-".to_owned() };
        let mut row = vec![name, cell(percent(figures.in_zone_share))];
        if self.regions {
            let share = figures.regions.as_ref().map_or(0.0, |regions| regions.in_region_share);
            row.push(cell(percent(share)));
        }
        row.push(cell(percent(figures.max_load)));
        row.extend(self.unserved.then(|| percent(figures.unserved_share)));
        if self.priced {
            row.push(cell(format!("{:.0}", figures.cross_zone_gb.unwrap_or(0.0))));
            row.push(cell(format!("{:.2}", figures.cost.unwrap_or(0.0))));
        }
        row
    }
}

fn is_unserved(figures: &Figures) -> bool {
    figures.unserved_share > TRACE
}
