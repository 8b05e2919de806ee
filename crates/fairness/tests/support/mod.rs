//! What several tests need: seeded chance, and configurations built by hand.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part of this module")]

use std::{ops::Range, time::Duration};

use evenkeel_fairness::{
    Request, Settings, Time, Width,
    config::{
        Config, Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Queuing, Schema,
        Source, Test,
    },
    dispatcher::Cost,
    simulate::{Arrivals, Attributes, Draw, Flow},
};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

pub const PROFILES: [fn() -> Settings; 3] =
    [Settings::kubernetes, Settings::proposal, Settings::default];

/// splitmix64: small, and every seed gives another sequence.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    pub fn chance(&mut self, per_cent: u64) -> bool {
        self.below(100) < per_cent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Runs a simulation for each seed, or for the one that `EVENKEEL_SEED` names. Whatever it asserts
/// names its seed as `seed N`.
pub fn for_seeds(seeds: Range<u64>, run: impl FnMut(u64)) {
    match one_seed() {
        Some(seed) => [seed].into_iter().for_each(run),
        None => seeds.for_each(run),
    }
}

pub fn one_seed() -> Option<u64> {
    let seed = std::env::var("EVENKEEL_SEED").ok()?;
    Some(seed.parse().expect("EVENKEEL_SEED is a number"))
}

pub fn queuing(queues: u32, hand_size: u32, queue_length_limit: u32) -> Handling {
    Handling::Queue(Queuing { queues, hand_size, queue_length_limit })
}

pub fn level(name: &str, shares: u32, handling: Handling) -> Level {
    Level {
        name: name.into(),
        uid: format!("{name}-uid").into(),
        shares,
        lendable_percent: 0,
        borrowing_limit_percent: None,
        handling,
        implied: false,
    }
}

pub fn lending(name: &str, shares: u32, lendable_percent: u32, handling: Handling) -> Level {
    Level { lendable_percent, ..level(name, shares, handling) }
}

/// A schema for the requests of one user, told apart by namespace. Users are named as schemas are.
pub fn schema(user: &str, level: usize) -> Schema {
    let test = Test { field: Field::User, op: Op::Equals(user.into()), negated: false };
    Schema {
        name: user.into(),
        uid: format!("{user}-uid").into(),
        precedence: 1000,
        level,
        distinguisher: Some(Distinguisher { source: Source::Namespace, transform: None }),
        predicate: Predicate::Match(vec![Conjunction { tests: vec![test] }]),
        implied: false,
    }
}

/// One schema for each level, named as it.
pub fn config(levels: Vec<Level>) -> Config {
    let schemas = levels.iter().enumerate().map(|(index, level)| schema(&level.name, index));
    Config { schemas: schemas.collect(), levels, fallback: 0 }
}

/// A flow to be simulated: requests of one seat that wait for 15 seconds at most, all the time.
pub fn flow(name: &str, user: &str, clients: u32, arrivals: Arrivals, service: Draw) -> Flow {
    Flow {
        name: name.to_owned(),
        clients,
        attributes: Attributes { user: user.to_owned(), ..Attributes::default() },
        arrivals,
        service,
        width: Width::ONE,
        wait_limit: Duration::from_secs(15),
        from: Duration::ZERO,
        until: None,
        burst: None,
    }
}

/// So many requests open at any time.
pub fn closed(outstanding: u32) -> Arrivals {
    Arrivals::Closed { outstanding, think: Draw::Constant(Duration::ZERO) }
}

pub fn by<'r>(user: &'r str, namespace: &'r str) -> Request<'r> {
    Request { user, namespace, verb: "get", is_resource: true, ..Request::default() }
}

pub fn cost(seats: u32) -> Cost {
    Cost { width: Width::seats(seats), wait_until: Time::MAX, watch: false }
}

pub fn ms(ms: u64) -> Time {
    Time(ms * MS)
}

pub fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("tests are short")
}
