//! Few writes, few endpoints away from their zone, few changes: compared with brute force over
//! small inputs.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{Endpoint, Few, Hints, ZoneId};
use evenkeel_testkit::{Cluster, World, service};
use evenkeel_topology::{
    Capacity, Plan, Settings,
    auto::{
        bounds, in_force,
        least_change::{Position, assign},
    },
    capacity::NO_ZONE,
    overload::is_overloaded,
    plan::HintOutcome,
};
use proptest::prelude::*;

use crate::{
    brute_force::{Cost, Movable, best, fewest_slices},
    generate::{ZONES, auto_spec, config},
    spec::{PodState, Spec},
};

/// No slice is written for locality alone.
const NEVER: f64 = 10.0;

/// The hints of all endpoints, by the name of their Pod.
type HintsByPod = BTreeMap<String, Option<Hints>>;

fn hints_by_pod(world: &World) -> HintsByPod {
    let endpoints = world.endpoints();
    endpoints.map(|e| (pod_of(e), e.hints.clone())).collect()
}

fn pod_of(endpoint: &Endpoint) -> String {
    endpoint.target.as_ref().expect("of a Pod").name.to_string()
}

/// A zone's index, if it has capacity.
fn index(zone: Option<ZoneId>, capacity: &Capacity) -> Option<usize> {
    let index = capacity.index_of(zone?);
    (index != NO_ZONE).then_some(usize::from(index))
}

/// The index of the zone that a hint names, if the hint could stay.
fn zone_of(hints: Option<&Hints>, capacity: &Capacity) -> Option<usize> {
    let Some(Hints { zones: Few::One(zone), nodes: Few::None }) = hints else {
        return None;
    };
    index(Some(*zone), capacity)
}

/// A world whose Pods are all ready, and what one sync made of it.
struct Outcome {
    before: World,
    after: World,
    plan: Plan,
    capacity: Capacity,
    minimums: Vec<u32>,
}

/// `None`: there are no hints.
fn sync(world: &World, locality_threshold: f64) -> Option<Outcome> {
    let mut before = world.clone();
    before.settings.locality_threshold = locality_threshold;
    let mut after = before.clone();
    let plan = after.sync();
    let HintOutcome::Auto(counts) = &plan.families[0].hints else {
        return None;
    };
    let capacity = before.cluster.measure(&before.settings).expect("hinted");
    let threshold = before.settings.threshold(in_force(before.endpoints()));
    assert!(!is_overloaded(counts, Some(&capacity), threshold));
    let n = u32::try_from(after.endpoints().count()).expect("few Pods");
    let bounds = bounds(&capacity, n, threshold).expect("hinted");
    let minimums = bounds.iter().map(|b| b.minimum).collect();
    Some(Outcome { before, after, plan, capacity, minimums })
}

impl Outcome {
    /// What the hints of written slices cost, and the least they could.
    fn cost(&self) -> (Cost, Cost) {
        let had = hints_by_pod(&self.before);
        let mut fixed = vec![0; self.minimums.len()];
        let (mut movable, mut given) = (Vec::new(), Vec::new());
        for slice in &self.after.slices {
            for endpoint in &slice.endpoints {
                let zone = zone_of(endpoint.hints.as_ref(), &self.capacity).expect("hinted");
                if self.plan.unchanged.contains(&slice.name) {
                    fixed[zone] += 1;
                    continue;
                }
                let home = index(endpoint.zone, &self.capacity);
                let before = had.get(&pod_of(endpoint)).and_then(Option::as_ref);
                movable.push(Movable { home, hinted: zone_of(before, &self.capacity) });
                given.push(zone);
            }
        }
        costs(&movable, &given, &fixed, &self.minimums)
    }

    /// Slices that are written although nothing but hints changed in them and all hints could
    /// stay, and how few it could have been.
    fn written_for_minimums(&self) -> (usize, usize) {
        let anyway = self.written_anyway();
        let others = self.before.slices.iter().filter(|s| !anyway.contains(&*s.name));
        let zone = |e: &Endpoint| zone_of(e.hints.as_ref(), &self.capacity).expect("it can stay");
        let hints: Vec<Vec<usize>> =
            others.clone().map(|s| s.endpoints.iter().map(zone).collect()).collect();
        let movable = self.after.endpoints().count() - hints.iter().map(Vec::len).sum::<usize>();
        let movable = u32::try_from(movable).expect("few Pods");
        let written = others.filter(|s| !self.plan.unchanged.contains(&s.name));
        (written.count(), fewest_slices(movable, &hints, &self.minimums))
    }

    /// The slices that would be written if there were no policy and no hints, and those with a
    /// hint that can't stay.
    fn written_anyway(&self) -> BTreeSet<String> {
        let mut plain = self.before.clone();
        plain.service = service("web");
        let endpoints = plain.slices.iter_mut().flat_map(|s| &mut s.endpoints);
        endpoints.for_each(|e| e.hints = None);
        let plan = plain.plan();
        let stays = |e: &Endpoint| zone_of(e.hints.as_ref(), &self.capacity).is_some();
        let slices = self.before.slices.iter();
        let written =
            slices.filter(|s| !plan.unchanged.contains(&s.name) || !s.endpoints.iter().all(stays));
        written.map(|s| s.name.to_string()).collect()
    }

    /// Endpoints away beyond those of hints given from nothing, under either threshold.
    fn excess(&self) -> usize {
        let Settings { assign_threshold, keep_threshold, .. } = self.before.settings;
        let anew = [assign_threshold, keep_threshold].into_iter().filter_map(|threshold| {
            let mut anew = self.before.clone();
            anew.slices.clear();
            anew.settings.assign_threshold = threshold;
            anew.settings.max_endpoints_per_slice = 100;
            let plan = anew.sync();
            let hinted = matches!(plan.families[0].hints, HintOutcome::Auto(_));
            hinted.then(|| away(&anew, &self.capacity))
        });
        away(&self.after, &self.capacity).saturating_sub(anew.max().unwrap_or(0))
    }
}

/// What it costs to hint `movable` for the zones `given`, and the least it could: each zone with an
/// endpoint of another keeps its number of hints, and every zone has its minimum.
fn costs(movable: &[Movable], given: &[usize], fixed: &[u32], minimums: &[u32]) -> (Cost, Cost) {
    let pairs = || movable.iter().zip(given.iter().copied());
    let mut held = fixed.to_vec();
    given.iter().for_each(|&zone| held[zone] += 1);
    let mut floors = minimums.to_vec();
    pairs()
        .filter(|(m, zone)| m.home != Some(*zone))
        .for_each(|(_, zone)| floors[zone] = held[zone]);
    let is_away = |(m, zone): &(&Movable, usize)| m.home.is_some_and(|home| home != *zone);
    let cost = Cost {
        away: pairs().filter(is_away).count(),
        changes: pairs().filter(|(m, zone)| m.hinted != Some(*zone)).count(),
    };
    (cost, best(movable, fixed, &floors).expect("one way was found"))
}

fn away(world: &World, capacity: &Capacity) -> usize {
    let is_away = |e: &&Endpoint| {
        let home = index(e.zone, capacity);
        home.is_some() && home != zone_of(e.hints.as_ref(), capacity)
    };
    world.endpoints().filter(is_away).count()
}

/// A world as drawn, or with one Pod more after its first sync.
fn worlds() -> impl Strategy<Value = World> {
    (auto_spec(), prop::option::of(0..2usize)).prop_map(|(spec, more)| {
        let mut world = spec.build();
        if let Some(zone) = more {
            world.sync();
            world.add_pods(ZONES[zone], 1);
        }
        world
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_assignment_is_more_local_and_none_as_local_changes_fewer_hints(world in worlds()) {
        if let Some(outcome) = sync(&world, NEVER) {
            let (cost, best) = outcome.cost();
            prop_assert_eq!(cost, best);
        }
    }

    #[test]
    fn nor_is_any_when_slices_are_written_for_locality(world in worlds()) {
        if let Some(outcome) = sync(&world, 0.0) {
            let (cost, best) = outcome.cost();
            prop_assert_eq!(cost, best);
        }
    }

    #[test]
    fn no_more_slices_are_written_for_hints_than_minimums_demand(world in worlds()) {
        if let Some(outcome) = sync(&world, NEVER) {
            let (written, fewest) = outcome.written_for_minimums();
            prop_assert!(written <= fewest, "{} of {}", written, fewest);
        }
    }

    #[test]
    fn slices_are_written_for_locality_only_beyond_the_threshold(
        world in worlds(),
        threshold in prop::sample::select(vec![0.0, 0.1, 0.2, 0.4]),
    ) {
        let (Some(never), Some(with)) = (sync(&world, NEVER), sync(&world, threshold)) else {
            return Ok(());
        };
        let allowed = threshold * world.pods.len() as f64;
        if never.excess() as f64 <= allowed {
            prop_assert_eq!(never.plan, with.plan);
        } else {
            prop_assert!(with.excess() as f64 <= allowed / 2.0, "{} of {}", with.excess(), allowed);
        }
    }

    #[test]
    fn planning_twice_changes_nothing_at_any_threshold(
        world in worlds(),
        threshold in prop::sample::select(vec![0.0, 0.1, 0.2, 0.4]),
    ) {
        if let Some(mut outcome) = sync(&world, threshold) {
            let again = outcome.after.sync();
            prop_assert!(again.is_empty(), "{:?}", again);
        }
    }

    #[test]
    fn from_no_hints_both_profiles_give_the_same(
        mut spec in auto_spec(),
        new in any::<bool>(),
    ) {
        forget_hints(&mut spec);
        all_new_or_all_there(&mut spec, new);
        if let Some([ours, theirs]) = in_both_profiles(spec) {
            prop_assert_eq!(hints_by_pod(&ours), hints_by_pod(&theirs));
        }
    }

    #[test]
    fn from_no_hints_both_profiles_give_zones_the_same_number(mut spec in auto_spec()) {
        forget_hints(&mut spec);
        if let Some([ours, theirs]) = in_both_profiles(spec) {
            prop_assert_eq!(ours.hinted(), theirs.hinted());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Zones that receive from several others, and give to several: which hints stay is a flow.
    #[test]
    fn nor_is_any_between_four_zones(
        cores in [1..9u64, 1..9u64, 1..9u64, 1..9u64],
        drawn in prop::collection::vec((0..5u16, 0..5u16), 4..8),
    ) {
        let nodes: Vec<(&str, u64)> = ZONES.into_iter().zip(cores).collect();
        let capacity = Cluster::of(&nodes).measure(&Settings::default()).expect("four zones");
        let n = u32::try_from(drawn.len()).expect("few endpoints");
        let Ok(bounds) = bounds(&capacity, n, 0.3) else { return Ok(()) };
        let zone = |z: u16| if z < 4 { z } else { NO_ZONE };
        let place = |&(home, hinted): &(u16, u16)| Position { home: zone(home), hinted: zone(hinted) };
        let places: Vec<Position> = drawn.iter().map(place).collect();
        let given: Vec<usize> = assign(&places, &bounds).into_iter().map(usize::from).collect();
        let known = |zone| (zone != NO_ZONE).then_some(usize::from(zone));
        let movable = |p: &Position| Movable { home: known(p.home), hinted: known(p.hinted) };
        let movable: Vec<Movable> = places.iter().map(movable).collect();
        let minimums: Vec<u32> = bounds.iter().map(|b| b.minimum).collect();
        let (cost, best) = costs(&movable, &given, &[0; 4], &minimums);
        prop_assert_eq!(cost, best);
    }
}

/// The spec, planned in the default profile and in the kubernetes profile, if the latter brings
/// every zone to its minimum.
fn in_both_profiles(spec: Spec) -> Option<[World; 2]> {
    let mut ours = spec.build();
    let mut theirs = Spec { kubernetes: true, ..spec }.build();
    ours.sync();
    let plan = theirs.sync();
    if let HintOutcome::Auto(counts) = &plan.families[0].hints {
        let capacity = theirs.cluster.measure(&theirs.settings).expect("hinted");
        let threshold = theirs.settings.assign_threshold;
        if is_overloaded(counts, Some(&capacity), threshold) {
            return None;
        }
    }
    Some([ours, theirs])
}

/// Takes all hints off, and moves Pods out of the zone without capacity.
fn forget_hints(spec: &mut Spec) {
    for entry in spec.slices.iter_mut().flat_map(|s| &mut s.entries) {
        entry.for_zones.clear();
        entry.for_node = None;
    }
    let n_counted = spec.nodes.iter().filter(|n| n.counted).count();
    for pod in &mut spec.pods {
        pod.node %= n_counted;
    }
}

/// With old and new slices side by side Kubernetes begins with the new ones, and so gives away
/// other endpoints.
fn all_new_or_all_there(spec: &mut Spec, new: bool) {
    if new {
        spec.slices.clear();
        return;
    }
    let entries = spec.slices.iter().flat_map(|s| &s.entries);
    let there: Vec<usize> = entries.map(|entry| entry.pod).collect();
    for (index, pod) in spec.pods.iter_mut().enumerate() {
        if !there.contains(&index) {
            pod.state = PodState::Succeeded;
        }
    }
}
