//! Slow elephants: one user sends requests that take ten seconds, as many as there are seats, and a
//! thousand others must not notice, from the second burst on.
//!
//! Before: the same in the profile of Kubernetes.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{sync::Arc, time::Duration};

use evenkeel_fairness::{
    Settings, Width,
    config::{Config, Distinguisher, Handling, Level, Predicate, Queuing, Schema, Source},
    simulate::{
        Arrivals, Burst, Draw, Figures, Flow, FlowReport, Report, Scenario, Setup, simulate,
    },
};

use crate::support::{closed, flow};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const SEATS: u32 = 10;

/// The first burst is of a flow that nobody knows. By then its backlog is gone: at a load of 80 % it is
/// more than 6,000 requests, and a seat more than the mice need serves 100 in a second.
const SECOND_BURST: u32 = 100;
const END: u32 = 165;

/// How the elephants send.
#[derive(Clone, Copy, Debug)]
enum Elephants {
    /// Ten at once, every so many seconds.
    Every(u32),
    /// Ten at any time.
    Closed,
    /// Five users, two at any time each.
    Five,
}

/// When the second burst comes.
#[derive(Clone, Copy, Debug)]
enum Second {
    /// When the backlog of the first is gone.
    Later,
    /// As the others do; what is measured begins when the backlog of the first is gone.
    AtOnce,
}

const ALL: [Elephants; 6] = [
    Elephants::Every(10),
    Elephants::Every(20),
    Elephants::Every(30),
    Elephants::Every(60),
    Elephants::Closed,
    Elephants::Five,
];

fn config() -> Config {
    let queuing = Queuing { queues: 128, hand_size: 6, queue_length_limit: 50 };
    let level = Level {
        name: "all".into(),
        uid: Arc::default(),
        shares: 10,
        lendable_percent: 0,
        borrowing_limit_percent: None,
        handling: Handling::Queue(queuing),
        implied: false,
    };
    let schema = Schema {
        name: "all".into(),
        uid: Arc::default(),
        precedence: 1,
        level: 0,
        distinguisher: Some(Distinguisher { source: Source::User, transform: None }),
        predicate: Predicate::Match(Vec::new()),
        implied: false,
    };
    Config { levels: vec![level], schemas: vec![schema], fallback: 0 }
}

/// A thousand users that ask for `load` of the seats together.
fn mice(load: f64) -> Flow {
    mice_of(10 * MS, load * f64::from(SEATS))
}

fn mice_of(mean: Duration, seats: f64) -> Flow {
    let per_second = seats / mean.as_secs_f64() / 1000.0;
    let service = Draw::Exponential { mean };
    flow("mice", "mouse-{n}", 1000, Arrivals::Poisson { per_second }, service)
}

/// So many requests within a tenth of a second. Unlike mice they wait for as long as it takes.
fn burst(name: &str, user: &str, each: u32) -> Flow {
    let arrivals = Arrivals::Constant { per_second: f64::from(each) * 10.0 };
    let service = Draw::Constant(10 * SECOND);
    Flow { wait_limit: 60 * SECOND, ..flow(name, user, 1, arrivals, service) }
}

fn elephants(how: Elephants, second: Second) -> Vec<Flow> {
    let users = if let Elephants::Five = how { 5 } else { 1 };
    let each = 10 / users;
    let on = 100 * MS;
    let mut flows = Vec::new();
    for user in (0..users).map(|n| format!("elephant-{n}")) {
        let all = burst("elephants", &user, each);
        let all = match how {
            Elephants::Every(seconds) => {
                Flow { burst: Some(Burst { on, off: seconds * SECOND - on }), ..all }
            }
            _ => Flow { arrivals: closed(each), ..all },
        };
        let from = match second {
            Second::AtOnce => SECOND,
            Second::Later => {
                let first = burst("first burst", &user, each);
                flows.push(Flow { from: SECOND, until: Some(SECOND + on), ..first });
                SECOND_BURST * SECOND
            }
        };
        flows.push(Flow { from, ..all });
    }
    flows
}

fn run(flows: Vec<Flow>, settings: Settings) -> Report {
    run_on(SEATS, flows, settings)
}

fn run_on(server_limit: u32, flows: Vec<Flow>, settings: Settings) -> Report {
    let scenario =
        Scenario { duration: END * SECOND, warmup: SECOND_BURST * SECOND, seed: 1, flows };
    let setup = Setup { config: config(), server_limit, settings, changes: Vec::new() };
    simulate(&scenario, &setup, &mut |_| {}).unwrap()
}

fn of<'r>(report: &'r Report, name: &str) -> impl Iterator<Item = &'r FlowReport> {
    report.flows.iter().filter(move |flow| flow.flow == name)
}

fn seats_of_elephants(report: &Report) -> f64 {
    let all: f64 = of(report, "elephants").map(|flow| flow.figures.seat_seconds).sum();
    all / report.measured_seconds
}

/// What mice saw, and how many seats elephants had.
#[expect(clippy::print_stdout, reason = "figures for who runs it alone")]
fn figures(load: f64, how: Elephants, second: Second, settings: Settings) -> (Figures, f64) {
    let mut flows = elephants(how, second);
    flows.push(mice(load));
    let report = run(flows, settings);
    let mice = of(&report, "mice").next().unwrap().figures.clone();
    let seats = seats_of_elephants(&report);
    println!(
        "{load}, {how:?}, {second:?}: mice p50 {:.3} s, p99 {:.3} s, {} of {} rejected; elephants {seats:.2} seats",
        mice.latency.p50,
        mice.latency.p99,
        mice.counts.rejected(),
        mice.counts.arrived,
    );
    (mice, seats)
}

fn check(load: f64, how: Elephants) {
    let (before, _) = figures(load, how, Second::Later, Settings::kubernetes());
    assert!(before.latency.p99 > 0.5, "{load}, {how:?}: the scenario is harmless");
    let asked = match how {
        Elephants::Every(seconds) => 100.0 / f64::from(seconds),
        _ => 10.0,
    };
    let target: f64 = if load > 0.5 { 0.9 } else { 2.5 };
    for second in [Second::Later, Second::AtOnce] {
        let (mice, seats) = figures(load, how, second, Settings::default());
        assert!(mice.latency.p99 <= 0.5, "{load}, {how:?}, {second:?}: {}", mice.latency.p99);
        assert_eq!(mice.counts.rejected(), 0, "{load}, {how:?}, {second:?}");
        let least = target.min(0.9 * asked);
        assert!(seats >= least, "{load}, {how:?}, {second:?}: {seats} of {asked} seats");
    }
}

#[test]
fn mice_do_not_wait_for_slow_elephants_at_a_load_of_20_percent() {
    ALL.into_iter().for_each(|how| check(0.2, how));
}

#[test]
fn mice_do_not_wait_for_slow_elephants_at_a_load_of_50_percent() {
    ALL.into_iter().for_each(|how| check(0.5, how));
}

#[test]
fn mice_do_not_wait_for_slow_elephants_at_a_load_of_80_percent() {
    ALL.into_iter().for_each(|how| check(0.8, how));
}

#[test]
fn an_elephant_that_is_alone_has_all_seats() {
    let report = run(elephants(Elephants::Closed, Second::Later), Settings::default());
    let seats = seats_of_elephants(&report);
    assert!(seats > 9.9, "{seats}");
}

#[test]
fn when_the_mice_are_gone_the_elephant_has_all_seats_within_ten_seconds() {
    let gone = SECOND_BURST + 20;
    let mut flows = elephants(Elephants::Closed, Second::Later);
    flows.push(Flow { until: Some(gone * SECOND), ..mice(0.8) });
    let report = run(flows, Settings::default());
    let step = report.series.step_seconds;
    // Half a second later: the last mouse has ended by then, and the step began after that.
    let seats = |at: u32| report.series.seats[0][((f64::from(at) + 0.5) / step) as usize];
    assert!(seats(gone + 1) < 5.0, "{}", seats(gone + 1));
    for at in 10..30 {
        assert!(seats(gone + at) > 9.9, "{} after {at} s", seats(gone + at));
    }
}

/// Two seats' worth of requests of 10 ms, besides ten of ten seconds at any time: a mean over
/// requests would be 0.06 s, that over seat-time is 8 s.
#[test]
fn an_elephant_that_sends_cheap_requests_too_is_slow_all_the_same() {
    let mut flows = elephants(Elephants::Closed, Second::AtOnce);
    let cheap = Arrivals::Poisson { per_second: 200.0 };
    flows.push(flow("cheap", "elephant-0", 1, cheap, Draw::Exponential { mean: 10 * MS }));
    flows.push(mice(0.5));
    let report = run(flows, Settings::default());
    let mice = &of(&report, "mice").next().unwrap().figures;
    println!("mice p99 {:.3} s", mice.latency.p99);
    assert!(mice.latency.p99 <= 0.5 && mice.counts.rejected() == 0, "{mice:?}");
}

/// Seats can only be shared: what is asked for beyond them is rejected, but an elephant does not
/// starve. In Kubernetes it has 0.3 seats here.
#[test]
fn mice_that_ask_for_more_than_all_seats_do_not_starve_an_elephant() {
    let mut flows = elephants(Elephants::Closed, Second::AtOnce);
    flows.iter_mut().for_each(|elephant| elephant.wait_limit = 15 * SECOND);
    flows.push(mice(1.2));
    let seats = seats_of_elephants(&run(flows, Settings::default()));
    println!("{seats:.2} seats");
    assert!((0.3..1.1).contains(&seats), "{seats}");
}

/// A hundred seats, of which each of the elephant's requests takes ten; four are left for slow flows
/// at a load of 80 %, but one may always go.
#[test]
fn wide_requests_of_a_slow_elephant_keep_no_mouse_waiting() {
    for (load, least) in [(0.2, 45.0), (0.5, 25.0), (0.8, 9.0)] {
        let mut flows = elephants(Elephants::Closed, Second::AtOnce);
        flows.iter_mut().for_each(|elephant| elephant.width = Width::seats(10));
        flows.push(mice_of(50 * MS, 100.0 * load));
        let report = run_on(100, flows, Settings::default());
        let mice = &of(&report, "mice").next().unwrap().figures;
        let (p99, seats) = (mice.latency.p99, seats_of_elephants(&report));
        println!("{load}: mice p99 {p99:.3} s; elephant {seats:.2} seats");
        assert!(p99 <= 0.5 && mice.counts.rejected() == 0, "{load}: {mice:?}");
        assert!(seats >= least, "{load}: {seats}");
    }
}
