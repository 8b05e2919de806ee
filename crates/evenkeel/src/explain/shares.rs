//! Zone shares and regions as text.

use std::fmt::Write;

use evenkeel_model::harmless;
use evenkeel_topology::{
    SharesIgnored,
    explain::{
        Explanation, FamilyView, SharePart, ShareRow, SharesState, SharesView, TrafficFigures,
    },
};

use super::text::{LISTED, more};
use crate::{
    printer::{HEADING, styled},
    table::{Table, percent},
};

pub(super) fn regions(explanation: &Explanation, text: &mut String) {
    if explanation.regions.is_empty() {
        return;
    }
    let mut table = Table::new(&["REGION", "ZONES"]);
    for region in &explanation.regions {
        let name = if region.name.is_empty() { "-" } else { &*region.name };
        table.row([name.to_owned(), region.zones.join(", ")]);
    }
    let _ = write!(text, "\n{}", table.render(""));
}

pub(super) fn shares(family: &FamilyView, wide: bool, text: &mut String) {
    for view in &family.shares {
        let ports = match view.ports.as_slice() {
            [] => String::new(),
            ports => format!(" (ports {})", harmless(&ports.join(", "))),
        };
        let _ = writeln!(text, "  zone shares{ports}:     {}", state(view));
        let listed = if wide { usize::MAX } else { LISTED };
        view.rows.iter().take(listed).for_each(|row| row_text(row, text));
        more(view.rows.len(), listed, text);
        figures(view, text);
    }
}

/// The state behind the words `zone shares`.
fn state(view: &SharesView) -> String {
    match &view.state.reason {
        SharesState::SharesUpToDate => "match the desired state".to_owned(),
        SharesState::SharesMissing => "missing: no EndpointSlice has them".to_owned(),
        SharesState::SharesOutdated { zones } => {
            format!("differ from the desired state for {}", harmless(&zones.join(", ")))
        }
        SharesState::SharesNotNeeded => "not needed".to_owned(),
        SharesState::SharesInvalid { error } => {
            format!("ignored: {}", harmless(&error.to_string()))
        }
        SharesState::SharesNotWritten { manager } => {
            format!("not written: {} manages the slices", harmless(manager))
        }
        _ => view.state.message.clone(),
    }
}

fn row_text(row: &ShareRow, text: &mut String) {
    let ShareRow { client_zone, in_force, desired, ignored, .. } = row;
    let client = styled(HEADING, format!("from {}", harmless(client_zone)));
    let is_same = match (in_force, desired) {
        (Some(has), Some(desired)) => {
            has.len() == desired.len()
                && has.iter().zip(desired).all(|(a, b)| (&a.zone, a.part) == (&b.zone, b.part))
        }
        (has, desired) => has.is_none() && desired.is_none(),
    };
    let _ = match (in_force, desired) {
        (None, None) => writeln!(text, "    {client}: no row"),
        (Some(has), _) if is_same => writeln!(text, "    {client}: {}", parts(Some(has))),
        (has, desired) => {
            let (has, desired) = (parts(has.as_deref()), parts(desired.as_deref()));
            writeln!(text, "    {client}: has {has}; desired {desired}")
        }
    };
    for part in desired.iter().flatten() {
        if let Some(why) = &part.why {
            let _ = writeln!(text, "      {}: {}", to(part), why.message);
        }
    }
    passed_on(in_force.as_deref().unwrap_or_default(), text);
    if let Some(SharesIgnored::SharesRowMissing { .. }) = ignored.as_ref().map(|i| &i.reason) {
        let _ = writeln!(text, "      the table in force has no row for it, so hints decide");
    }
}

fn passed_on(row: &[SharePart], text: &mut String) {
    let lost: Vec<&SharePart> = row.iter().filter(|part| part.passed_on).collect();
    if !row.is_empty() && lost.len() == row.len() {
        let _ = writeln!(
            text,
            "      none of these zones has a ready endpoint now: all ready endpoints serve equally"
        );
        return;
    }
    for part in lost {
        let _ = writeln!(
            text,
            "      {}: no ready endpoint there now, so the other zones of the row get it",
            to(part)
        );
    }
}

/// `25 % to zone-a`.
fn to(part: &SharePart) -> String {
    format!("{} to {}", percent(f64::from(part.part) / 1000.0), zone(&part.zone))
}

/// `75 % zone-b, 25 % zone-a`.
fn parts(row: Option<&[SharePart]>) -> String {
    let part = |part: &SharePart| {
        format!("{} {}", percent(f64::from(part.part) / 1000.0), zone(&part.zone))
    };
    match row {
        Some(row) => row.iter().map(part).collect::<Vec<_>>().join(", "),
        None => "none".to_owned(),
    }
}

fn zone(name: &str) -> String {
    match name {
        "" => "endpoints without a zone".to_owned(),
        name => harmless(name).into_owned(),
    }
}

fn figures(view: &SharesView, text: &mut String) {
    let mut table = Table::new(&["TRAFFIC", "IN ZONE", "MOST LOADED ENDPOINT"]);
    let mut row = |what: &str, figures: &Option<TrafficFigures>| {
        if let Some(TrafficFigures { in_zone_share, max_load, max_load_zone }) = figures {
            let load = format!("{} in {}", percent(*max_load), zone(max_load_zone));
            table.row([what.to_owned(), percent(*in_zone_share), load]);
        }
    };
    row("now", &view.now);
    row("if all nodes apply the shares", &view.in_force);
    row("with the best shares", &view.best);
    if let Some(adoption) = &view.adoption
        && !adoption.aware_zones.is_empty()
    {
        let (zones, load) = (adoption.aware_zones.join(", "), percent(adoption.max_load));
        let what = format!("worst, if only nodes in {zones} do");
        table.row([what, "-".to_owned(), format!("{load} in {}", zone(&adoption.max_load_zone))]);
    }
    if view.now.is_some() || view.best.is_some() {
        let _ = write!(text, "\n{}", table.render("    "));
    }
}
