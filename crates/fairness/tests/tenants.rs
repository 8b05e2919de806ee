//! What the header of `examples/fairness/tenants/tenants.yaml` says, in simulated time.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::Duration;

use evenkeel_fairness::{
    Settings,
    dialect::load,
    simulate::{Arrivals, Attributes, Draw, Flow, FlowReport, Scenario, Setup, simulate},
};

const EXAMPLE: &str = include_str!("../../../examples/fairness/tenants/tenants.yaml");
const SECOND: Duration = Duration::from_secs(1);
const SERVICE: Draw = Draw::Exponential { mean: Duration::from_millis(100) };
/// With these each level has at least seven seats.
const SEATS: u32 = 80;

/// Requests of one user, so many open at a time.
fn flow(user: &str, group: &str, path: &str, outstanding: u32, think: Duration) -> Flow {
    let attributes = Attributes {
        user: user.to_owned(),
        groups: vec![group.to_owned()],
        path: path.to_owned(),
        method: "GET".to_owned(),
        verb: "get".to_owned(),
        ..Attributes::default()
    };
    let arrivals = Arrivals::Closed { outstanding, think: Draw::Constant(think) };
    let wait_limit = 60 * SECOND;
    Flow { attributes, wait_limit, ..support::flow(user, user, 1, arrivals, SERVICE) }
}

/// What becomes of each flow when all send.
fn run(flows: Vec<Flow>) -> Vec<FlowReport> {
    let compiled = load("tenants.yaml", EXAMPLE).compile().unwrap();
    assert!(compiled.findings.is_empty(), "{:?}", compiled.findings);
    let scenario = Scenario { duration: 65 * SECOND, warmup: 5 * SECOND, seed: 1, flows };
    let setup = Setup {
        config: compiled.config,
        server_limit: SEATS,
        settings: Settings::default(),
        changes: Vec::new(),
    };
    simulate(&scenario, &setup, &mut |_| {}).unwrap().flows
}

/// Four hundred requests of one tenant are always open, and another sends one after the other.
#[test]
fn within_each_level_no_tenant_starves_another() {
    for (level, group, path) in [
        ("paying", "paying", "/orders"),
        ("batch", "paying", "/reports/x"),
        ("free", "", "/orders"),
    ] {
        let greedy = flow("acme:alice", group, path, 400, Duration::ZERO);
        let modest = flow("umbrella:bob", group, path, 1, Duration::from_millis(500));
        let flows = run(vec![greedy, modest]);
        assert!(flows.iter().all(|flow| flow.levels.iter().any(|of| **of == *level)), "{flows:?}");
        let wait = &flows[1].figures.wait;
        assert!(wait.p99 < 0.5, "{level}: {wait:?}");
    }
}

#[test]
fn operators_and_health_checks_are_never_held_up() {
    let flows = run(vec![
        flow("acme:alice", "paying", "/orders", 1000, Duration::ZERO),
        flow("olivia", "operators", "/orders", 1, Duration::from_millis(100)),
        flow("probe", "", "/healthz", 1, Duration::from_millis(100)),
    ]);
    for exempt in &flows[1..] {
        assert_eq!(exempt.figures.wait.max, 0.0, "{exempt:?}");
    }
}
