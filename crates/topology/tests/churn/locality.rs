//! On average no more endpoints away than Kubernetes' way has on the same packing, and no more
//! writes.

use evenkeel_topology::Settings;

use crate::rounds::{Cost, Scenario, run, whole_slices};

const ROUNDS: usize = 100;
const SEEDS: u64 = 8;

/// The sums over all seeds and rounds, in the default profile and in Kubernetes' way.
fn compare(scenario: &Scenario) -> [Cost; 2] {
    let sum = |settings: Settings| {
        let mut sum = Cost::default();
        for seed in 0..SEEDS {
            run(scenario, &settings, seed, ROUNDS).into_iter().for_each(|cost| sum += cost);
        }
        sum
    };
    let [ours, theirs] = [Settings::default(), whole_slices()].map(sum);
    let all = SEEDS as usize * ROUNDS;
    assert_eq!((ours.hinted, theirs.hinted), (all, all), "there are hints in every round");
    [ours, theirs]
}

fn check(scenario: &Scenario) {
    let [ours, theirs] = compare(scenario);
    assert!(ours.away <= theirs.away, "{scenario:?}: {ours:?} {theirs:?}");
    assert!(ours.writes <= theirs.writes, "{scenario:?}: {ours:?} {theirs:?}");
}

const EVEN: Scenario = Scenario::EVEN;
const SKEWED: Scenario = Scenario { at_first: [70, 15, 15], spread: [70, 15, 15], ..EVEN };
/// Zones with a half, a third and a sixth of the CPU.
const UNEQUAL: Scenario = Scenario { cores: [12, 8, 4], ..EVEN };

#[test]
fn in_one_or_two_slices_of_which_all_are_written() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        check(&zones);
        check(&Scenario { max_per_slice: 100, ..zones });
    }
}

#[test]
fn in_many_slices_of_which_most_are_written() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        check(&Scenario { max_per_slice: 10, ..zones });
    }
}

#[test]
fn in_many_slices_of_which_few_are_written() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        for replaced in [1, 3] {
            check(&Scenario { max_per_slice: 10, replaced, ..zones });
        }
    }
}

#[test]
fn while_a_service_is_scaled_up_and_down() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        check(&Scenario { max_per_slice: 20, replaced: 5, scaled: 30, ..zones });
    }
}

#[test]
fn while_nodes_change() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        check(&Scenario { max_per_slice: 20, replaced: 5, node_changes: true, ..zones });
    }
}

// Kubernetes writes nothing then and leaves zones overloaded, so that writes can't be compared.
#[test]
fn while_only_nodes_change() {
    for zones in [EVEN, SKEWED, UNEQUAL] {
        let scenario = Scenario { max_per_slice: 20, replaced: 0, node_changes: true, ..zones };
        let [ours, theirs] = compare(&scenario);
        assert!(ours.away <= theirs.away, "{scenario:?}: {ours:?} {theirs:?}");
    }
}

// 90 endpoints in two slices, most in one zone; 15 Pods are replaced a round, by Pods anywhere.
#[test]
fn endpoints_away_grow_in_no_round_beyond_kubernetes() {
    let scenario = Scenario { at_first: [70, 15, 15], ..EVEN };
    for seed in 0..SEEDS {
        let away = |settings: &Settings| -> Vec<usize> {
            run(&scenario, settings, seed, 8).iter().map(|cost| cost.away).collect()
        };
        let (ours, theirs) = (away(&Settings::default()), away(&whole_slices()));
        assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| ours <= theirs));
    }
}
