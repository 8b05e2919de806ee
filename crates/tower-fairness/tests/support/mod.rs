//! Small configurations made by hand, and a server on loopback.

#![allow(dead_code, reason = "most tests use a part of it only")]
#![expect(unreachable_pub, reason = "each test includes it as a module")]
#![expect(clippy::unwrap_used, reason = "all of it is for tests")]

pub mod server;

use evenkeel_fairness::{
    Settings,
    config::{
        Config, Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Queuing, Schema,
        Source, Test,
    },
    flow::{FlowHash, FlowKey},
};

/// The default settings with a fixed key. Under a random one, flows share a queue now and then, and
/// a test of turns between them would fail now and then.
pub fn settings() -> Settings {
    let flow_hash = FlowHash::Keyed(Some(FlowKey::new([1; 32])));
    Settings { flow_hash, ..Settings::default() }
}

/// Requests wait in `queues` queues of `length`.
pub fn queue(queues: u32, length: u32) -> Handling {
    Handling::Queue(Queuing { queues, hand_size: 1, queue_length_limit: length })
}

pub fn level(name: &str, shares: u32, handling: Handling) -> Level {
    Level {
        name: name.into(),
        uid: format!("uid-of-level-{name}").into(),
        shares,
        lendable_percent: 0,
        borrowing_limit_percent: Some(0),
        handling,
        implied: false,
    }
}

/// One level `main` that all requests go to, by the schema `all`, which tells users apart.
pub fn one_level(handling: Handling) -> Config {
    let levels = vec![level("main", 1, handling)];
    Config { levels, schemas: vec![schema("all", 0, vec![])], fallback: 0 }
}

/// As [`one_level`], where requests with the header `x-exempt: yes` are exempt.
pub fn with_exempt(handling: Handling) -> Config {
    let levels = vec![level("exempt", 0, Handling::Exempt), level("main", 1, handling)];
    let test = Test {
        field: Field::Header("x-exempt".into()),
        op: Op::Equals("yes".into()),
        negated: false,
    };
    let schemas = vec![schema("exempt", 0, vec![test]), schema("all", 1, vec![])];
    Config { levels, schemas, fallback: 1 }
}

pub fn schema(name: &str, level: usize, tests: Vec<Test>) -> Schema {
    Schema {
        name: name.into(),
        uid: format!("uid-of-schema-{name}").into(),
        precedence: 1,
        level,
        distinguisher: Some(Distinguisher { source: Source::User, transform: None }),
        predicate: Predicate::Match(vec![Conjunction { tests }]),
        implied: false,
    }
}
