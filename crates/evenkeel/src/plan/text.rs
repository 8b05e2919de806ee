//! Forecasts as text for people.

mod detail;
mod overview;
mod wrap;

use std::fmt::Write;

use evenkeel_model::WithMessage;
use evenkeel_topology::whatif::{Benefit, Forecasts, Saving, Trade, Why};

use self::wrap::wrapped;
use super::{Plan, Summary};
use crate::printer::{HEADING, styled};

/// Up to this many Services are shown with every policy and every lost zone.
const DETAILED: usize = 3;

/// What a terminal has at least.
const WIDTH: usize = 80;

pub(super) fn render(plan: &Plan, wide: bool) -> String {
    if plan.summary.services == 0 {
        return "No Services found.\n".to_owned();
    }
    let mut text = format!("{}\n", styled(HEADING, "Assumptions"));
    for (about, assumption) in plan.assumptions.lines() {
        text += &wrapped(&format!("  {about:<9}"), &assumption);
    }
    if wide || plan.services.len() <= DETAILED {
        plan.services.iter().for_each(|forecasts| detail::block(forecasts, wide, &mut text));
        if plan.summary.left_out > 0 {
            text.push('\n');
            text.push_str(&left_out(plan));
        }
        text.push_str(detail::LEGEND);
    } else {
        overview::table(plan, &mut text);
    }
    if plan.summary.services > 1 {
        summary(plan, &mut text);
    }
    text
}

fn summary(plan: &Plan, text: &mut String) {
    let Summary { services, to_change, cost, cost_as_recommended, .. } = plan.summary;
    let mut line = format!("{services} Services: {to_change} to change");
    let currency = plan.assumptions.traffic.as_ref().map(|given| &given.price_in_use.currency);
    if let (Some(now), Some(then), Some(currency)) = (cost, cost_as_recommended, currency) {
        let _ = write!(
            line,
            "; traffic across zones costs {now:.2} {currency} a month, {then:.2} as recommended"
        );
    }
    let _ = write!(text, "\n{}", wrapped("", &line));
    if to_change > 0 {
        text.push_str("Review with --diff; apply with -o yaml | kubectl replace -f -\n");
    }
}

/// What `--top` leaves out, in a line; nothing if nothing is.
fn left_out(plan: &Plan) -> String {
    match plan.summary.left_out {
        0 => String::new(),
        1 => "and 1 more Service\n".to_owned(),
        n => format!("and {n} more Services\n"),
    }
}

/// `switch to PreferSameZone` or `keep none`.
fn verdict(forecasts: &Forecasts) -> String {
    let verb = if forecasts.changes() { "switch to" } else { "keep" };
    format!("{verb} {}", styled(HEADING, forecasts.recommendation.policy))
}

fn name(forecasts: &Forecasts) -> String {
    styled(HEADING, format_args!("{}/{}", forecasts.namespace, forecasts.service))
}

/// Trades and caveats.
fn remarks(forecasts: &Forecasts, text: &mut String) {
    for trade in &forecasts.trades {
        *text += &wrapped("  trade: ", &trade_text(forecasts, trade));
    }
    for caveat in &forecasts.caveats {
        *text += &wrapped("  note: ", &caveat.message);
    }
}

/// What is given up, then what for.
fn trade_text(forecasts: &Forecasts, trade: &Trade) -> String {
    let default = forecasts.recommendation.policy;
    let in_zone = |share: f64| format!("{} %", (share * 100.0).round());
    let mut text = format!("{} instead of {default}", trade.policy);
    if let Some(costs) = &trade.costs {
        let _ = write!(text, " costs {costs} a month more");
    }
    let is_load = |b: &WithMessage<Benefit>| !matches!(b.reason, Benefit::ServesRefused { .. });
    let is_load = trade.benefits.iter().all(is_load);
    let before = forecasts.of(default).map_or(0.0, |f| f.settled().in_zone_share);
    let _ = write!(
        text,
        " ({} of traffic in zone, not {}) {}: ",
        in_zone(trade.in_zone_share),
        in_zone(before),
        if is_load { "for less load" } else { "in return" }
    );
    let benefits: Vec<&str> = trade.benefits.iter().map(|b| b.message.as_str()).collect();
    text + &benefits.join("; ")
}

/// Whether there is more to say of a Service than that its policy is kept.
fn is_remarkable(forecasts: &Forecasts) -> bool {
    let why = &forecasts.recommendation.why.reason;
    forecasts.changes()
        || !forecasts.trades.is_empty()
        || !forecasts.caveats.is_empty()
        || matches!(
            why,
            Why::HintsUnavailable { .. }
                | Why::WouldOverload { .. }
                | Why::CurrentPolicyRefuses { .. }
        )
}

fn saves(Saving { money, .. }: Saving) -> String {
    money.filter(|money| *money > 0.0).map_or("-".to_owned(), |money| format!("{money:.2}"))
}
