//! An explanation as text.

use std::{collections::BTreeMap, fmt::Write};

use evenkeel_model::TrafficPolicy;
use evenkeel_topology::{
    DataPlane, NoHints,
    explain::{
        Client, Coverage, EndpointName, ExcludedReason, Explanation, FamilyView, Outcome,
        RuleReason, Status, Traffic, View,
    },
};

use super::shares;
use crate::{
    analyze::finding,
    printer::{BAD, CARE, DIM, GOOD, HEADING, styled},
    table::{Table, percent},
};

/// Endpoints of a view that are listed, unless `wide` shows all.
pub(super) const LISTED: usize = 10;

/// On the command line nodes are not unknown *yet*: the input lacks them.
const NO_NODES: &str = "the input has no Nodes";

pub(crate) fn render(explanation: &Explanation, wide: bool) -> String {
    let mut text = String::new();
    head(explanation, &mut text);
    problems(explanation, &mut text);
    zones(explanation, &mut text);
    shares::regions(explanation, &mut text);
    for family in &explanation.families {
        family_text(family, wide, &mut text);
    }
    checks(explanation, &mut text);
    warnings(explanation, &mut text);
    let _ = writeln!(text, "\n{}", styled(HEADING, "WHAT TO DO"));
    let _ = writeln!(text, "  {}", explanation.advice.message);
    if let Some(alternative) = &explanation.alternative {
        let _ = writeln!(text, "  {}", alternative.message);
    }
    text
}

fn head(explanation: &Explanation, text: &mut String) {
    let Explanation { namespace, service, policy, because, .. } = explanation;
    let name = styled(HEADING, format_args!("{namespace}/{service}"));
    let _ = writeln!(text, "{name}: policy {policy} ({})", because.message);
    let DataPlane { hints, routing } = &explanation.data_plane;
    for (what, rules) in [("hints:  ", hints), ("routing:", routing)] {
        let _ = writeln!(text, "  {what}  {} rules ({})", rules.profile, rules.because.message);
    }
    let _ = writeln!(text, "  server:   {}", explanation.server);
    if let Some(in_force) = &explanation.in_force {
        let _ = writeln!(text, "  nodes:    {}", in_force.message);
    }
    let local = |policy: TrafficPolicy| policy == TrafficPolicy::Local;
    if local(explanation.internal_traffic_policy) {
        let _ = writeln!(text, "  internalTrafficPolicy: Local");
    }
    if explanation.external_traffic_policy.is_some_and(local) {
        let _ = writeln!(text, "  externalTrafficPolicy: Local");
    }
}

/// The everyday causes. The other findings are among the checks, warnings and advice below.
fn problems(explanation: &Explanation, text: &mut String) {
    let mut basic = explanation.findings.iter().filter(|f| f.problem.reason.is_basic()).peekable();
    if basic.peek().is_some() {
        let _ = writeln!(text, "\n{}", styled(HEADING, "PROBLEMS"));
    }
    for found in basic {
        let mut lines = String::new();
        finding(found, &mut lines);
        lines.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
}

fn zones(explanation: &Explanation, text: &mut String) {
    if let Some(problem) = &explanation.no_capacity {
        let _ = match &problem.reason {
            NoHints::NodesUnknown => writeln!(text, "\nZone capacity is unknown: {NO_NODES}"),
            NoHints::OneZoneOnly { zone } => {
                writeln!(text, "\nAll ready worker nodes are in one zone, {zone}")
            }
            _ => writeln!(text, "\nZone capacity is unknown: {}", problem.message),
        };
        return;
    }
    let mut table = Table::new(&["ZONE", "NODES", "CPU", "CPU SHARE"]);
    for zone in &explanation.zones {
        table.row([
            zone.name.to_string(),
            zone.nodes.to_string(),
            (zone.cpu_milli as f64 / 1000.0).to_string(),
            percent(zone.ratio),
        ]);
    }
    let _ = write!(text, "\n{}", table.render(""));
}

fn family_text(family: &FamilyView, wide: bool, text: &mut String) {
    let in_force = match family.hints.in_force {
        Coverage::NoEndpoints => "no endpoint is ready",
        Coverage::None => "no endpoint has hints",
        Coverage::Some => "some endpoints have hints",
        Coverage::All => "all endpoints have hints",
    };
    let title = styled(HEADING, family.family);
    let FamilyView { endpoints, ready, .. } = family;
    let noun = if *endpoints == 1 { "endpoint" } else { "endpoints" };
    let _ = writeln!(text, "\n{title}: {endpoints} {noun}, {ready} ready");
    let _ = writeln!(text, "  hints in force:  {in_force}");
    let wanted = match &family.hints.desired.reason {
        Outcome::Refused { why: NoHints::NodesUnknown } => format!("none: {NO_NODES}"),
        _ => family.hints.desired.message.clone(),
    };
    let _ = writeln!(text, "  desired hints:   {wanted}");
    differences(family, wide, text);
    shares::shares(family, wide, text);
    for view in &family.views {
        view_text(view, wide, text);
    }
    if family.nodes_not_shown > 0 {
        let line = format!("  and {} more nodes (--from-node shows one)", family.nodes_not_shown);
        let _ = writeln!(text, "\n{}", styled(DIM, line));
    }
}

fn differences(family: &FamilyView, wide: bool, text: &mut String) {
    let hints = &family.hints;
    let words = |names: &[std::sync::Arc<str>]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let listed = if wide { usize::MAX } else { LISTED };
    for difference in hints.differences.iter().take(listed) {
        let name = name(&difference.endpoint);
        let (has, desired) = (words(&difference.has), words(&difference.desired));
        let _ = writeln!(text, "    {name}: has {has}, desired {desired}");
    }
    more(hints.differences.len(), listed, text);
    if !hints.missing_pods.is_empty() {
        let pods = words(&hints.missing_pods);
        let _ = writeln!(text, "    ready Pods missing from the slices: {pods}");
    }
    if !hints.stale.is_empty() {
        let mut names: Vec<String> = hints.stale.iter().take(listed).map(name).collect();
        if hints.stale.len() > listed {
            names.push(format!("and {} more", hints.stale.len() - listed));
        }
        let _ = writeln!(text, "    endpoints without a Pod: {}", names.join(", "));
    }
}

pub(super) fn more(all: usize, listed: usize, text: &mut String) {
    if all > listed {
        let left = all - listed;
        let line = format!("    and {left} more (-o wide shows all)");
        let _ = writeln!(text, "{}", styled(DIM, line));
    }
}

fn view_text(view: &View, wide: bool, text: &mut String) {
    let share = match view.in_zone_share {
        Some(share) => format!(", {} in zone", percent(share)),
        None => String::new(),
    };
    let client = styled(HEADING, client(view));
    let _ = writeln!(text, "\n  {client}: {}{share}", view.rule.message);
    if let Some(ignored) = &view.shares_ignored {
        let _ = writeln!(text, "    {}", ignored.message);
    }
    let is_all = matches!(view.rule.reason, RuleReason::OwnNodeEndpoints { .. });
    if !view.except_nodes.is_empty() && !is_all {
        let some: Vec<&str> = view.except_nodes.iter().take(LISTED).map(AsRef::as_ref).collect();
        let more = if view.except_nodes.len() > LISTED { " and others" } else { "" };
        let nodes = some.join(", ");
        let _ = writeln!(text, "    on {nodes}{more}: only the endpoints on the node; elsewhere:");
    }
    let listed = if wide { usize::MAX } else { LISTED };
    if !view.uses.is_empty() {
        let mut table = Table::new(&["ENDPOINT", "POD", "NODE", "ZONE", "WEIGHT", "SHARE"]);
        for used in view.uses.iter().take(listed) {
            let rest = [used.weight.to_string(), percent(used.share)];
            table.row(cells(&used.endpoint).into_iter().chain(rest));
        }
        text.push_str(&table.render("    "));
        more(view.uses.len(), listed, text);
    }
    left_out(view, wide, text);
}

fn left_out(view: &View, wide: bool, text: &mut String) {
    if view.excluded.is_empty() {
        return;
    }
    if wide {
        let mut table = Table::new(&["NOT USED", "POD", "NODE", "ZONE", "REASON"]);
        for left in &view.excluded {
            table.row(cells(&left.endpoint).into_iter().chain([left.why.message.clone()]));
        }
        text.push_str(&table.render("    "));
        return;
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for left in &view.excluded {
        let why = match &left.why.reason {
            ExcludedReason::HintedForNodes { .. } => "hinted for other nodes",
            _ => &left.why.message,
        };
        *reasons.entry(why).or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(why, n)| format!("{n} {why}")).collect();
    let line = format!("    not used: {}", reasons.join("; "));
    let _ = writeln!(text, "{}", styled(DIM, line));
}

fn client(view: &View) -> String {
    let client = match &view.client {
        Client::Zone { zone } => format!("from {zone}"),
        Client::NoZone => "from nodes without a zone".to_owned(),
        Client::Node { node, zone: Some(zone) } => format!("from node {node} in {zone}"),
        Client::Node { node, zone: None } => format!("from node {node} without a zone"),
        Client::OtherNodes => "from other nodes".to_owned(),
    };
    let traffic = match view.traffic {
        Traffic::All => "",
        Traffic::Internal => ", internal traffic",
        Traffic::External => ", external traffic",
    };
    format!("{client}{traffic}{}", ports(view))
}

fn ports(view: &View) -> String {
    let word = |name: &str| if name.is_empty() { "without a name" } else { name }.to_owned();
    let names: Vec<String> = view.ports.iter().map(|port| word(port)).collect();
    match names.as_slice() {
        [] => String::new(),
        [port] => format!(", port {port}"),
        ports => format!(", ports {}", ports.join(", ")),
    }
}

fn cells(endpoint: &EndpointName) -> [String; 4] {
    let word = |name: &Option<std::sync::Arc<str>>| match name {
        Some(name) => name.to_string(),
        None => "-".to_owned(),
    };
    let EndpointName { address, pod, node, zone } = endpoint;
    [address.clone(), word(pod), word(node), word(zone)]
}

fn name(endpoint: &EndpointName) -> String {
    match &endpoint.pod {
        Some(pod) => format!("{pod} ({})", endpoint.address),
        None => endpoint.address.clone(),
    }
}

fn checks(explanation: &Explanation, text: &mut String) {
    let _ = writeln!(text, "\n{}", styled(HEADING, "CHECKS"));
    for check in &explanation.checks {
        let (style, word) = match check.status {
            Status::Ok => (GOOD, "ok"),
            Status::Failed => (BAD, "FAILED"),
            Status::NotApplicable => (DIM, "–"),
            Status::Unknown => (DIM, "?"),
        };
        let word = styled(style, format_args!("{word:<6}"));
        let family = check.family.map(|family| format!("{family}: ")).unwrap_or_default();
        let _ = writeln!(text, "  {word}  {family}{}", check.finding.message);
    }
}

fn warnings(explanation: &Explanation, text: &mut String) {
    if explanation.warnings.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", styled(CARE, "WARNINGS"));
    for warning in &explanation.warnings {
        let _ = writeln!(text, "  {}", warning.message);
    }
}
