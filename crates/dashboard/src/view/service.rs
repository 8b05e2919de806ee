//! The page about one Service: where its clients send their traffic and why, and what would be
//! otherwise.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{ServiceKey, ServiceState};
use evenkeel_topology::{
    explain::{Coverage, Explanation, FamilyView, From, Status},
    whatif::Figures,
};
use serde::Serialize;

use super::{
    Scene,
    figure::{Figure, Flow, MOST_CELLS, Plot, figure},
    findings::FindingView,
    flows::{self, Clients, Part, Target},
    measured::Measured,
    summary::{in_zone, is_placed, is_served},
    what_if::{self, WhatIf, Wish},
    words::{Number, count, percent, shown},
};

/// Rows of the table of flows.
const MOST_ROWS: usize = 200;
const MOST_FINDINGS: usize = 20;
const MOST_LINES: usize = 40;
/// Elements of a row of the table of flows.
const ROW_MARKS: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePage {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub label: String,
    /// The one sentence that the page opens with.
    pub sentence: String,
    pub policy: &'static str,
    pub because: String,
    pub in_zone: Number,
    pub cross_zone: Number,
    pub unserved: Number,
    pub load: Number,
    /// The busiest endpoint.
    pub busiest: Option<String>,
    /// The part that stayed in its zone of what proxies counted.
    pub measured: Number,
    pub measured_note: String,
    pub figure: Figure,
    pub rows: Vec<FlowRow>,
    pub rows_left_out: usize,
    pub families: Vec<FamilyRow>,
    /// On how many nodes the rules are in force.
    pub in_force: String,
    pub findings: Vec<FindingView>,
    /// Checks and warnings of `explain`.
    pub conditions: Vec<Line>,
    pub advice: String,
    pub what_if: WhatIf,
    /// Elements that the page needs.
    pub marks: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowRow {
    pub from: String,
    /// Of the CPU, which stands for the traffic.
    pub part: Number,
    pub to: String,
    pub share: Number,
    pub measured: Number,
    pub crosses: Option<bool>,
    pub why: String,
}

/// Hints and zone shares of an address family: in force against desired.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FamilyRow {
    pub family: String,
    pub endpoints: usize,
    pub ready: usize,
    pub in_force: &'static str,
    pub desired: String,
    pub differences: usize,
    pub shares: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `ok`, `failed`, `unknown`, `notApplicable` or `warning`.
    pub state: &'static str,
    pub text: String,
}

pub(super) fn page(scene: &Scene<'_>, state: &ServiceState, wish: &Wish) -> ServicePage {
    let explanation = scene.context.explain(state, &From::default());
    let now = scene.scenario.forecast(state, None);
    let scaled = wish.replicas.map(|n| scene.scenario.forecast(state, Some(n)));
    let (_, figures) = scene.scenario.now(state);
    let served = is_served(scene, &figures);
    let number = |share: f64| Number::maybe(served.then_some(share));
    let clients = flows::clients(&explanation);
    let reasons = shares_reasons(&explanation);
    let mut rows = rows(&clients, &reasons, scene.measured, &state.service.key);
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let known = !scene.scenario.client_zones().is_empty();
    let mut page = ServicePage {
        sentence: sentence(scene, &explanation, &figures, &clients, &reasons),
        label: format!("{}/{}", shown(&explanation.namespace), shown(&explanation.service)),
        policy: explanation.policy.as_str(),
        because: explanation.because.message.clone(),
        in_zone: Number::maybe(in_zone(scene, &figures)),
        cross_zone: Number::maybe(in_zone(scene, &figures).map(|_| figures.cross_zone_share)),
        unserved: Number::maybe(known.then_some(figures.unserved_share)),
        load: number(figures.max_load),
        busiest: figures.busiest_endpoint.as_ref().map(|name| shown(&name.address)),
        measured: scene.measured.in_zone(&state.service.key),
        measured_note: scene.measured.basis(&state.service.key),
        figure: figure(plot(&clients)),
        rows,
        rows_left_out: left_out,
        families: explanation.families.iter().map(family).collect(),
        in_force: in_force(&explanation),
        findings: explanation.findings.iter().take(MOST_FINDINGS).map(FindingView::from).collect(),
        conditions: conditions(&explanation),
        advice: explanation.advice.message.clone(),
        what_if: what_if::what_if(scene, state, (&now, scaled.as_ref().unwrap_or(&now)), wish),
        marks: 0,
        namespace: explanation.namespace,
        service: explanation.service,
    };
    page.marks = page.count();
    page
}

/// Why parts of zone shares leave their zone, by the zones of clients and endpoints.
type Reasons = BTreeMap<(Arc<str>, Arc<str>), String>;

fn shares_reasons(explanation: &Explanation) -> Reasons {
    let tables = explanation.families.iter().flat_map(|family| &family.shares);
    let rows = tables.flat_map(|table| &table.rows);
    let reasons = rows.flat_map(|row| {
        row.desired.iter().flatten().filter_map(|part| {
            let why = part.why.as_ref()?.message.clone();
            Some(((Arc::clone(&row.client_zone), Arc::clone(&part.zone)), why))
        })
    });
    reasons.collect()
}

fn why(clients: &Clients, part: &Part, reasons: &Reasons) -> String {
    let reason = match &part.to {
        Target::Zone(to) => reasons.get(&(Arc::clone(&clients.zone), Arc::clone(to))),
        Target::OwnNodes(_) => None,
    };
    reason.unwrap_or(&clients.rule).clone()
}

fn sentence(
    scene: &Scene<'_>,
    explanation: &Explanation,
    figures: &Figures,
    clients: &[Clients],
    reasons: &Reasons,
) -> String {
    if explanation.families.is_empty() {
        return "The Service has no endpoints of its own: it is a name for another host."
            .to_owned();
    }
    if explanation.families.iter().all(|family| family.ready == 0) && figures.unserved_share >= 1.0
    {
        return "No endpoint is ready: no request is served.".to_owned();
    }
    if scene.zones().is_empty() || !is_served(scene, figures) {
        return "Where traffic goes is unknown: no zone with a ready node is known.".to_owned();
    }
    if !is_placed(figures) {
        return "Whether traffic stays in its zone is unknown: clients or endpoints have no zone."
            .to_owned();
    }
    let mut text = format!("{} of traffic stays in its zone", percent(figures.in_zone_share));
    if figures.unknown_zone_share > 0.0 {
        text += &format!("; of {} that is unknown", percent(figures.unknown_zone_share));
    }
    if figures.unserved_share > 0.0 {
        text += &format!("; {} finds no endpoint", percent(figures.unserved_share));
    }
    if let Some((from, part)) = largest_crossing(clients) {
        let why = why(from, part, reasons);
        let to = part.to.label();
        text += &format!("; {} sends {} to {to}: {why}", from.label, percent(part.share));
    }
    text + "."
}

/// The part that most traffic crosses zones by; of equals the first by name.
fn largest_crossing(clients: &[Clients]) -> Option<(&Clients, &Part)> {
    let all = clients.iter().flat_map(|from| from.to.iter().map(move |part| (from, part)));
    let crossing = all.filter(|(from, part)| from.crosses(part) == Some(true));
    let amount = |(from, part): &(&Clients, &Part)| from.part.unwrap_or(0.0) * part.share;
    crossing.reduce(|best, next| if amount(&next) > amount(&best) + 1e-9 { next } else { best })
}

fn plot(clients: &[Clients]) -> Plot {
    let mut endpoints: Vec<&Target> =
        clients.iter().flat_map(|from| from.to.iter().map(|part| &part.to)).collect();
    endpoints.sort_unstable();
    endpoints.dedup();
    // Where no part is known, all lanes are alike, and each says so.
    let alike = 1.0 / clients.len().max(1) as f64;
    let flows = clients.iter().enumerate().flat_map(|(index, from)| {
        let amount = from.part.unwrap_or(alike);
        let endpoints = &endpoints;
        from.to.iter().map(move |part| Flow {
            from: index,
            to: endpoints.binary_search(&&part.to).unwrap_or(0),
            amount: amount * part.share,
            share: part.share,
            crosses: from.crosses(part),
        })
    });
    let note = |from: &Clients| match (from.to.is_empty(), from.part) {
        (true, _) => "finds no endpoint".to_owned(),
        (_, Some(part)) => format!("sends {}", percent(part)),
        (_, None) => "amount unknown".to_owned(),
    };
    let is_known = clients.iter().all(|from| from.part.is_some());
    let serves = |target: &Target| {
        let parts = clients.iter().flat_map(|from| {
            let of = from.to.iter().filter(|part| part.to == *target);
            of.map(|part| from.part.unwrap_or(0.0) * part.share)
        });
        if is_known { format!("serves {}", percent(parts.sum())) } else { String::new() }
    };
    Plot {
        title: "From the zones of clients to the zones of endpoints".to_owned(),
        most: MOST_CELLS,
        flows: flows.collect(),
        clients: clients.iter().map(|from| (from.label.clone(), note(from))).collect(),
        endpoints: endpoints.iter().map(|target| (target.label(), serves(target))).collect(),
    }
}

fn rows(
    clients: &[Clients],
    reasons: &Reasons,
    measured: &Measured,
    key: &ServiceKey,
) -> Vec<FlowRow> {
    let row = |from: &Clients, part: Option<&Part>| FlowRow {
        from: match from.other_nodes {
            0 => from.label.clone(),
            n => format!("{} (but {})", from.label, count(n, "node")),
        },
        part: Number::maybe(from.part),
        to: part.map_or("no endpoint".to_owned(), |part| part.to.label()),
        share: Number::predicted(part.map_or(1.0, |part| part.share)),
        measured: part.map_or_else(Number::unknown, |part| match &part.to {
            // Proxies count zones, not nodes.
            Target::Zone(to) if from.is_zone => measured.share(key, &from.zone, to),
            _ => Number::unknown(),
        }),
        crosses: part.and_then(|part| from.crosses(part)),
        why: part.map_or(from.rule.clone(), |part| why(from, part, reasons)),
    };
    let of = |from: &Clients| match from.to.as_slice() {
        [] => vec![row(from, None)],
        parts => parts.iter().map(|part| row(from, Some(part))).collect(),
    };
    clients.iter().flat_map(of).collect()
}

fn family(view: &FamilyView) -> FamilyRow {
    let shares = view.shares.iter().map(|table| table.state.message.clone());
    FamilyRow {
        family: view.family.to_string(),
        endpoints: view.endpoints,
        ready: view.ready,
        in_force: match view.hints.in_force {
            Coverage::NoEndpoints => "no endpoints",
            Coverage::None => "no endpoint has hints",
            Coverage::Some => "some endpoints have hints",
            Coverage::All => "all endpoints have hints",
        },
        desired: view.hints.desired.message.clone(),
        differences: view.hints.differences.len(),
        shares: shares.collect(),
    }
}

fn in_force(explanation: &Explanation) -> String {
    match &explanation.in_force {
        Some(in_force) => in_force.message.clone(),
        None => format!("unknown: {}", explanation.data_plane.routing.because.message),
    }
}

fn conditions(explanation: &Explanation) -> Vec<Line> {
    let check = |check: &evenkeel_topology::explain::Check| Line {
        state: match check.status {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::NotApplicable => "notApplicable",
            Status::Unknown => "unknown",
        },
        text: check.finding.message.clone(),
    };
    let warnings = explanation.warnings.iter();
    let warnings = warnings.map(|warning| Line { state: "warning", text: warning.message.clone() });
    explanation.checks.iter().map(check).chain(warnings).take(MOST_LINES).collect()
}

// === impl ServicePage ===

impl ServicePage {
    fn count(&self) -> usize {
        let WhatIf { policies, zones, notes, now, then, .. } = &self.what_if;
        let drawn = [Some(now), then.as_ref()].into_iter().flatten();
        let drawn: usize = drawn.filter_map(|one| one.figure.as_ref()).map(Figure::marks).sum();
        let choices = policies.len() + zones.len() + notes.len() + drawn + 8;
        let lists = self.families.len() + self.findings.len() + self.conditions.len();
        ROW_MARKS * self.rows.len() + lists + choices + self.figure.marks()
    }
}
