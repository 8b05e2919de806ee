//! The API server with more load than it has seats for: `cargo xtask bench overload`.
//!
//! The loads that the proposal of priority and fairness suggests to test with, each with fairness and
//! with the two limits from before it. The binary runs as it does in the field, with 8 + 4 seats. The
//! load comes from one thread, and those who are measured have another. A run takes a minute.
//!
//! `EVENKEEL_DATA` names the disk to measure, by a folder; `EVENKEEL_BINARY` another build to compare
//! with.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]
#![expect(clippy::unwrap_used, reason = "shared with tests")]

#[path = "../../tests/overload/rig/mod.rs"]
#[expect(dead_code, reason = "the tests do more")]
mod rig;

use std::{fs, time::Duration};

use crate::rig::{
    tally::Tally,
    thrash::{CONNECTIONS, Outcome, Thrash, run},
};

const TIME: Duration = Duration::from_secs(10);
/// Of heartbeats and leader election, in milliseconds.
const TARGET: f64 = 100.0;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = load_of_machine();
    for (thrash, name) in
        [(Thrash::ConfigMaps, "ConfigMaps"), (Thrash::ServiceAccounts, "ServiceAccounts")]
    {
        for (fairness, flag) in [("on", "true"), ("off", "false")] {
            let flags = [&format!("--enable-priority-and-fairness={flag}")[..]];
            let outcome =
                runtime.block_on(run(&format!("{name}-{fairness}"), thrash, &flags, TIME));
            println!("\n{name} by {CONNECTIONS} connections, fairness {fairness}");
            print(&outcome);
        }
    }
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
}

fn print(outcome: &Outcome) {
    println!(
        "{:28} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "served/s", "429", "p50 ms", "p99 ms", "max ms"
    );
    row("heartbeats of Nodes", &outcome.heartbeats, true);
    row("leader election", &outcome.leader, true);
    row("another tenant", &outcome.tenant, false);
    let load: Tally = [&outcome.load, &outcome.guilty].into_iter().cloned().collect();
    row("the tenant that runs amok", &load, false);
    let most = outcome.backlog.iter().max().copied().unwrap_or_default();
    let waiting = outcome.samples.iter().flat_map(|levels| levels.get("workload-low"));
    let waiting = waiting.map(|level| level.waiting).fold(0.0, f64::max);
    println!("most requests in the tenants' queues: {waiting}");
    println!(
        "garbage collector: at most {most} Secrets behind, 0 after {} ms",
        outcome.collected_after.as_millis()
    );
}

fn row(name: &str, tally: &Tally, has_target: bool) {
    assert!(tally.failed.is_empty(), "{name}: {:?}", tally.failed);
    let rate = tally.served() as f64 / TIME.as_secs_f64();
    let all = (tally.served() + tally.rejected).max(1);
    let rejected = 100.0 * tally.rejected as f64 / all as f64;
    let [p50, p99, most] =
        [0.5, 0.99, 1.0 - f64::EPSILON].map(|part| tally.quantile(part).as_secs_f64() * 1e3);
    let met = match has_target {
        true if p99 < TARGET && tally.rejected == 0 => "  met",
        true => "  not met",
        false => "",
    };
    println!("{name:28} {rate:9.0} {rejected:8.1}% {p50:9.1} {p99:9.1} {most:9.1}{met}");
}

/// Runnable tasks, averaged over the last minute: what else ran spoils the figures.
fn load_of_machine() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
