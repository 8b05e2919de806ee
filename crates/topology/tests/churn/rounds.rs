//! Rounds of churn on two worlds that differ only in how hints are assigned.

use std::collections::BTreeMap;

use evenkeel_model::{Endpoint, Hints};
use evenkeel_testkit::{Cluster, ServiceExt, World, service, sim::Rng};
use evenkeel_topology::{Assignment, Plan, Settings, plan::HintOutcome};

const ZONES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    /// The cores of each zone, on two nodes each.
    pub(crate) cores: [u64; 3],
    /// How likely a Pod is in each zone at first, in percent.
    pub(crate) at_first: [usize; 3],
    /// How likely a new Pod is in each zone, in percent.
    pub(crate) spread: [usize; 3],
    pub(crate) pods: usize,
    pub(crate) replaced: usize,
    pub(crate) max_per_slice: usize,
    /// By how many Pods the Service grows and shrinks.
    pub(crate) scaled: usize,
    /// Whether nodes lose and regain most of their cores.
    pub(crate) node_changes: bool,
}

impl Scenario {
    /// 90 endpoints in two slices, 15 Pods replaced a round, equal zones.
    pub(crate) const EVEN: Scenario = Scenario {
        cores: [4, 4, 4],
        at_first: [33, 33, 34],
        spread: [33, 33, 34],
        pods: 90,
        replaced: 15,
        max_per_slice: 50,
        scaled: 0,
        node_changes: false,
    };
}

/// What rounds cost, in sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Rounds in which there were hints.
    pub(crate) hinted: usize,
    pub(crate) away: usize,
    /// Slices written.
    pub(crate) writes: usize,
    /// Hints of endpoints that stayed, changed.
    pub(crate) changes: usize,
}

/// Settings that differ from the default in nothing but the assignment.
pub(crate) fn whole_slices() -> Settings {
    Settings { assignment: Assignment::WholeSlices, ..Settings::default() }
}

pub(crate) fn run(scenario: &Scenario, settings: &Settings, seed: u64, rounds: usize) -> Vec<Cost> {
    let mut rng = Rng::new(seed);
    let mut world = world(scenario, settings, &mut rng);
    world.sync();
    (0..rounds).map(|round| one_round(scenario, &mut world, round, &mut rng)).collect()
}

fn world(scenario: &Scenario, settings: &Settings, rng: &mut Rng) -> World {
    let nodes = ZONES.iter().zip(scenario.cores).flat_map(|(zone, cores)| [(*zone, cores); 2]);
    let cluster = Cluster::of(&nodes.collect::<Vec<_>>());
    let max_endpoints_per_slice = scenario.max_per_slice;
    let settings = Settings { max_endpoints_per_slice, ..settings.clone() };
    let mut world = World::new(cluster, service("web").auto(), settings);
    add(scenario.at_first, &mut world, scenario.pods, rng);
    world
}

fn one_round(scenario: &Scenario, world: &mut World, round: usize, rng: &mut Rng) -> Cost {
    let before = hints(world);
    let scaled = scenario.scaled;
    let (more, less) = match round % 4 {
        0 => (scaled, 0),
        2 => (0, scaled),
        _ => (0, 0),
    };
    for _ in 0..scenario.replaced + less {
        let gone = rng.below(world.pods.len());
        world.pods.remove(gone);
    }
    add(scenario.spread, world, scenario.replaced + more, rng);
    if scenario.node_changes && round.is_multiple_of(3) {
        let zone = rng.below(3);
        let node = &mut world.cluster.nodes[2 * zone];
        node.cpu_milli = if node.cpu_milli == 1000 { scenario.cores[zone] * 1000 } else { 1000 };
    }
    let plan = world.sync();
    let whole_slices = world.settings.assignment == Assignment::WholeSlices;
    assert!(whole_slices || world.plan().is_empty(), "planning again writes");
    cost(world, &plan, &before)
}

fn add(spread: [usize; 3], world: &mut World, n: usize, rng: &mut Rng) {
    for _ in 0..n {
        let drawn = rng.below(100);
        let [a, b, _] = spread;
        let zone = usize::from(drawn >= a) + usize::from(drawn >= a + b);
        world.add_pods(ZONES[zone], 1);
    }
}

fn cost(world: &World, plan: &Plan, before: &BTreeMap<String, Hints>) -> Cost {
    let away = |e: &&Endpoint| e.zone_hints().first().is_some_and(|zone| Some(*zone) != e.zone);
    let changed = |(pod, hints): &(&String, &Hints)| before.get(*pod).is_some_and(|h| h != *hints);
    Cost {
        hinted: usize::from(matches!(plan.families[0].hints, HintOutcome::Auto(_))),
        away: world.endpoints().filter(away).count(),
        writes: plan.create.len() + plan.update.len() + plan.delete.len(),
        changes: hints(world).iter().filter(changed).count(),
    }
}

fn hints(world: &World) -> BTreeMap<String, Hints> {
    let named = |e: &Endpoint| Some((e.target.as_ref()?.name.to_string(), e.hints.clone()?));
    world.endpoints().filter_map(named).collect()
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        let Cost { hinted, away, writes, changes } = other;
        self.hinted += hinted;
        self.away += away;
        self.writes += writes;
        self.changes += changes;
    }
}
