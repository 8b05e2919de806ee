//! Slow elephants over real sockets, with all durations a tenth: one user sends as many requests of a
//! second as there are seats, again and again. The whole table is in simulated time, in
//! `fairness/tests/slow_flows.rs`; here each way to send is tried at one load.

use std::time::{Duration, Instant};

use tower_fairness::evenkeel_fairness::{Settings, SlowFlows};

use crate::{
    clients::{Caller, Load, Tally, run, steadily},
    config::tenants,
    server::Server,
    user,
};

const SEATS: usize = 10;
const SLOW: Duration = Duration::from_secs(1);
const MOUSE: Duration = Duration::from_millis(20);
/// For how long mice are alone: twice the half-life of the mean of their demand.
const BEFORE: Duration = Duration::from_secs(2);
/// For how long both send then, and how many requests in a row a seat serves in that time.
const RUN: Duration = Duration::from_millis(3_500);
const IN_A_ROW: f64 = 3.0;

/// How the elephants send.
#[derive(Clone, Copy, Debug)]
enum Elephants {
    /// Ten at once, every so many tenths of a second.
    Every(u32),
    /// Ten at any time.
    Closed,
    /// Five users, two at any time each.
    Five,
}

/// Maximum number of runs of a scenario.
const ATTEMPTS: usize = 3;

fn settings() -> Settings {
    let slow = SlowFlows {
        threshold: SLOW / 10,
        half_life: Duration::from_secs(30),
        longest: Duration::from_secs(6),
        window: Duration::from_secs(1),
        ..SlowFlows::default()
    };
    Settings { slow_flows: Some(slow), ..Settings::default() }
}

fn elephant(n: usize) -> Caller {
    let elephant = user(&format!("elephant-{n}"), "zoo");
    elephant.header("x-service-ms", "1000").header("x-patience-ms", "6000")
}

async fn server(settings: Settings) -> Server {
    Server::with(&tenants("{source: user}", "[]"), SEATS as u32, settings).await
}

/// So many users that each send ten requests a second ask for this part of the seats.
async fn mice(server: &Server, load: f64) -> Tally {
    let n = (load * SEATS as f64 / (10.0 * MOUSE.as_secs_f64())).round() as usize;
    let mouse = |n| user(&format!("mouse-{n}"), "zoo").header("x-service-ms", "20");
    let mice = (0..n).map(mouse).collect();
    let end = Instant::now() + BEFORE + RUN;
    steadily(server.address(), mice, 1, Duration::from_millis(100), end).await
}

async fn elephants(server: &Server, how: Elephants) -> Tally {
    let address = server.address();
    let users = if let Elephants::Five = how { 5 } else { 1 };
    let load = Load::among((0..SEATS).map(|n| elephant(n % users)).collect());
    match how {
        Elephants::Every(tenths) => {
            let period = tenths * SLOW / 10;
            steadily(address, vec![elephant(0)], SEATS, period, Instant::now() + RUN).await
        }
        _ => run(address, vec![load], vec![], RUN).await.loads.remove(0),
    }
}

/// Mice begin when the first burst is over, and elephants again when mice have begun. Returns what
/// became of mice, and how many seats elephants had beside them.
async fn beside(how: Elephants, load: f64, settings: Settings) -> (Tally, f64) {
    let server = server(settings).await;
    let users = if let Elephants::Five = how { 5 } else { 1 };
    let first = (0..SEATS).map(|n| elephant(n % users)).collect();
    run(server.address(), vec![Load::among(first)], vec![], SLOW / 10).await;
    let end = Instant::now() + BEFORE + RUN;
    let later = async {
        tokio::time::sleep(BEFORE).await;
        elephants(&server, how).await
    };
    let (mice, elephants) = tokio::join!(mice(&server, load), later);
    (mice, elephants.served_by(end) as f64 / IN_A_ROW)
}

/// Wall time over real sockets: other work on the machine may spoil a run, a defect spoils all of
/// them. In simulated time, `fairness/tests/slow_flows.rs` allows no second attempt.
async fn mice_do_not_wait(how: Elephants, load: f64, least: f64) {
    let mut problems = Vec::new();
    for _ in 0..ATTEMPTS {
        match attempt(how, load, least).await {
            Ok(()) => return,
            Err(problem) => problems.push(problem),
        }
    }
    panic!("{how:?}, {load}: {problems:?}");
}

/// Before: in the profile of Kubernetes. Timers of a busy machine add to what mice ask for, so that
/// elephants may have a seat less than in simulated time.
#[expect(clippy::print_stdout, reason = "figures for who runs it alone")]
async fn attempt(how: Elephants, load: f64, least: f64) -> Result<(), String> {
    let (before, after) =
        tokio::join!(beside(how, load, Settings::kubernetes()), beside(how, load, settings()),);
    for (name, (mice, seats)) in [("before", &before), ("after", &after)] {
        let (p50, p99) = (mice.median(), mice.quantile(0.99));
        let (rejected, all) = (mice.failed(), mice.served() + mice.failed());
        println!(
            "{how:?}, {load}, {name}: mice p50 {p50:?}, p99 {p99:?}, {rejected} of {all} rejected; elephants {seats:.2} seats"
        );
    }
    let [before_p99, p99] = [&before.0, &after.0].map(|mice| mice.quantile(0.99));
    let (rejected, seats) = (after.0.failed(), after.1);
    match () {
        () if before_p99 <= SLOW / 2 => Err(format!("harmless before: p99 {before_p99:?}")),
        () if p99 > SLOW / 2 || p99 >= before_p99 / 2 => Err(format!("mice wait: p99 {p99:?}")),
        () if rejected > 0 => Err(format!("{rejected} mice rejected")),
        () if seats < least => Err(format!("elephants have {seats} seats")),
        () => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_bursts_that_follow_each_other() {
    mice_do_not_wait(Elephants::Every(10), 0.8, 0.9).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_bursts_every_two_seconds() {
    mice_do_not_wait(Elephants::Every(20), 0.5, 2.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_bursts_every_three_seconds() {
    mice_do_not_wait(Elephants::Every(30), 0.2, 2.5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_bursts_every_six_seconds() {
    mice_do_not_wait(Elephants::Every(60), 0.5, 2.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_a_slow_elephant_in_a_closed_loop() {
    mice_do_not_wait(Elephants::Closed, 0.5, 2.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mice_do_not_wait_for_five_slow_elephants() {
    mice_do_not_wait(Elephants::Five, 0.8, 0.9).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_elephant_that_is_alone_has_all_seats() {
    let server = server(settings()).await;
    let end = Instant::now() + RUN;
    let served = elephants(&server, Elephants::Closed).await.served_by(end);
    let seats = served as f64 / IN_A_ROW;
    println!("{seats:.2} seats");
    assert!(seats > 9.0, "{seats}");
}
