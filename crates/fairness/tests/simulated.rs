//! Requirements on fairness and priority, in simulated time.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{sync::Arc, time::Duration};

use evenkeel_fairness::{
    Settings, Time, Width,
    config::{
        Config, Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Queuing, Schema,
        Source, Test,
    },
    simulate::{
        Arrivals, Burst, Change, Draw, Flow, FlowReport, MAX_CLIENTS, MAX_REQUESTS, Report,
        Scenario, Setup, SimulationError, simulate,
    },
};
use proptest::prelude::*;

use crate::support::closed;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const QUEUES: Handling =
    Handling::Queue(Queuing { queues: 128, hand_size: 6, queue_length_limit: 50 });

/// A level, and the schema that sends it the users whose names begin with its own.
struct Part {
    level: &'static str,
    shares: u32,
    lendable_percent: u32,
    handling: Handling,
}

const ONE: Part = Part { level: "all", shares: 10, lendable_percent: 0, handling: QUEUES };

fn config(parts: &[Part]) -> Config {
    let level = |part: &Part| Level {
        name: part.level.into(),
        uid: Arc::default(),
        shares: part.shares,
        lendable_percent: part.lendable_percent,
        borrowing_limit_percent: None,
        handling: part.handling,
        implied: false,
    };
    let schema = |(level, part): (usize, &Part)| {
        let pattern = regex::Regex::new(&format!("^(?:{}.*)$", part.level)).unwrap();
        let test = Test { field: Field::User, op: Op::Pattern(pattern), negated: false };
        Schema {
            name: part.level.into(),
            uid: Arc::default(),
            precedence: 1,
            level,
            distinguisher: Some(Distinguisher { source: Source::User, transform: None }),
            predicate: Predicate::Match(vec![Conjunction { tests: vec![test] }]),
            implied: false,
        }
    };
    Config {
        levels: parts.iter().map(level).collect(),
        schemas: parts.iter().enumerate().map(schema).collect(),
        fallback: parts.len() - 1,
    }
}

/// Users are named by the flow.
fn flow(name: &str, clients: u32, arrivals: Arrivals, service: Draw) -> Flow {
    support::flow(name, &format!("{name}-{{n}}"), clients, arrivals, service)
}

fn exponential(mean: Duration) -> Draw {
    Draw::Exponential { mean }
}

fn scenario(seconds: u32, flows: Vec<Flow>) -> Scenario {
    Scenario { duration: seconds * SECOND, warmup: 5 * SECOND, seed: 1, flows }
}

fn setup(parts: &[Part], server_limit: u32, settings: Settings) -> Setup {
    Setup { config: config(parts), server_limit, settings, changes: Vec::new() }
}

fn run(scenario: &Scenario, setup: &Setup) -> Report {
    simulate(scenario, setup, &mut |_| {}).unwrap()
}

fn flow_of<'r>(report: &'r Report, name: &str) -> &'r FlowReport {
    report.flows.iter().find(|flow| flow.flow == name).unwrap()
}

fn profiles() -> [(&'static str, Settings); 3] {
    [
        ("default", Settings::default()),
        ("kubernetes", Settings::kubernetes()),
        ("proposal", Settings::proposal()),
    ]
}

// === Fairness ===

/// A thousand mice at half the load, then an elephant that keeps 200 requests in the queues.
#[test]
fn an_elephant_delays_mice_by_no_more_than_half() {
    let mice = || flow("mouse", 1000, Arrivals::Poisson { per_second: 0.5 }, exponential(10 * MS));
    let elephant = || flow("elephant", 1, closed(200), exponential(10 * MS));
    let setup = setup(&[ONE], 10, Settings::default());
    let alone = run(&scenario(65, vec![mice()]), &setup);
    let both = run(&scenario(65, vec![mice(), elephant()]), &setup);
    let (alone, mouse) = (flow_of(&alone, "mouse"), flow_of(&both, "mouse"));
    let (before, after) = (alone.figures.latency.p99, mouse.figures.latency.p99);
    println!("p99 {before:.4} s alone, {after:.4} s with the elephant: {:.3}", after / before);
    println!("in use {:.4}, {:?}", both.in_use, mouse.figures);
    assert_eq!(mouse.figures.counts.rejected(), 0);
    assert!(both.in_use > 0.999, "{}", both.in_use);
    assert!(after <= 1.5 * before, "{before} s alone, {after} s with the elephant");
}

#[test]
fn equal_flows_get_equal_shares() {
    for (n, least) in [(64, 0.99), (16, 0.97)] {
        let flows = vec![flow("tenant", n, closed(10), exponential(10 * MS))];
        let report = run(&scenario(65, flows), &setup(&[ONE], 10, Settings::default()));
        let jain = report.jain.unwrap();
        println!("{n} flows: Jain's index {jain:.4}");
        assert!(jain >= least, "{n} flows: {jain}");
        assert_eq!(flow_of(&report, "tenant").figures.counts.rejected(), 0);
    }
}

/// Seats are shared by time, not by number of requests.
#[test]
fn requests_that_take_x_times_as_long_get_a_rate_of_one_xth() {
    for times in [2_u32, 5, 10] {
        let flows = vec![
            flow("quick", 1, closed(60), Draw::Constant(10 * MS)),
            flow("slow", 1, closed(60), Draw::Constant(times * 10 * MS)),
        ];
        let report = run(&scenario(65, flows), &setup(&[ONE], 10, Settings::default()));
        let rate = |name| flow_of(&report, name).figures.throughput;
        let ratio = rate("quick") / rate("slow");
        println!("{times} times the service time: 1/{ratio:.3} of the rate");
        assert!((ratio / f64::from(times) - 1.0).abs() < 0.05, "{times}: {ratio}");
    }
}

// === Priority ===

/// Low priority suddenly asks for twelve times the server's seats. 600 seats, requests of a second;
/// critical ones ask for a tenth of their own seats, and may lend nine tenths.
#[test]
fn critical_requests_are_served_through_a_spike_of_low_priority() {
    let parts = [
        Part { level: "critical", shares: 50, lendable_percent: 90, handling: QUEUES },
        Part { level: "low", shares: 50, lendable_percent: 90, handling: QUEUES },
    ];
    for (name, settings) in profiles() {
        let critical = Arrivals::Poisson { per_second: 3.0 };
        let critical = flow("critical", 10, critical, exponential(SECOND));
        let spike = Arrivals::Poisson { per_second: 72.0 };
        let spike = Flow { from: 20 * SECOND, ..flow("low", 100, spike, exponential(SECOND)) };
        let scenario = Scenario {
            duration: 60 * SECOND,
            warmup: 40 * SECOND,
            seed: 1,
            flows: vec![critical, spike],
        };
        let report = run(&scenario, &setup(&parts, 600, settings));
        let critical = &flow_of(&report, "critical").figures;
        let served = critical.counts.served();
        println!(
            "{name}: critical served {served:.5}, p99 wait {:.4} s, seats in use {:.4}",
            critical.wait.p99, report.in_use
        );
        assert!(served >= 0.999, "{name}: {served}");
        assert!(report.in_use >= 0.95, "{name}: {}", report.in_use);
    }
}

// === The simulator itself ===

/// Erlang's M/M/1: with load ρ the mean wait is ρ/(1−ρ) service times, and the server is busy for
/// ρ of the time. One queue keeps the order of arrival.
#[test]
fn a_single_seat_is_the_queue_of_the_textbooks() {
    let one_queue =
        Handling::Queue(Queuing { queues: 1, hand_size: 1, queue_length_limit: 10_000 });
    let parts = [Part { handling: one_queue, ..ONE }];
    for load in [0.3, 0.5, 0.8] {
        let arrivals = Arrivals::Poisson { per_second: load };
        let mut flow = flow("all", 1, arrivals, exponential(SECOND));
        flow.wait_limit = 1_000_000 * SECOND;
        let scenario = scenario(200_000, vec![flow]);
        let report = run(&scenario, &setup(&parts, 1, Settings::default()));
        let wait = flow_of(&report, "all").figures.wait.mean;
        let theory = load / (1.0 - load);
        println!("load {load}: mean wait {wait:.3}, theory {theory:.3}");
        assert!((wait / theory - 1.0).abs() < 0.05, "load {load}: {wait}, not {theory}");
        assert!((report.in_use / load - 1.0).abs() < 0.02, "load {load}: {}", report.in_use);
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let flows = vec![
        flow("mouse", 50, Arrivals::Poisson { per_second: 5.0 }, exponential(10 * MS)),
        flow("elephant", 1, closed(50), Draw::LogNormal { median: 10 * MS, sigma: 1.0 }),
        flow("tail", 1, closed(5), Draw::Pareto { min: 5 * MS, shape: 1.5 }),
    ];
    let scenario = scenario(20, flows);
    let setup = setup(&[ONE], 10, Settings::default());
    let text = |scenario: &Scenario| serde_json::to_string(&run(scenario, &setup)).unwrap();
    let first = text(&scenario);
    assert_eq!(first, text(&scenario));
    assert_ne!(first, text(&Scenario { seed: 2, ..scenario }));
}

/// Requests that no configuration delays are the same under all: comparisons are of like with like.
#[test]
fn arrivals_do_not_depend_on_the_configuration() {
    let flows =
        vec![flow("mouse", 20, Arrivals::Poisson { per_second: 20.0 }, exponential(10 * MS))];
    let scenario = scenario(20, flows);
    let arrived = |seats| {
        let report = run(&scenario, &setup(&[ONE], seats, Settings::default()));
        flow_of(&report, "mouse").figures.counts.arrived
    };
    assert_eq!(arrived(1), arrived(100));
}

#[test]
fn bursts_and_windows_send_when_they_should() {
    let constant = Arrivals::Constant { per_second: 100.0 };
    let all_day = flow("a", 1, constant, Draw::Constant(MS));
    let window = Flow { from: 5 * SECOND, until: Some(8 * SECOND), ..all_day.clone() };
    let burst = Some(Burst { on: SECOND, off: 3 * SECOND });
    let bursts = Flow { burst, ..all_day.clone() };
    let closed_bursts = Flow { burst, arrivals: closed(1), ..all_day.clone() };
    let flows = vec![
        all_day,
        Flow { name: "window".to_owned(), ..window },
        Flow { name: "bursts".to_owned(), ..bursts },
        Flow { name: "closed".to_owned(), ..closed_bursts },
    ];
    let scenario = Scenario { warmup: Duration::ZERO, ..scenario(20, flows) };
    let report = run(&scenario, &setup(&[ONE], 100, Settings::default()));
    let arrived: Vec<u64> = report.flows.iter().map(|f| f.figures.counts.arrived).collect();
    assert_eq!(arrived, [2000, 300, 500, 5000]);
    // The window's burst shows in the series: a step is 40 ms.
    assert!((report.series.step_seconds - 0.04).abs() < 1e-9);
    assert_eq!(report.series.seats[0].len(), 500);
}

/// One seat and a closed loop of three requests of 250 ms, in windows of a second: the first three
/// wait for 0, 250 and 500 ms, all others for 500 ms, behind the two that are before them.
#[test]
fn flows_are_summed_up_window_by_window() {
    let flows = vec![
        flow("all-day", 1, closed(3), Draw::Constant(250 * MS)),
        Flow {
            from: 10 * SECOND,
            until: Some(12 * SECOND),
            ..flow("none", 1, closed(1), Draw::Constant(SECOND))
        },
    ];
    let parts = [
        Part { level: "all-day", shares: 1, lendable_percent: 0, handling: QUEUES },
        Part { level: "none", shares: 1, lendable_percent: 0, handling: QUEUES },
    ];
    let scenario = Scenario { warmup: 5 * SECOND, ..scenario(100, flows) };
    let series = run(&scenario, &setup(&parts, 2, Settings::kubernetes())).series;
    assert_eq!((series.window_seconds, series.flows.len()), (1.0, 2));
    let [all_day, rarely] = &series.flows[..] else { panic!("two flows") };
    let rest = vec![Some(0.5); 99];
    assert_eq!(all_day.seats, [1.0; 100]);
    assert_eq!(all_day.wait_p50, [&[Some(0.25)], &rest[..]].concat());
    assert_eq!(all_day.wait_p99, [&[Some(0.5)], &rest[..]].concat());
    let only = |value: f64| -> Vec<f64> {
        (0..100).map(|window| if (10..12).contains(&window) { value } else { 0.0 }).collect()
    };
    assert_eq!(rarely.seats, only(1.0));
    let waits: Vec<Option<f64>> =
        only(1.0).iter().map(|seats| (*seats > 0.0).then_some(0.0)).collect();
    assert_eq!((&rarely.wait_p50, &rarely.wait_p99), (&waits, &waits));
}

/// Whatever the number of flows, the series of all of them have a bounded number of points.
#[test]
fn the_series_of_many_flows_are_coarser() {
    let one = |n: usize| flow(&format!("all-{n}"), 1, closed(1), Draw::Constant(SECOND));
    let flows = (0..20_000).map(one).collect();
    let scenario = Scenario { duration: 2 * SECOND, warmup: SECOND, seed: 1, flows };
    let series = run(&scenario, &setup(&[ONE], 10, Settings::default())).series;
    let points: usize = series.flows.iter().map(|flow| flow.seats.len()).sum();
    assert_eq!(points, 1_000_000);
    assert!((series.window_seconds - 0.04).abs() < 1e-9, "{}", series.window_seconds);
}

#[test]
fn waits_end_at_their_limit_and_full_levels_reject() {
    let mut late = flow("all", 1, closed(5), Draw::Constant(60 * SECOND));
    late.wait_limit = SECOND;
    let late_flows = vec![late];
    let report = run(&scenario(30, late_flows), &setup(&[ONE], 1, Settings::default()));
    let counts = report.flows[0].figures.counts;
    assert!(counts.timed_out > 10 && counts.queue_full == 0, "{counts:?}");

    let reject = [Part { handling: Handling::Reject, ..ONE }];
    let flows = vec![flow("all", 1, closed(5), Draw::Constant(100 * MS))];
    let report = run(&scenario(30, flows), &setup(&reject, 1, Settings::default()));
    let counts = report.flows[0].figures.counts;
    assert!(counts.concurrency_limit > 10 && counts.timed_out == 0, "{counts:?}");
    assert!((report.in_use - 1.0).abs() < 1e-9, "{}", report.in_use);
}

#[test]
fn a_configuration_may_change_on_the_way() {
    let flows = vec![flow("all", 4, closed(10), exponential(10 * MS))];
    let scenario = Scenario { warmup: Duration::ZERO, ..scenario(40, flows) };
    let mut setup = setup(&[ONE], 10, Settings::default());
    let other = [Part { level: "new", ..ONE }];
    setup.changes.push(Change { at: 20 * SECOND, config: config(&other), server_limit: 30 });
    let report = run(&scenario, &setup);
    let levels: Vec<&str> = report.levels.iter().map(|level| &*level.level).collect();
    assert_eq!(levels, ["all", "new"]);
    let seats = |level: usize, step: usize| report.series.seats[level][step].round();
    assert_eq!([seats(0, 100), seats(1, 100)], [10.0, 0.0]);
    // The old level is empty, so at the adjustment after 30 seconds its shares are the new one's.
    assert_eq!([seats(0, 400), seats(1, 400)], [0.0, 30.0]);
    assert_eq!(report.flows[0].levels.len(), 2);
}

#[test]
fn what_would_take_forever_is_rejected() {
    let setup = setup(&[ONE], 10, Settings::default());
    let error = |flow| simulate(&scenario(60, vec![flow]), &setup, &mut |_| {}).unwrap_err();
    let many = flow("all", 1, Arrivals::Poisson { per_second: 1e9 }, exponential(MS));
    assert!(
        matches!(error(many), SimulationError::TooManyArrivals { requests, .. } if requests > MAX_REQUESTS as f64)
    );
    let crowd = flow("all", u32::MAX, closed(u32::MAX), exponential(MS));
    assert!(
        matches!(error(crowd), SimulationError::TooManyClients { clients } if clients > MAX_CLIENTS)
    );
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        (0.1..200.0).prop_map(|per_second| Arrivals::Poisson { per_second }),
        (0.1..200.0).prop_map(|per_second| Arrivals::Constant { per_second }),
        (1_u32..30).prop_map(closed),
    ]
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let seats = (0_u32..4, 0_u32..4, 0_u64..50);
    (any_arrivals(), 1_u32..5, 1_u32..100, seats, 1_u32..3000, 0_u32..5).prop_map(
        |(arrivals, clients, millis, (initial_seats, final_seats, latency), wait, from)| Flow {
            width: Width {
                initial_seats,
                final_seats,
                additional_latency: Duration::from_millis(latency),
            },
            wait_limit: wait * MS,
            from: from * SECOND,
            ..flow("all", clients, arrivals, exponential(millis * MS))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lost, and time adds up, whatever the flows.
    #[test]
    fn counts_and_seats_add_up(
        flows in proptest::collection::vec(any_flow(), 1..4),
        seats in 1_u32..20,
        profile in 0_usize..3,
    ) {
        let scenario = Scenario { warmup: Duration::ZERO, ..scenario(12, flows) };
        let [default, kubernetes, proposal] = profiles();
        let settings = [default, kubernetes, proposal][profile].1.clone();
        let report = run(&scenario, &setup(&[ONE], seats, settings));
        let counts = report.levels[0].figures.counts;
        prop_assert_eq!(counts.arrived, report.requests);
        prop_assert!(counts.dispatched + counts.rejected() <= counts.arrived);
        prop_assert!(counts.completed <= counts.dispatched);
        let by_flow: u64 = report.flows.iter().map(|flow| flow.figures.counts.arrived).sum();
        prop_assert_eq!(by_flow, counts.arrived);
        let series: f64 = report.series.seats[0].iter().sum::<f64>() * report.series.step_seconds;
        let total = report.levels[0].figures.seat_seconds;
        prop_assert!((series - total).abs() < 1e-6 * (1.0 + total), "{} {}", series, total);
        for (flow, series) in report.flows.iter().zip(&report.series.flows) {
            let sum = series.seats.iter().sum::<f64>() * report.series.window_seconds;
            let total = flow.figures.seat_seconds;
            prop_assert!((sum - total).abs() < 1e-6 * (1.0 + total), "{} {}", sum, total);
        }
        for flow in &report.flows {
            prop_assert!(flow.figures.wait.p50 <= flow.figures.wait.p99);
            prop_assert!(flow.figures.wait.p99 <= flow.figures.latency.max);
        }
    }
}

#[test]
fn progress_is_told_in_order() {
    let flows = vec![flow("all", 1, closed(100), Draw::Constant(MS))];
    let mut told: Vec<Time> = Vec::new();
    let setup = setup(&[ONE], 100, Settings::default());
    simulate(&scenario(6, flows), &setup, &mut |at| told.push(at)).unwrap();
    assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
}
