//! Random events on three levels.

use evenkeel_fairness::{
    Settings, SlowFlows, Time, Width,
    config::{Config, Handling},
    dispatcher::{Admission, Cost, LevelLimits, RequestHandle},
    queues::{Verdict, stats::RejectReason},
};

use crate::{
    Server,
    support::{MS, PROFILES, Rng, config, for_seeds, lending, millis, queuing},
};

const USERS: [&str; 4] = ["a", "b", "c", "d"];

struct Run {
    seed: u64,
    rng: Rng,
    server: Server,
    handles: Vec<RequestHandle<usize>>,
    admitted: u64,
    rejected: u64,
    left: u64,
}

/// Two to four levels of the four there can be; at least one has shares.
fn levels(rng: &mut Rng, exempt: bool) -> Config {
    let mut levels = Vec::new();
    for (n, name) in USERS.iter().enumerate() {
        if n > 1 && rng.chance(50) {
            continue;
        }
        let queues = rng.within(1..9) as u32;
        let handling = match rng.below(8) {
            0 => Handling::Reject,
            1 if exempt && n > 0 => Handling::Exempt,
            _ => queuing(queues, rng.within(1..u64::from(queues.min(3)) + 1) as u32, 5),
        };
        let shares = if n == 0 { 10 } else { rng.below(20) as u32 };
        levels.push(lending(name, shares, rng.below(101) as u32, handling));
    }
    config(levels)
}

impl Run {
    fn new(seed: u64, settings: Settings) -> Self {
        let mut rng = Rng::new(seed);
        let server = Server::new(levels(&mut rng, true), rng.within(1..30) as u32, settings);
        Run { seed, rng, server, handles: Vec::new(), admitted: 0, rejected: 0, left: 0 }
    }

    fn step(&mut self) {
        self.server.now = Time(self.server.now.0 + self.rng.below(4 * MS));
        let sum = self.server.sum();
        let n_levels = self.server.limits().len();
        match self.rng.below(100) {
            0..50 => self.admit(),
            50..85 => self.leave(),
            85..92 => self.server.tick(),
            92..96 => self.respond(),
            96..98 => return self.server.adjust(),
            _ => return self.swap(),
        }
        // Levels that drained go only with an adjustment or a configuration.
        assert_eq!(self.server.limits().len(), n_levels, "seed {}", self.seed);
        assert_eq!(self.server.sum(), sum, "seed {}: seats only change hands", self.seed);
    }

    fn admit(&mut self) {
        let user = self.rng.pick(&USERS);
        let namespace = self.rng.pick(&["", "x", "y", "z"]);
        let wait_until = match self.rng.chance(30) {
            true => Time(self.server.now.0 + self.rng.below(20 * MS)),
            false => Time::MAX,
        };
        let mut width = Width::seats(if self.rng.chance(20) { 3 } else { 1 });
        if self.rng.chance(10) {
            (width.final_seats, width.additional_latency) = (2, millis(2));
        }
        self.admitted += 1;
        match self.server.admit_with(user, namespace, Cost { width, wait_until, watch: false }) {
            Admission::Dispatched(handle) | Admission::Waiting(handle) => self.handles.push(handle),
            Admission::Rejected { .. } => self.rejected += 1,
        }
    }

    fn leave(&mut self) {
        if self.handles.is_empty() {
            return;
        }
        let at = self.rng.below(self.handles.len() as u64) as usize;
        let handle = self.handles.swap_remove(at);
        self.left += 1;
        if self.rng.chance(20)
            && self.server.verdict(&handle) == Verdict::Rejected(RejectReason::TimeOut)
        {
            return;
        }
        self.server.leave(handle);
    }

    fn respond(&mut self) {
        if let Some(handle) = self.handles.first() {
            self.server.dispatcher.respond(self.server.now, handle);
        }
    }

    fn swap(&mut self) {
        let config = levels(&mut self.rng, true);
        let seats = self.rng.within(1..30) as u32;
        self.server.configure(config, seats);
    }

    fn end(mut self) {
        let what = format!("seed {}", self.seed);
        while !self.handles.is_empty() {
            self.leave();
        }
        self.server.now = Time(self.server.now.0 + 60_000 * MS);
        self.server.tick();
        self.server.adjust();
        self.server.assert_idle(&what);
        assert_eq!(self.rejected + self.left, self.admitted, "{what}");
        assert!(self.server.limits().iter().all(|level| !level.quiescing), "{what}: all drained");
        let mut woken = self.server.take_woken();
        let n_woken = woken.len();
        woken.sort_unstable();
        woken.dedup();
        assert_eq!(woken.len(), n_woken, "{what}: each is woken once at most");
        self.check_sum(&what);
    }

    /// Nobody lacks seats of its own beside borrowed ones that are idle. Levels that drain claim none.
    fn check_claims(&self) {
        if !self.server.dispatcher.settings().reclaim_at_once {
            return;
        }
        let (mut claimed, mut spare) = (0, 0);
        for LevelLimits { level, quiescing, .. } in self.server.limits() {
            self.server.level(&level).view(|view| {
                claimed += if quiescing { 0 } else { view.set.claim() };
                spare += view.set.spare();
            });
        }
        assert!(claimed == 0 || spare == 0, "seed {}: {claimed} beside {spare}", self.seed);
    }

    /// Limits are rounded, so their sum may exceed that of the nominal ones by less than one each.
    /// What an exempt level uses comes on top.
    fn check_sum(&self, what: &str) {
        let in_force = self.server.dispatcher.in_force();
        let limits = self.server.limits();
        let nominal: u32 = limits.iter().map(|level| level.limits.nominal).sum();
        let levels = limits.iter().zip(&in_force.config.levels);
        let limited = levels.filter(|(_, level)| level.handling != Handling::Exempt);
        let sum: u32 = limited.map(|(limits, _)| limits.limits.current).sum();
        assert!(sum <= nominal + limits.len() as u32, "{what}: {sum} of {nominal}");
    }
}

fn run(seed: u64, settings: Settings) {
    let mut run = Run::new(seed, settings);
    for _ in 0..50 {
        run.step();
        run.check_claims();
    }
    run.end();
}

/// All durations are short enough for flows to turn slow within a run, and to be alone again.
fn short() -> Settings {
    let slow = SlowFlows { threshold: millis(8), window: millis(20), ..SlowFlows::default() };
    Settings { slow_flows: Some(slow), ..Settings::default() }
}

#[test]
fn whatever_slow_flows_do_nobody_claims_seats_beside_idle_ones() {
    for_seeds(0..10_000, |seed| run(seed, short()));
}

#[test]
fn whatever_happens_seats_only_change_hands_and_each_request_ends_once() {
    for_seeds(0..10_000, |seed| run(seed, PROFILES[seed as usize % 3]()));
}
