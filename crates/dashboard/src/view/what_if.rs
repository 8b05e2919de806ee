//! What would be otherwise: with another policy, another number of replicas, or without a zone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::{Service, ServiceKey, ServiceState};
use evenkeel_topology::{
    Gates, Policy,
    whatif::{Figures, Forecast, Forecasts, Supposed, ZoneFlow, patch},
};
use serde::Serialize;

use super::{
    Scene,
    figure::{Figure, Flow, Plot, figure},
    summary::is_placed,
    words::{Basis, percent, zone_label},
};

/// More replicas than this are not forecast.
pub const MOST_REPLICAS: u32 = 10_000;

/// Zones that are offered to be lost; more can be asked for in the page's address.
const MOST_ZONES: usize = 100;

/// Rows and columns of a matrix. Two of them and the page's own stay within its bound.
const MOST_CELLS: usize = 10;

/// The scale of bars of loads: this many times the fair share fills one.
const FULL_LOAD: f64 = 3.0;

/// What somebody wants to know. It is the query of the page's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub policy: Option<Policy>,
    pub replicas: Option<u32>,
    /// The zone that is lost.
    pub lose: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    pub policies: Vec<Choice>,
    pub zones: Vec<Arc<str>>,
    pub endpoints: usize,
    pub now: Outcome,
    /// `None`: nothing else is asked for.
    pub then: Option<Outcome>,
    /// What makes it so.
    pub command: Option<String>,
    pub notes: Vec<String>,
    pub recommended: &'static str,
    pub recommended_because: String,
}

/// A policy that may be asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub policy: &'static str,
    pub is_current: bool,
    /// Why it would have no effect, or not all of it.
    pub limit: Option<String>,
}

/// One of two states that are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub label: String,
    pub basis: Basis,
    /// The flows behind the figures, where there is something to compare them with.
    pub figure: Option<Figure>,
    /// As `evenkeel plan -o json` has them.
    pub figures: Figures,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bar {
    pub label: &'static str,
    pub text: String,
    /// 0 to 100.
    pub length: f64,
    pub kind: &'static str,
}

/// `now`: as things are. `then`: with the replicas that are wished for, if any are.
pub(super) fn what_if(
    scene: &Scene<'_>,
    state: &ServiceState,
    (now, then): (&Forecasts, &Forecasts),
    wish: &Wish,
) -> WhatIf {
    let service = &state.service;
    let current = now.of(now.current);
    let figures = current.map(|forecast| forecast.figures.clone());
    let wanted = wish.policy.unwrap_or(now.current);
    let forecast = then.of(wanted);
    let outcome = forecast.and_then(|forecast| then_figures(forecast, now.current, wish));
    let is_asked = *wish != Wish::default();
    let mut notes: Vec<String> = then.caveats.iter().map(|c| c.message.clone()).collect();
    notes.extend(forecast.and_then(limit).filter(|_| is_asked));
    if is_asked && outcome.is_none() {
        notes.push(format!("there is no zone {}", zone_label(wish.lose.as_deref().unwrap_or(""))));
    }
    notes.extend(wish.replicas.map(|n| {
        format!("set replicas: {n} on the workload behind the Service; where Pods run is assumed")
    }));
    let then = outcome
        .filter(|_| is_asked)
        .map(|figures| Outcome::new(label(wish), Some(drawn(scene, state, wish)), figures));
    WhatIf {
        policies: now.policies.iter().map(|forecast| option(forecast, now.current)).collect(),
        zones: zones(now),
        endpoints: now.endpoints,
        now: Outcome::new(
            "Now".to_owned(),
            then.is_some().then(|| drawn(scene, state, &Wish::default())),
            figures.unwrap_or_else(nothing),
        ),
        then,
        command: command(service, now.current, wish),
        notes,
        recommended: now.recommendation.policy.as_str(),
        recommended_because: now.recommendation.why.message.clone(),
    }
}

/// `None`: the zone that is lost is not one of them.
fn then_figures(forecast: &Forecast, current: Policy, wish: &Wish) -> Option<Figures> {
    match &wish.lose {
        Some(zone) => {
            let lost = forecast.zone_lost.iter().find(|lost| *lost.zone == **zone)?;
            Some(lost.figures.clone())
        }
        None if forecast.policy == current && wish.replicas.is_none() => {
            Some(forecast.figures.clone())
        }
        None => Some(forecast.settled().clone()),
    }
}

/// Both states are drawn from the flows that the forecast is made of.
fn drawn(scene: &Scene<'_>, state: &ServiceState, wish: &Wish) -> Figure {
    let Wish { policy, replicas, lose } = wish;
    let supposed = Supposed { policy: *policy, replicas: *replicas, lost: lose.as_deref() };
    let flows = scene.scenario.flows(state, &supposed).unwrap_or_default();
    let mut sent: BTreeMap<&Arc<str>, f64> = BTreeMap::new();
    for flow in &flows {
        *sent.entry(&flow.from).or_default() += flow.part;
    }
    let to: BTreeSet<&Option<Arc<str>>> = flows.iter().map(|flow| &flow.to).collect();
    let (from, to): (Vec<_>, Vec<_>) = (sent.keys().copied().collect(), to.into_iter().collect());
    let served = |to: &Option<Arc<str>>| {
        flows.iter().filter(|flow| flow.to == *to).map(|flow| flow.part).sum()
    };
    let is_place = |name: &str| !name.is_empty();
    let flow = |flow: &ZoneFlow| Flow {
        // Both are sorted.
        from: from.binary_search(&&flow.from).unwrap_or(0),
        to: to.binary_search(&&flow.to).unwrap_or(0),
        amount: flow.part,
        share: flow.part / sent[&flow.from],
        crosses: flow
            .to
            .as_ref()
            .and_then(|to| (is_place(to) && is_place(&flow.from)).then_some(*to != flow.from)),
    };
    figure(Plot {
        title: "From the zones of clients to the zones of endpoints".to_owned(),
        most: MOST_CELLS,
        flows: flows.iter().map(flow).collect(),
        clients: sent
            .iter()
            .map(|(zone, part)| (zone_label(zone), format!("sends {}", percent(*part))))
            .collect(),
        endpoints: to
            .iter()
            .map(|to| match to {
                Some(zone) => (zone_label(zone), format!("serves {}", percent(served(to)))),
                None => ("no endpoint".to_owned(), String::new()),
            })
            .collect(),
    })
}

fn zones(forecasts: &Forecasts) -> Vec<Arc<str>> {
    let first = forecasts.policies.first();
    let lost = first.map_or(&[][..], |forecast| &forecast.zone_lost);
    lost.iter().take(MOST_ZONES).map(|lost| Arc::clone(&lost.zone)).collect()
}

fn option(forecast: &Forecast, current: Policy) -> Choice {
    Choice {
        policy: forecast.policy.as_str(),
        is_current: forecast.policy == current,
        limit: limit(forecast),
    }
}

fn limit(forecast: &Forecast) -> Option<String> {
    let cannot = forecast.cannot_act.as_ref().map(|why| why.message.clone());
    cannot.or_else(|| forecast.needs.as_ref().map(|needs| needs.message.clone()))
}

fn label(wish: &Wish) -> String {
    let policy = wish.policy.map(|policy| format!("policy {policy}"));
    let replicas = wish.replicas.map(|n| format!("{n} replicas"));
    let lose = wish.lose.as_deref().map(|zone| format!("without {}", zone_label(zone)));
    let parts: Vec<String> = [policy, replicas, lose].into_iter().flatten().collect();
    format!("Then: {}", parts.join(", "))
}

/// Only a policy has a command: nobody should copy one that drains a zone.
fn command(service: &Service, current: Policy, wish: &Wish) -> Option<String> {
    let policy = wish.policy.filter(|policy| *policy != current)?;
    let patch = serde_json::to_string(&patch(service, policy, Gates::ALL_ON)).ok()?;
    let ServiceKey { namespace, name } = &service.key;
    Some(format!(
        "kubectl patch svc {} -n {} --type merge -p {}",
        quoted(name),
        quoted(namespace),
        quoted(&patch)
    ))
}

/// One word of a POSIX shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// There is a forecast for each policy; without one, nothing is served as far as is known.
fn nothing() -> Figures {
    Figures {
        in_zone_share: 0.0,
        cross_zone_share: 0.0,
        unknown_zone_share: 0.0,
        regions: None,
        unserved_share: 1.0,
        max_load: 0.0,
        busiest_endpoint: None,
        cross_zone_gb: None,
        cost: None,
    }
}

// === impl Outcome ===

impl Outcome {
    fn new(label: String, figure: Option<Figure>, figures: Figures) -> Outcome {
        let is_served = figures.unserved_share < 1.0;
        let bar = |label, kind, known: bool, ratio: f64, scale: f64| Bar {
            label,
            text: if known { percent(ratio) } else { "unknown".to_owned() },
            length: if known { (ratio / scale * 1000.0).round().min(1000.0) / 10.0 } else { 0.0 },
            kind,
        };
        let placed = is_served && is_placed(&figures);
        let load = "busiest endpoint, of its fair share";
        let bars = vec![
            bar("stays in its zone", "near", placed, figures.in_zone_share, 1.0),
            bar("crosses zones", "cross", placed, figures.cross_zone_share, 1.0),
            bar("finds no endpoint", "bad", true, figures.unserved_share, 1.0),
            bar(load, "load", is_served, figures.max_load, FULL_LOAD),
        ];
        Outcome { label, basis: Basis::Predicted, figure, figures, bars }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_quoted() {
        for (word, wanted) in [("web", "web"), ("", "''"), ("a'; rm", r"'a'\''; rm'")] {
            assert_eq!(quoted(word), wanted);
        }
    }

    #[test]
    fn without_anybody_served_shares_are_unknown() {
        let outcome = Outcome::new(String::new(), None, nothing());
        let texts: Vec<&str> = outcome.bars.iter().map(|bar| bar.text.as_str()).collect();
        assert_eq!(texts, ["unknown", "unknown", "100 %", "unknown"]);
    }
}
