//! What holds for all sequences of events on one level, in simulated time.
//!
//! Every assertion names its seed; `EVENKEEL_SEED=N` runs that one alone.

mod fairness;
mod leaks;
mod oracle;
mod simulator;
mod slow;
mod stripes;
#[path = "../support/mod.rs"]
mod support;

use evenkeel_fairness::Settings;

use crate::{
    simulator::run,
    support::{for_seeds, millis, one_seed},
};

/// Short holds, so that they end within a run. What the oracle does not know is off: what holds with
/// it on is in `slow.rs`.
fn default_settings() -> Settings {
    Settings { response_hold: Some(millis(8)), slow_flows: None, ..Settings::default() }
}

#[test]
fn a_level_does_what_the_oracle_does_in_kubernetes() {
    for_seeds(0..2_800, |seed| {
        run(seed, &Settings::kubernetes(), 1, 60);
    });
}

#[test]
fn a_level_does_what_the_oracle_does_in_the_proposal() {
    for_seeds(0..2_800, |seed| {
        run(seed, &Settings::proposal(), 1, 60);
    });
}

#[test]
fn a_level_does_what_the_oracle_does_by_default() {
    for_seeds(0..2_800, |seed| {
        run(seed, &default_settings(), 1, 60);
    });
}

#[test]
fn a_level_does_what_the_oracle_does_when_few_may_lose_their_seats() {
    for_seeds(0..1_400, |seed| {
        let settings = Settings { max_detached: (seed % 3) as u32, ..default_settings() };
        run(seed, &settings, 1, 60);
    });
}

#[test]
fn a_level_does_what_the_oracle_does_when_r_is_wound_back() {
    let mut epochs = 0;
    for_seeds(0..300, |seed| {
        let settings = [Settings::kubernetes(), default_settings()];
        epochs += run(seed, &settings[seed as usize % 2], 1 << 28, 200);
    });
    assert!(epochs > 0 || one_seed().is_some(), "no run was long enough");
}
