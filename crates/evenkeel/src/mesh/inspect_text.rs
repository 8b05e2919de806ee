//! What a proxy is told, as text. It is made from JSON, so that a control plane and files are shown alike.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use evenkeel_model::harmless;
use serde::Deserialize;

use crate::{
    printer::{BAD, DIM, HEADING, styled},
    table::{Table, percent},
};

/// Endpoints of a destination that are listed.
const LISTED: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    mesh: String,
    dataplane: String,
    #[serde(default)]
    connected: Option<bool>,
    #[serde(default)]
    listeners: Vec<Listener>,
    destinations: Vec<Destination>,
    #[serde(default)]
    reasons: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Listener {
    address: String,
    #[serde(default)]
    direction: String,
    #[serde(default)]
    routes: Vec<RouteShown>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RouteShown {
    matches: String,
    clusters: Vec<Part>,
    #[serde(default)]
    unavailable: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Part {
    cluster: String,
    share: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Destination {
    cluster: String,
    service: Service,
    #[serde(default)]
    subset: BTreeMap<String, String>,
    #[serde(default)]
    by_topology: bool,
    #[serde(default)]
    place: Place,
    #[serde(default)]
    load_balancer: Option<String>,
    #[serde(default)]
    overprovisioning_factor: Option<u32>,
    /// By kind.
    #[serde(default)]
    policies: Option<BTreeMap<String, Policy>>,
    groups: Vec<Group>,
    errors: f64,
    #[serde(default)]
    without_zone: BTreeMap<String, Lost>,
    #[serde(default)]
    zones_not_shown: usize,
    #[serde(default)]
    reasons: Vec<Reason>,
    #[serde(default)]
    share_reasons: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Service {
    mesh: String,
    kind: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Place {
    zone: Option<String>,
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Policy {
    /// The policy that each field comes from.
    origins: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    priority: u32,
    zone: Option<String>,
    sub_zone: String,
    weight: Option<u32>,
    share: f64,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Deserialize)]
struct Endpoint {
    address: String,
    health: String,
    share: f64,
}

#[derive(Debug, Deserialize)]
struct Lost {
    groups: Vec<Group>,
    errors: f64,
}

#[derive(Debug, Deserialize)]
struct Reason {
    message: String,
}

pub(super) fn render(shown: &Shown) -> String {
    let mut text = String::new();
    let name = styled(HEADING, safe(&format!("{}/{}", shown.mesh, shown.dataplane)));
    let connected = match shown.connected {
        Some(true) => ", connected",
        Some(false) => ", not connected",
        None => "",
    };
    let n = shown.destinations.len();
    let noun = if n == 1 { "destination" } else { "destinations" };
    let _ = writeln!(text, "{name}: {n} {noun}{connected}");
    for reason in &shown.reasons {
        let _ = writeln!(text, "  {}", safe(&reason.message));
    }
    listeners(&shown.listeners, &mut text);
    for to in &shown.destinations {
        destination(to, &mut text);
    }
    text
}

fn listeners(listeners: &[Listener], text: &mut String) {
    let mut table = Table::new(&["OUTBOUND", "REQUESTS", "GO TO"]);
    let outbound = listeners.iter().filter(|listener| listener.direction == "outbound");
    let rows = outbound.flat_map(|listener| {
        let routes = listener.routes.iter();
        routes.map(|route| [listener.address.clone(), matches(route), route.split()])
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return;
    }
    rows.into_iter().for_each(|row| table.row(row));
    let _ = write!(text, "\n{}", table.render(""));
}

fn matches(route: &RouteShown) -> String {
    if route.matches.is_empty() { "all".to_owned() } else { route.matches.clone() }
}

impl RouteShown {
    /// Where it goes, with shares if there are several.
    fn split(&self) -> String {
        match &self.clusters[..] {
            [] => format!("503: {}", self.unavailable.as_deref().unwrap_or("no cluster")),
            [one] => one.cluster.clone(),
            parts => {
                let part = |part: &Part| format!("{} {}", part.cluster, percent(part.share));
                parts.iter().map(part).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn destination(to: &Destination, text: &mut String) {
    let Service { mesh, kind, name } = &to.service;
    let subset: Vec<String> = pairs(&to.subset);
    let with =
        if subset.is_empty() { String::new() } else { format!(" with {}", subset.join(", ")) };
    let heading = styled(HEADING, safe(&to.cluster));
    let _ = writeln!(text, "\n{heading}: {}", safe(&format!("{kind} {mesh}/{name}{with}")));
    let zone = to.place.zone.clone().unwrap_or_else(|| "any zone".to_owned());
    let place: Vec<String> = std::iter::once(zone).chain(pairs(&to.place.tags)).collect();
    let _ = writeln!(text, "  client:     {}", safe(&place.join(", ")));
    if let Some(balancer) = &to.load_balancer {
        let _ = writeln!(text, "  balancing:  {}", safe(balancer));
    }
    if let Some(factor) = to.overprovisioning_factor {
        let threshold = f64::from(10_000_u32) / f64::from(factor.max(1));
        let _ = writeln!(
            text,
            "  failover:   below {threshold:.0} % healthy (overprovisioning factor {factor})"
        );
    }
    policies(to, text);
    groups(to, text);
    if to.by_topology {
        let advice = "`evenkeel plan` predicts the loss of a zone, which hints follow";
        let _ = writeln!(text, "  {}", styled(DIM, advice));
    }
    lost(to, text);
    let reasons = to.reasons.iter().chain(&to.share_reasons);
    let reasons: Vec<String> = reasons.map(|reason| safe(&reason.message)).collect();
    if !reasons.is_empty() {
        let _ = writeln!(text, "  {}", styled(HEADING, "REASONS"));
        reasons.iter().for_each(|reason| text.push_str(&format!("  {reason}\n")));
    }
}

fn policies(to: &Destination, text: &mut String) {
    if to.by_topology {
        let _ = writeln!(text, "  ranking:    the Service's own topology, by no policy");
    }
    let Some(policies) = to.policies.as_ref().filter(|policies| !policies.is_empty()) else {
        if !to.by_topology {
            let _ = writeln!(text, "  policies:   none: own zone first, then all others alike");
        }
        return;
    };
    let mut table = Table::new(&["POLICY", "KIND", "SETS"]);
    for (kind, Policy { origins: fields }) in policies {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        // Fields that hold others say nothing more than these.
        let is_leaf = |field: &str| {
            let mut below = fields.range(format!("{field}.")..).map(|(other, _)| other);
            below.next().is_none_or(|other| !other.starts_with(&format!("{field}.")))
        };
        for (field, policy) in fields.iter().filter(|(field, _)| is_leaf(field)) {
            by_name.entry(policy).or_default().push(field);
        }
        for (name, fields) in by_name {
            table.row([name.to_owned(), kind.clone(), fields.join(", ")]);
        }
    }
    text.push_str(&table.render("  "));
}

fn groups(to: &Destination, text: &mut String) {
    if to.groups.is_empty() {
        let _ = writeln!(text, "  {}", styled(BAD, "no endpoints: all requests get 503"));
        return;
    }
    let mut table = Table::new(&["PRIORITY", "ZONE", "SUB-ZONE", "WEIGHT", "HEALTHY", "SHARE"]);
    let mut by_priority: Vec<&Group> = to.groups.iter().collect();
    by_priority.sort_by_key(|group| (group.priority, std::cmp::Reverse(group.weight)));
    for group in &by_priority {
        let healthy = group.endpoints.iter().filter(|e| e.health == "HEALTHY").count();
        table.row([
            group.priority.to_string(),
            dash(group.zone.as_deref()),
            dash(Some(&group.sub_zone)),
            group.weight.map_or_else(|| "-".to_owned(), |weight| weight.to_string()),
            format!("{healthy} of {}", group.endpoints.len()),
            percent(group.share),
        ]);
    }
    text.push_str(&table.render("  "));
    if to.errors > 0.0 {
        let line = format!("{} of the requests get 503", percent(to.errors));
        let _ = writeln!(text, "  {}", styled(BAD, line));
    }
    endpoints(&by_priority, text);
}

fn endpoints(groups: &[&Group], text: &mut String) {
    let all = groups.iter().flat_map(|group| group.endpoints.iter().map(move |e| (group, e)));
    let all: Vec<_> = all.collect();
    let mut table = Table::new(&["ENDPOINT", "ZONE", "HEALTH", "SHARE"]);
    for (group, endpoint) in all.iter().take(LISTED) {
        let zone = dash(group.zone.as_deref());
        let share = percent(endpoint.share);
        table.row([endpoint.address.clone(), zone, endpoint.health.clone(), share]);
    }
    text.push_str(&table.render("  "));
    if all.len() > LISTED {
        let line = format!("  and {} more (-o json shows all)", all.len() - LISTED);
        let _ = writeln!(text, "{}", styled(DIM, line));
    }
}

fn lost(to: &Destination, text: &mut String) {
    if to.without_zone.is_empty() {
        return;
    }
    let mut table = Table::new(&["IF LOST", "TRAFFIC GOES TO", "503"]);
    for (zone, lost) in &to.without_zone {
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for group in &lost.groups {
            *shares.entry(dash(group.zone.as_deref())).or_default() += group.share;
        }
        let parts = shares.iter().filter(|(_, share)| **share > 0.0);
        let parts = parts.map(|(zone, share)| format!("{zone} {}", percent(*share)));
        let parts: BTreeSet<String> = parts.collect();
        let to = if parts.is_empty() { "-".to_owned() } else { Vec::from_iter(parts).join(", ") };
        table.row([zone.clone(), to, percent(lost.errors)]);
    }
    text.push_str(&table.render("  "));
    if to.zones_not_shown > 0 {
        let line = format!("  and {} more zones", to.zones_not_shown);
        let _ = writeln!(text, "{}", styled(DIM, line));
    }
}

fn pairs(tags: &BTreeMap<String, String>) -> Vec<String> {
    tags.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

fn safe(text: &str) -> String {
    harmless(text).into_owned()
}
