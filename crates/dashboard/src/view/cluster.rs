//! The page about the whole cluster: zones with their nodes, traffic between them, and Services, those
//! in trouble first.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use evenkeel_model::{Node, NodeId};
use evenkeel_topology::analyze::Severity;
use serde::Serialize;

use super::{
    Scene,
    figure::Figure,
    findings::FindingView,
    summary::{Summary, Sums},
    traffic,
    words::{Number, count, percent, shown, zone_label},
};

/// Zones that are listed with their nodes.
const MOST_ZONES: usize = 40;
/// Nodes that are listed by name, in all zones together.
const MOST_NODES: usize = 200;
const MOST_SERVICES: usize = 100;
const MOST_FINDINGS: usize = 20;
/// Elements of a Service's row: itself, its bar, its trouble.
const SERVICE_MARKS: usize = 4;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPage {
    pub sentence: String,
    pub in_zone: Number,
    /// Services that have a finding, of all.
    pub troubled: usize,
    pub all: usize,
    /// The part that stayed in its zone of what proxies counted.
    pub measured: Number,
    pub measured_note: String,
    pub worst: Option<Worst>,
    pub zones: Vec<ZoneLane>,
    pub zones_left_out: usize,
    pub figure: Figure,
    /// What the figure rests on.
    pub figure_note: String,
    pub services: Vec<ServiceRow>,
    pub services_left_out: usize,
    /// About nodes and zones.
    pub findings: Vec<FindingView>,
    pub findings_left_out: usize,
    /// Elements that the page needs.
    pub marks: usize,
}

/// The busiest endpoint of the cluster, against its fair share.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worst {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub label: String,
    pub load: Number,
    pub endpoint: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneLane {
    pub label: String,
    pub cpu: String,
    /// Of the CPU of all zones.
    pub part: Number,
    /// 0 to 100: the length of its bar.
    pub bar: f64,
    pub ready: usize,
    pub nodes: usize,
    pub shown: Vec<NodeMark>,
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeMark {
    pub name: String,
    pub cpu: String,
    /// `ready`, `not ready`, `cordoned` or `control plane`.
    pub state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRow {
    /// As in links; not shortened.
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub label: String,
    pub policy: &'static str,
    pub ready: usize,
    pub in_zone: Number,
    pub load: Number,
    /// The most serious finding.
    pub trouble: Option<FindingView>,
    pub more: usize,
    #[serde(skip)]
    pub(super) rank: Rank,
}

/// Those in trouble first, then the most loaded.
pub(super) type Rank = (Reverse<Option<Severity>>, Reverse<u64>);

/// O(Services · log of those that are shown + nodes).
pub(super) fn page(scene: &Scene<'_>, summaries: &[Arc<Summary>]) -> ClusterPage {
    let sums = Sums::of(summaries, &scene.snapshot.topology.zones);
    let all = summaries.len();
    let services: Vec<ServiceRow> = first(summaries).into_iter().cloned().collect();
    let troubled = summaries.iter().filter(|summary| summary.row.trouble.is_some()).count();
    let found = scene.context.cluster_findings();
    let findings: Vec<FindingView> =
        found.iter().take(MOST_FINDINGS).map(FindingView::from).collect();
    let zones = zones(scene);
    let in_zone = sums.in_zone();
    let mut page = ClusterPage {
        sentence: sentence(in_zone, all, troubled),
        in_zone: Number::maybe(in_zone),
        troubled,
        all,
        measured: scene.measured.in_zone_of_all(),
        measured_note: scene.measured.basis_of_all(),
        figure_note: note(&sums, all),
        figure: traffic::between_zones(&sums.flows, &zones),
        worst: sums.worst.cloned(),
        zones_left_out: zones.len().saturating_sub(MOST_ZONES),
        zones: zones.into_iter().take(MOST_ZONES).collect(),
        services_left_out: all - services.len(),
        services,
        findings_left_out: found.len() - findings.len(),
        findings,
        marks: 0,
    };
    page.marks = page.count();
    page
}

/// Those that are shown.
fn first(summaries: &[Arc<Summary>]) -> Vec<&ServiceRow> {
    let mut rows: Vec<&ServiceRow> = summaries.iter().map(|summary| &summary.row).collect();
    let by_rank = |a: &&ServiceRow, b: &&ServiceRow| {
        (&a.rank, &a.namespace, &a.service).cmp(&(&b.rank, &b.namespace, &b.service))
    };
    if rows.len() > MOST_SERVICES {
        rows.select_nth_unstable_by(MOST_SERVICES, by_rank);
        rows.truncate(MOST_SERVICES);
    }
    rows.sort_unstable_by(by_rank);
    rows
}

fn sentence(in_zone: Option<f64>, services: usize, troubled: usize) -> String {
    let traffic = match in_zone {
        None if services == 0 => "There are no Services".to_owned(),
        None => "Where traffic goes is unknown".to_owned(),
        Some(share) => format!("{} of traffic stays in its zone", percent(share)),
    };
    match (services, troubled) {
        (0, _) => traffic + ".",
        (_, 0) => format!("{traffic}; no Service needs attention."),
        (_, 1) => format!("{traffic}; 1 of {} needs attention.", count(services, "Service")),
        (_, n) => format!("{traffic}; {n} of {} need attention.", count(services, "Service")),
    }
}

fn note(sums: &Sums, services: usize) -> String {
    let mut note =
        "Predicted: each Service counts alike, and clients send in proportion to the CPU \
                    of their zone."
            .to_owned();
    if sums.drawn < services {
        let left = count(services - sums.drawn, "Service");
        note += &format!(" Not drawn: {left} without an endpoint in use or a known client zone.");
    }
    note
}

fn zones(scene: &Scene<'_>) -> Vec<ZoneLane> {
    let topology = &scene.snapshot.topology;
    let mut by_zone: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in &scene.snapshot.nodes {
        let zone = node.zone.map_or("", |zone| topology.zones.name(zone));
        by_zone.entry(zone).or_default().push(node);
    }
    let each = MOST_NODES / by_zone.len().clamp(1, MOST_ZONES);
    let parts = scene.scenario.client_zones();
    let lane = |(zone, nodes): (&str, Vec<&Node>)| {
        let part = parts.iter().find(|(name, _)| **name == *zone).map(|(_, part)| *part);
        let counted = nodes.iter().filter(|node| node.ready && !node.control_plane);
        let mark = |node: &&Node| NodeMark {
            name: shown(topology.nodes.name(node.id)),
            cpu: cores(node.cpu_milli),
            state: state(node, &scene.snapshot.cordoned),
        };
        ZoneLane {
            label: zone_label(zone),
            cpu: cores(counted.clone().map(|node| node.cpu_milli).sum()),
            bar: part.map_or(0.0, |part| (part * 1000.0).round() / 10.0),
            part: Number::maybe(part),
            ready: counted.count(),
            nodes: nodes.len(),
            shown: nodes.iter().take(each).map(mark).collect(),
            left_out: nodes.len().saturating_sub(each),
        }
    };
    by_zone.into_iter().map(lane).collect()
}

fn state(node: &Node, cordoned: &[NodeId]) -> &'static str {
    match node {
        _ if !node.ready => "not ready",
        _ if node.control_plane => "control plane",
        _ if cordoned.contains(&node.id) => "cordoned",
        _ => "ready",
    }
}

/// A node that does not report its CPU has an unknown amount, not none.
fn cores(milli: u64) -> String {
    match milli {
        0 => "CPU unknown".to_owned(),
        milli => format!("{} CPU", (milli as f64 / 100.0).round() / 10.0),
    }
}

// === impl ClusterPage ===

impl ClusterPage {
    fn count(&self) -> usize {
        let nodes: usize = self.zones.iter().map(|zone| 3 + zone.shown.len()).sum();
        let rows = SERVICE_MARKS * self.services.len() + self.findings.len();
        nodes + rows + self.figure.marks()
    }
}
