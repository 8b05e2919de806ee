//! What the page about the whole cluster needs of each Service, and what it adds up.
//!
//! Explaining a Service is the expensive part, so that a summary is kept for as long as nothing that it was made
//! of differs. Adding up all of them is cheap, and gives the same sums whichever of them are new.

use std::{cmp::Reverse, sync::Arc};

use evenkeel_model::{Names, ServiceKey, ServiceState, ZoneId};
use evenkeel_topology::{
    analyze::{Finding, Severity},
    explain::From,
    whatif::Figures,
};
use rustc_hash::FxHashMap;

use super::{
    Scene,
    cluster::{Rank, ServiceRow, Worst},
    findings::FindingView,
    flows::{self, Target},
    traffic,
    words::{Number, shown},
};

/// Zones of clients and of endpoints; the empty name is none.
type Pair = (ZoneId, ZoneId);

#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub row: ServiceRow,
    /// Its traffic as parts of 1.
    flows: Vec<(Pair, f64)>,
    in_zone: Option<f64>,
    /// Its busiest endpoint, if somebody is served.
    busiest: Option<Worst>,
}

/// What is added up over Services.
#[derive(Default)]
pub(super) struct Sums<'a> {
    pub flows: traffic::Flows<'a>,
    /// Services with a part in that.
    pub drawn: usize,
    in_zone: f64,
    serving: usize,
    pub worst: Option<&'a Worst>,
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

// === impl Summary ===

impl Summary {
    pub(super) fn new(scene: &Scene<'_>, state: &ServiceState) -> Summary {
        let explanation = scene.context.explain(state, &From::default());
        let (policy, figures) = scene.scenario.now(state);
        let near = in_zone(scene, &figures);
        let load = is_served(scene, &figures).then_some(figures.max_load);
        let key = &state.service.key;
        let own = |finding: &&Finding| {
            let object = &finding.object;
            object.kind == "Service"
                && (object.namespace.as_ref(), &object.name) == (Some(&key.namespace), &key.name)
                && finding.severity > Severity::Info
        };
        let mut findings = explanation.findings.iter().filter(own);
        let trouble = findings.next().map(FindingView::from);
        let row = ServiceRow {
            namespace: Arc::clone(&key.namespace),
            service: Arc::clone(&key.name),
            label: label(key),
            policy: policy.as_str(),
            ready: explanation.families.iter().map(|family| family.ready).max().unwrap_or(0),
            in_zone: Number::maybe(near),
            load: Number::maybe(load),
            rank: rank(trouble.as_ref(), load),
            trouble,
            more: findings.count(),
        };
        let zones = &scene.snapshot.topology.zones;
        Summary {
            flows: flows(&flows::clients(&explanation), zones),
            in_zone: near,
            busiest: load.map(|load| busiest(state, &figures, load)),
            row,
        }
    }
}

fn flows(clients: &[flows::Clients], zones: &Names<ZoneId>) -> Vec<(Pair, f64)> {
    let id = |name: &str| zones.find(name).unwrap_or(ZoneId::EMPTY);
    let known = clients.iter().filter_map(|from| Some((from, from.part?)));
    let flows = known.flat_map(|(from, part)| {
        from.to.iter().map(move |to| {
            let (Target::Zone(zone) | Target::OwnNodes(zone)) = &to.to;
            ((id(&from.zone), id(zone)), part * to.share)
        })
    });
    flows.collect()
}

fn busiest(state: &ServiceState, figures: &Figures, load: f64) -> Worst {
    let endpoint = figures.busiest_endpoint.as_ref();
    Worst {
        namespace: Arc::clone(&state.service.key.namespace),
        service: Arc::clone(&state.service.key.name),
        label: label(&state.service.key),
        load: Number::predicted(load),
        endpoint: endpoint.map(|name| shown(&name.address)).unwrap_or_default(),
    }
}

fn label(key: &ServiceKey) -> String {
    format!("{}/{}", shown(&key.namespace), shown(&key.name))
}

fn rank(trouble: Option<&FindingView>, load: Option<f64>) -> Rank {
    // In thousandths: loads that look alike rank alike.
    let load = load.map_or(0, |load| (load * 1000.0).round() as u64);
    (Reverse(trouble.map(|finding| finding.severity)), Reverse(load))
}

// === impl Sums ===

impl<'a> Sums<'a> {
    pub(super) fn of(summaries: &'a [Arc<Summary>], zones: &'a Names<ZoneId>) -> Sums<'a> {
        let (mut sums, mut by_id) = (Sums::default(), FxHashMap::<Pair, f64>::default());
        for summary in summaries {
            for (pair, amount) in &summary.flows {
                *by_id.entry(*pair).or_default() += amount;
            }
            sums.drawn += usize::from(!summary.flows.is_empty());
            if let Some(share) = summary.in_zone {
                sums.in_zone += share;
                sums.serving += 1;
            }
            sums.compare(summary.busiest.as_ref());
        }
        let named = |((from, to), amount)| ((zones.name(from), zones.name(to)), amount);
        sums.flows = by_id.into_iter().map(named).collect();
        sums
    }

    /// Each Service counts alike.
    pub(super) fn in_zone(&self) -> Option<f64> {
        (self.serving > 0).then(|| self.in_zone / self.serving as f64)
    }

    fn compare(&mut self, busiest: Option<&'a Worst>) {
        let load = |worst: Option<&Worst>| worst.and_then(|worst| worst.load.value).unwrap_or(0.0);
        if load(busiest) > load(self.worst) {
            self.worst = busiest;
        }
    }
}
