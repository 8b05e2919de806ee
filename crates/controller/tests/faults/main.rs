//! The controller's engine under every fault there is, in virtual time.
//!
//! A seed is a small cluster, one or two controller processes, a script of changes and a set of
//! faults: watches that are cut, late or go back; writes that are refused, lost, done and not
//! answered, or done long after; crashes, leases that pass on late, clocks that jump, slices that
//! others change. Then nothing goes wrong any more, and the slices must become those of the plan.
//!
//! `EVENKEEL_SEED=N` runs one seed, `EVENKEEL_SEEDS=N` so many, `EVENKEEL_SEEDS=A..B` those from A
//! and below B. The first seed that fails is printed with all that happened in it.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod checks;
mod process;
mod profile;
mod run;
mod script;
mod trace;
mod view;

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::run::{Failure, Sabotage, Tally, run};

const SEEDS: u64 = 10_000;
const THREADS: u64 = 2;

#[test]
fn the_slices_become_those_of_the_plan_whatever_goes_wrong() {
    match run_all(asked(), Sabotage::None) {
        Ok(tally) => assert!(asked() != (0..SEEDS) || tally.has_everything(), "{tally:?}"),
        Err(failure) => panic!("{}", told(failure.seed, Sabotage::None)),
    }
}

#[test]
fn a_store_without_preconditions_is_noticed() {
    is_noticed(Sabotage::CarelessStore, "");
}

#[test]
fn answers_that_lie_are_noticed() {
    is_noticed(Sabotage::FalseAnswers, "the plan would still write");
}

#[test]
fn writes_without_the_lease_are_noticed() {
    is_noticed(Sabotage::DeafToTheLease, "writes without the lease");
}

#[test]
fn endpoints_that_get_lost_are_noticed() {
    is_noticed(Sabotage::LostEndpoints, "is lost from");
}

#[test]
fn endpoints_that_are_listed_twice_are_noticed() {
    is_noticed(Sabotage::Twins, "listed twice");
}

#[test]
fn withdrawals_that_are_not_recorded_are_noticed() {
    is_noticed(Sabotage::LostRecords, "");
}

#[test]
fn slices_that_stay_when_a_service_opts_out_are_noticed() {
    is_noticed(Sabotage::KeptSlices, "is left beside those of the other");
}

#[test]
fn a_busy_server_that_is_taken_for_a_lost_one_is_noticed() {
    is_noticed(Sabotage::BusyIsUnknown, "reads what nobody doubts");
}

#[test]
fn a_terminating_namespace_that_is_taken_for_a_refusal_is_noticed() {
    is_noticed(Sabotage::TerminatingIsRefused, "the namespace is being terminated");
}

#[test]
fn a_cache_of_what_was_sent_is_noticed() {
    is_noticed(Sabotage::StoredAsSent, "Programmed=True is untrue");
}

#[test]
fn endpoints_that_go_with_a_node_that_comes_back_are_noticed() {
    is_noticed(Sabotage::NoNodeGrace, "is lost from");
}

#[test]
fn removals_before_additions_are_noticed() {
    is_noticed(Sabotage::EarlyAnswers, "is lost from");
}

fn asked() -> Range<u64> {
    if let Ok(seed) = std::env::var("EVENKEEL_SEED") {
        let seed = seed.parse().expect("EVENKEEL_SEED is a number");
        return seed..seed + 1;
    }
    let Ok(seeds) = std::env::var("EVENKEEL_SEEDS") else {
        return 0..SEEDS;
    };
    let number = |text: &str| text.parse::<u64>().expect("EVENKEEL_SEEDS is N or A..B");
    match seeds.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&seeds),
    }
}

/// Some seed of two thousand fails for this reason, and only because of the sabotage.
fn is_noticed(sabotage: Sabotage, why: &str) {
    let noticed = |seed: &u64| {
        let failure = caught(*seed, sabotage, false).err();
        failure.is_some_and(|failure| failure.what.contains(why))
            && caught(*seed, Sabotage::None, false).is_ok()
    };
    assert!((0..2000).any(|seed| noticed(&seed)), "{sabotage:?} goes unnoticed");
}

/// Runs all seeds, and gives the failure of the smallest that was met.
fn run_all(seeds: Range<u64>, sabotage: Sabotage) -> Result<Tally, Failure> {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut sum = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(sum);
            }
            match caught(seed, sabotage, false) {
                Ok(tally) => sum = sum.plus(tally),
                Err(failure) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Err(failure);
                }
            }
        }
    };
    let results: Vec<Result<Tally, Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut sum = Tally::default();
    let mut first: Option<Failure> = None;
    for result in results {
        match result {
            Ok(tally) => sum = sum.plus(tally),
            Err(failure) => {
                let smaller = first.as_ref().is_none_or(|other| failure.seed < other.seed);
                first = if smaller { Some(failure) } else { first };
            }
        }
    }
    first.map_or(Ok(sum), Err)
}

/// A panic is a failure of its seed, too.
fn caught(seed: u64, sabotage: Sabotage, traced: bool) -> Result<Tally, Failure> {
    catch_unwind(AssertUnwindSafe(|| run(seed, sabotage, traced))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let what = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let what = format!("panicked: {}", what.unwrap_or_default());
        Err(Failure { seed, event: 0, at: Duration::ZERO, what, trace: String::new() })
    })
}

fn told(seed: u64, sabotage: Sabotage) -> String {
    match caught(seed, sabotage, true) {
        Ok(_) => format!("seed {seed} failed once and then did not"),
        Err(Failure { seed, event, at, what, trace }) => {
            format!("{trace}\nseed {seed}, event {event}, at {at:?}: {what}")
        }
    }
}
