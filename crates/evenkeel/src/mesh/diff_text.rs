//! Differences as text.

use std::fmt::Write;

use evenkeel_locality::inspect::{
    BeforeAfter, Change, DestinationDifference, Difference, GroupState, ListenerDifference,
    RouteInspection, SharesDifference, ZoneDifference,
};
use evenkeel_model::harmless;

use super::{diff::Report, names};
use crate::{
    printer::{CARE, HEADING, styled},
    table::{Table, percent},
};

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    for difference in &report.differences {
        one(difference, &mut text);
    }
    let Report { proxies, proxies_changed, .. } = report;
    let noun = if *proxies == 1 { "proxy" } else { "proxies" };
    let _ = match proxies_changed {
        0 => writeln!(text, "No change for any of {proxies} {noun}"),
        changed => writeln!(text, "{changed} of {proxies} {noun} would change"),
    };
    text
}

fn one(difference: &Difference, text: &mut String) {
    let who = names::some(&difference.proxies, difference.n_proxies);
    let what = match difference.dataplane {
        Change::Added => " (new)",
        Change::Removed => " (removed)",
        Change::Changed => "",
    };
    let who = harmless(&who).into_owned();
    let _ = writeln!(text, "{}{what}", styled(HEADING, who));
    difference.listeners.iter().for_each(|changed| listener(changed, text));
    difference.destinations.iter().for_each(|changed| destination(changed, text));
    text.push('\n');
}

fn listener(changed: &ListenerDifference, text: &mut String) {
    let name = harmless(&changed.name).into_owned();
    let _ = writeln!(text, "  listener {name}{}", word(changed.change));
    if changed.change == Change::Changed {
        let (before, after) = (routes(&changed.before), routes(&changed.after));
        let _ = writeln!(text, "    before: {before}\n    after:  {after}");
    }
}

fn routes(routes: &[RouteInspection]) -> String {
    let route = |route: &RouteInspection| {
        let clusters = route.clusters.iter();
        let parts = clusters.map(|part| format!("{} {}", part.cluster, percent(part.share)));
        let parts: Vec<String> = parts.collect();
        let to = if parts.is_empty() { "503".to_owned() } else { parts.join(", ") };
        if route.matches.is_empty() { to } else { format!("{}: {to}", route.matches) }
    };
    let routes: Vec<String> = routes.iter().map(route).collect();
    harmless(&routes.join("; ")).into_owned()
}

fn destination(changed: &DestinationDifference, text: &mut String) {
    let subset = changed.subset.iter().map(|(key, value)| format!("{key}={value}"));
    let subset: Vec<String> = subset.collect();
    let with =
        if subset.is_empty() { String::new() } else { format!(" with {}", subset.join(", ")) };
    let name = format!("{} ({}{with})", changed.cluster, changed.service);
    let _ = writeln!(text, "  {}{}", harmless(&name), word(changed.change));
    if !changed.settings.is_empty() {
        let _ = writeln!(text, "    settings: {}", changed.settings.join(", "));
    }
    match &changed.shares {
        Some(shares) if changed.change == Change::Changed => {
            factor(shares, text);
            groups(shares, text);
        }
        Some(shares) if changed.change == Change::Added => groups(shares, text),
        _ => {}
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Added => ": new",
        Change::Removed => ": removed",
        Change::Changed => "",
    }
}

fn factor(changed: &SharesDifference, text: &mut String) {
    let BeforeAfter { before, after } = changed.overprovisioning_factor;
    if before != after {
        let factor = |factor: Option<std::num::NonZeroU32>| match factor {
            Some(factor) => factor.to_string(),
            None => "default (140)".to_owned(),
        };
        let _ =
            writeln!(text, "    overprovisioning factor: {} → {}", factor(before), factor(after));
    }
}

fn groups(changed: &SharesDifference, text: &mut String) {
    let heading = ["PRIORITY", "ZONE", "SUB-ZONE", "ENDPOINTS", "WEIGHT", "SHARE"];
    let mut table = Table::new(&heading);
    for group in &changed.groups {
        let both = |of: &dyn Fn(&GroupState) -> String| {
            let of = |state: &Option<GroupState>| state.as_ref().map_or_else(|| "-".to_owned(), of);
            arrow(&of(&group.before), &of(&group.after))
        };
        table.row([
            group.priority.to_string(),
            group.zone.as_deref().unwrap_or("-").to_owned(),
            if group.sub_zone.is_empty() { "-".to_owned() } else { group.sub_zone.to_string() },
            both(&|state| state.endpoints.to_string()),
            both(&|state| state.weight.map_or_else(|| "-".to_owned(), |w| w.to_string())),
            both(&|state| percent(state.share)),
        ]);
    }
    if !changed.groups.is_empty() {
        text.push_str(&table.render("    "));
    }
    errors("    ", changed.errors, text);
    let Some(lost) = &changed.without_own_zone else { return };
    let zones = zones(&lost.zones);
    let zone = harmless(&lost.zone);
    let _ = writeln!(text, "    if {zone} is lost: {}", harmless(&zones));
    errors("      ", lost.errors, text);
}

fn zones(zones: &[ZoneDifference]) -> String {
    let used = |zone: &&ZoneDifference| zone.share.before > 0.0 || zone.share.after > 0.0;
    let one = |zone: &ZoneDifference| {
        let name = zone.zone.as_deref().unwrap_or("no zone");
        let BeforeAfter { before, after } = zone.share;
        format!("{name} {}", arrow(&percent(before), &percent(after)))
    };
    let all: Vec<String> = zones.iter().filter(used).map(one).collect();
    if all.is_empty() { "no endpoint is left".to_owned() } else { all.join(", ") }
}

fn errors(indent: &str, BeforeAfter { before, after }: BeforeAfter, text: &mut String) {
    if before > 0.0 || after > 0.0 {
        let line = format!("answered with 503: {}", arrow(&percent(before), &percent(after)));
        let _ = writeln!(text, "{indent}{}", styled(CARE, line));
    }
}

fn arrow(before: &str, after: &str) -> String {
    if before == after { before.to_owned() } else { format!("{before} → {after}") }
}
