//! Hints change no more than they must, compared with brute force over small inputs.

use std::collections::BTreeMap;

use evenkeel_model::{Endpoint, Few, Hints};
use evenkeel_testkit::World;
use evenkeel_topology::{
    Capacity,
    auto::{bounds, in_force},
    capacity::NO_ZONE,
    overload::is_overloaded,
    plan::HintOutcome,
};
use proptest::prelude::*;

use crate::{
    brute_force::fewest_changes,
    generate::{ZONES, auto_spec, config},
    spec::{PodState, Spec},
};

/// The hints of all endpoints, by the name of their Pod.
type HintsByPod = BTreeMap<String, Option<Hints>>;

fn hints_by_pod(world: &World) -> HintsByPod {
    let name = |e: &Endpoint| e.target.as_ref().expect("of a Pod").name.to_string();
    let endpoints = world.endpoints();
    endpoints.map(|e| (name(e), e.hints.clone())).collect()
}

/// The index of the zone that a hint names, if the hint could stay.
fn zone_of(hints: Option<&Hints>, capacity: &Capacity) -> Option<usize> {
    let Some(Hints { zones: Few::One(zone), nodes: Few::None }) = hints else {
        return None;
    };
    Some(capacity.index_of(*zone)).filter(|&idx| idx != NO_ZONE).map(usize::from)
}

/// Plans `world` and returns how many hints changed and how few it could have been, when hints
/// were given. All its Pods are ready.
fn changes(world: &mut World) -> Option<(usize, usize)> {
    let before = hints_by_pod(world);
    let threshold = world.settings.threshold(in_force(world.endpoints()));
    let plan = world.sync();
    let HintOutcome::Auto(counts) = &plan.families[0].hints else {
        return None;
    };
    let capacity = world.cluster.measure(&world.settings).expect("hinted");
    assert!(!is_overloaded(counts, Some(&capacity), threshold));
    let after = hints_by_pod(world);
    let had = |pod: &String| before.get(pod).and_then(Option::as_ref);
    let changed = after.iter().filter(|(pod, hints)| had(pod) != hints.as_ref());
    let hinted: Vec<Option<usize>> = after.keys().map(|p| zone_of(had(p), &capacity)).collect();
    let n = u32::try_from(after.len()).expect("few Pods");
    let bounds = bounds(&capacity, n, threshold).expect("hinted");
    let minimums: Vec<u32> = bounds.iter().map(|b| b.minimum).collect();
    let fewest = fewest_changes(&hinted, &minimums).expect("one way was found");
    Some((changed.count(), fewest))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_assignment_within_the_bounds_changes_fewer_hints(spec in auto_spec()) {
        if let Some((changed, fewest)) = changes(&mut spec.build()) {
            prop_assert_eq!(changed, fewest);
        }
    }

    #[test]
    fn one_pod_more_changes_no_more_hints_than_it_must(
        spec in auto_spec(),
        zone in 0..2usize,
    ) {
        let mut world = spec.build();
        if changes(&mut world).is_none() {
            return Ok(());
        }
        let before = world.slices.clone();
        world.add_pods(ZONES[zone], 1);
        let plan = world.plan();
        if let Some((changed, fewest)) = changes(&mut world) {
            prop_assert_eq!(changed, fewest);
            // One slice takes the new Pod; each other write has a hint that had to change.
            prop_assert!(plan.create.len() + plan.update.len() <= changed.max(1));
            prop_assert_eq!(plan.delete.len(), 0);
            prop_assert_eq!(plan.unchanged.len() + plan.update.len(), before.len());
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
