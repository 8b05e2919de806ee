//! What a seed makes of a run: how large, how long, and what goes wrong in it.

use std::time::Duration;

use evenkeel_controller::engine::{Scope, Settings};
use evenkeel_testkit::sim::{Admission, Rates, Rng};

#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) settings: Settings,
    pub(crate) zones: usize,
    pub(crate) nodes: usize,
    pub(crate) services: usize,
    pub(crate) pods: usize,
    pub(crate) processes: usize,
    /// Changes of the cluster.
    pub(crate) steps: usize,
    /// Slices of Kubernetes' own controller are there at the start.
    pub(crate) adopts: bool,
    /// Kubernetes' own controller is at work.
    pub(crate) built_in: bool,
    /// Services opt in and out, of a thousand changes.
    pub(crate) opts: u32,
    /// Namespaces end, of a thousand changes.
    pub(crate) ends: u32,
    /// Nodes go and come back within seconds, of a thousand changes.
    pub(crate) blinks: u32,
    pub(crate) admission: Admission,
    /// Nothing goes wrong but that the server is busy now and then.
    pub(crate) only_busy: bool,
    pub(crate) writes: Rates,
    pub(crate) watches: WatchRates,
    /// Before each change of the cluster, of a thousand.
    pub(crate) crash: u32,
    pub(crate) pass_lease: u32,
    pub(crate) jump: u32,
    pub(crate) pause: u32,
    /// Somebody else changes slices instead of the cluster.
    pub(crate) third_party: u32,
}

/// Each time a watch shows something, of a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchRates {
    /// The watch is cut, and goes on later.
    pub(crate) cut: u32,
    /// A watch that was cut starts with a list.
    pub(crate) relist: u32,
    /// A list is cut before its end.
    pub(crate) partial: u32,
    /// A list is older than the present.
    pub(crate) behind: u32,
    /// A list is older than what the client knows.
    pub(crate) back: u32,
    /// What is shown is seconds old.
    pub(crate) slow: u32,
    /// Nothing is shown for long, and nothing tells.
    pub(crate) stall: u32,
}

impl Profile {
    pub(crate) fn draw(rng: &mut Rng) -> Profile {
        let trouble = rng.below(5);
        let faulty_writes = trouble >= 1 && rng.chance(800);
        let faulty_watches = trouble >= 1 && rng.chance(700);
        let crashes = trouble >= 3 && rng.chance(700);
        let rivals = trouble >= 2 && rng.chance(600);
        let rate = |rng: &mut Rng, on: bool, most: u32| {
            if on { u32::try_from(rng.below(most as usize)).expect("small") } else { 0 }
        };
        let settings = settings(rng);
        let built_in = match settings.scope {
            Scope::All => rng.chance(100),
            Scope::Annotated => rng.chance(700),
        };
        let admission = match rng.below(12) {
            0 => Admission::NoNodeHints,
            1 => Admission::NoHints,
            2 => Admission::Label,
            _ => Admission::AsSent,
        };
        let mut profile = Profile {
            settings,
            zones: rng.between(2, 4),
            nodes: rng.between(1, 6),
            services: rng.between(1, 3),
            pods: rng.between(0, 14),
            processes: if rivals { 2 } else { 1 },
            steps: if rng.chance(50) { 60 } else { rng.between(3, 22) },
            adopts: rng.chance(500),
            built_in,
            opts: if rng.chance(500) { rate(rng, true, 200) } else { 0 },
            ends: if rng.chance(300) { rate(rng, true, 250) } else { 0 },
            blinks: if rng.chance(400) { rate(rng, true, 200) } else { 0 },
            admission,
            only_busy: trouble == 0 && rng.chance(200),
            writes: Rates {
                refused: rate(rng, faulty_writes, 200),
                answer_lost: rate(rng, faulty_writes, 120),
                lost: rate(rng, faulty_writes, 60),
                ghost: rate(rng, faulty_writes && trouble >= 2, 60),
                slow: rate(rng, trouble >= 1, 200),
                busy: 0,
            },
            watches: WatchRates {
                cut: rate(rng, faulty_watches, 150),
                relist: 500,
                partial: rate(rng, faulty_watches, 300),
                behind: rate(rng, faulty_watches, 500),
                back: rate(rng, faulty_watches && trouble == 4, 150),
                slow: rate(rng, faulty_watches, 150),
                stall: rate(rng, faulty_watches && trouble >= 3, 30),
            },
            crash: rate(rng, crashes, 150),
            pass_lease: rate(rng, rivals, 250),
            jump: rate(rng, trouble >= 1, 60),
            pause: rate(rng, trouble >= 2, 100),
            third_party: if rng.chance(400) { rate(rng, true, 250) } else { 0 },
        };
        if profile.only_busy {
            profile.writes.busy = 200;
            (profile.third_party, profile.built_in, profile.opts) = (0, false, 0);
        }
        profile
    }
}

fn settings(rng: &mut Rng) -> Settings {
    let mut settings = Settings::default();
    if rng.chance(200) {
        settings.topology = evenkeel_topology::Settings {
            controller_name: settings.topology.controller_name,
            ..evenkeel_topology::Settings::kubernetes()
        };
    }
    settings.topology.max_endpoints_per_slice = rng.between(2, 5);
    settings.scope = if rng.chance(150) { Scope::Annotated } else { Scope::All };
    settings.max_in_flight = [1, 2, 32][rng.below(3)];
    settings.conditions = rng.chance(800);
    settings.batch_period = [Duration::ZERO, Duration::from_millis(500)][rng.below(2)];
    settings.missing_node_grace = Duration::from_secs([0, 10, 10][rng.below(3)]);
    settings.max_backoff = Duration::from_secs([5, 60, 300][rng.below(3)]);
    settings
}
