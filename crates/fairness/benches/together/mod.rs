//! Two threads that do the same at the same time, on a machine that others use too.
//!
//! Whatever takes the processor away from one of two threads hides what they cost each other. So they
//! work in short bursts, which both begin together, and a burst counts only if neither of them waited
//! for a processor meanwhile: Linux counts that time for each thread. If no burst was undisturbed, the
//! shortest counts.

use std::{
    fs, hint,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// Short enough for most bursts to fit into a time slice.
const BURST: u64 = 1_000;

/// How many bursts there are for each that is asked for.
const TRIES: u64 = 3;

/// How long each of two threads takes to do its work `n` times. `make` makes the work of each, in its
/// thread.
pub(crate) fn both<F: FnMut()>(n: u64, make: impl Fn(usize) -> F + Sync) -> Duration {
    let rounds = TRIES * n.div_ceil(BURST);
    let line = StartLine::default();
    let run = |thread| bursts(&line, rounds, make(thread));
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        (run(0), other.join().expect("it does not panic"))
    });
    let slower = one.iter().zip(&other).map(|(one, other)| Burst {
        took: one.took.max(other.took),
        disturbed: one.disturbed || other.disturbed,
    });
    typical(&slower.collect::<Vec<_>>()).mul_f64(n as f64 / BURST as f64)
}

#[derive(Clone, Copy)]
struct Burst {
    took: Duration,
    disturbed: bool,
}

fn bursts(line: &StartLine, rounds: u64, mut work: impl FnMut()) -> Vec<Burst> {
    let burst = |_| {
        line.meet(thread::yield_now);
        let delay = run_delay();
        line.meet(hint::spin_loop);
        let start = Instant::now();
        (0..BURST).for_each(|_| work());
        Burst { took: start.elapsed(), disturbed: run_delay() != delay }
    };
    (0..rounds).map(burst).collect()
}

/// The median of those that were not disturbed.
fn typical(bursts: &[Burst]) -> Duration {
    let mut quiet: Vec<_> = bursts.iter().filter(|b| !b.disturbed).map(|b| b.took).collect();
    quiet.sort_unstable();
    let median = quiet.get(quiet.len() / 2).copied();
    median.or(bursts.iter().map(|b| b.took).min()).unwrap_or_default()
}

/// Where two threads wait for each other, again and again.
#[derive(Default)]
struct StartLine(AtomicU64);

impl StartLine {
    fn meet(&self, wait: impl Fn()) {
        let everyone = self.0.fetch_add(1, SeqCst) / 2 * 2 + 2;
        while self.0.load(SeqCst) < everyone {
            wait();
        }
    }
}

/// For how many nanoseconds this thread was ready to run and had no processor.
fn run_delay() -> Option<u64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split_whitespace().nth(1)?.parse().ok()
}
