//! The page about the whole cluster: zones with their nodes, traffic between them, and Services, those
//! in trouble first.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use evenkeel_model::{Node, NodeId, ServiceKey, ServiceState};
use evenkeel_topology::{analyze::Severity, explain::From, whatif::Figures};
use serde::Serialize;

use super::{
    Scene,
    figure::Figure,
    findings::FindingView,
    flows::{self, Target},
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
    rank: Rank,
}

/// Those in trouble first, then the most loaded.
type Rank = (Reverse<Option<Severity>>, Reverse<u64>);

/// What is added up over Services.
#[derive(Default)]
struct Sums {
    /// By zones of clients and of endpoints.
    flows: BTreeMap<(Arc<str>, Arc<str>), f64>,
    drawn: usize,
    in_zone: f64,
    serving: usize,
    worst: Option<Worst>,
}

pub(super) fn page(scene: &Scene<'_>) -> ClusterPage {
    let mut sums = Sums::default();
    let states = scene.snapshot.services.iter();
    let mut services: Vec<ServiceRow> = states.map(|state| sums.take(scene, state)).collect();
    let all = services.len();
    let troubled = services.iter().filter(|row| row.trouble.is_some()).count();
    services.sort_by(|a, b| {
        (&a.rank, &a.namespace, &a.service).cmp(&(&b.rank, &b.namespace, &b.service))
    });
    services.truncate(MOST_SERVICES);
    let found = scene.context.cluster_findings();
    let findings: Vec<FindingView> =
        found.iter().take(MOST_FINDINGS).map(FindingView::from).collect();
    let zones = zones(scene);
    let in_zone = (sums.serving > 0).then(|| sums.in_zone / sums.serving as f64);
    let mut page = ClusterPage {
        sentence: sentence(in_zone, all, troubled),
        in_zone: Number::maybe(in_zone),
        troubled,
        all,
        figure_note: note(&sums, all),
        figure: traffic::between_zones(&sums.by_name(), &zones),
        worst: sums.worst,
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

/// Whether figures say anything: somebody sends, and somebody serves.
pub(super) fn is_served(scene: &Scene<'_>, figures: &Figures) -> bool {
    !scene.scenario.client_zones().is_empty() && figures.unserved_share < 1.0
}

/// The share that stays in its zone. Where no traffic is between known zones, it is unknown, not zero.
pub(super) fn in_zone(scene: &Scene<'_>, figures: &Figures) -> Option<f64> {
    (is_served(scene, figures) && is_placed(figures)).then_some(figures.in_zone_share)
}

/// Whether some traffic is between known zones.
pub(super) fn is_placed(figures: &Figures) -> bool {
    figures.in_zone_share + figures.cross_zone_share > 0.0
}

// === impl Sums ===

impl Sums {
    fn take(&mut self, scene: &Scene<'_>, state: &ServiceState) -> ServiceRow {
        let explanation = scene.context.explain(state, &From::default());
        let (policy, figures) = scene.scenario.now(state);
        let served = is_served(scene, &figures);
        self.add_flows(&flows::clients(&explanation));
        let near = in_zone(scene, &figures);
        if let Some(share) = near {
            self.in_zone += share;
            self.serving += 1;
        }
        if served {
            self.compare(state, &figures);
        }
        let own = |finding: &&evenkeel_topology::analyze::Finding| {
            finding.object.kind == "Service" && finding.severity > Severity::Info
        };
        let mut findings = explanation.findings.iter().filter(own);
        let trouble = findings.next().map(FindingView::from);
        let load = served.then_some(figures.max_load);
        ServiceRow {
            namespace: Arc::clone(&explanation.namespace),
            service: Arc::clone(&explanation.service),
            label: label(&explanation.namespace, &explanation.service),
            policy: policy.as_str(),
            ready: explanation.families.iter().map(|family| family.ready).max().unwrap_or(0),
            in_zone: Number::maybe(near),
            load: Number::maybe(load),
            rank: rank(trouble.as_ref(), load),
            trouble,
            more: findings.count(),
        }
    }

    fn by_name(&self) -> traffic::Flows<'_> {
        self.flows.iter().map(|((from, to), amount)| ((from, to), *amount)).collect()
    }

    fn add_flows(&mut self, clients: &[flows::Clients]) {
        let mut is_drawn = false;
        for from in clients {
            let Some(part) = from.part else { continue };
            for to in &from.to {
                let (Target::Zone(zone) | Target::OwnNodes(zone)) = &to.to;
                let pair = (Arc::clone(&from.zone), Arc::clone(zone));
                *self.flows.entry(pair).or_default() += part * to.share;
                is_drawn = true;
            }
        }
        self.drawn += usize::from(is_drawn);
    }

    fn compare(&mut self, state: &ServiceState, figures: &Figures) {
        let busiest = self.worst.as_ref().and_then(|worst| worst.load.value).unwrap_or(0.0);
        if figures.max_load <= busiest {
            return;
        }
        let endpoint = figures.busiest_endpoint.as_ref();
        let ServiceKey { namespace, name } = &state.service.key;
        self.worst = Some(Worst {
            namespace: Arc::clone(namespace),
            service: Arc::clone(name),
            label: label(namespace, name),
            load: Number::predicted(figures.max_load),
            endpoint: endpoint.map(|name| shown(&name.address)).unwrap_or_default(),
        });
    }
}

fn label(namespace: &str, name: &str) -> String {
    format!("{}/{}", shown(namespace), shown(name))
}

fn rank(trouble: Option<&FindingView>, load: Option<f64>) -> Rank {
    // In thousandths: loads that look alike rank alike.
    let load = load.map_or(0, |load| (load * 1000.0).round() as u64);
    (Reverse(trouble.map(|finding| finding.severity)), Reverse(load))
}

// === impl ClusterPage ===

impl ClusterPage {
    fn count(&self) -> usize {
        let nodes: usize = self.zones.iter().map(|zone| 3 + zone.shown.len()).sum();
        let rows = SERVICE_MARKS * self.services.len() + self.findings.len();
        nodes + rows + self.figure.marks()
    }
}
