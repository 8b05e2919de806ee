//! What priority and fairness adds to a request in the handler chain: the same get with and without
//! it, in CPU time of the one thread that does all of it. `cargo xtask bench fairness`.
//!
//! Target: at most 2 µs more.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use evenkeel_apiserver::fuzzing::Admissions;
use rustix::time::{ClockId, clock_gettime};

fn cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn chain(c: &mut Criterion) {
    let mut group = c.benchmark_group("chain/get");
    for (name, fairness) in [("without fairness", false), ("with fairness", true)] {
        let server = Admissions::start(fairness).expect("a machine with memory for a server");
        group.bench_function(name, |b| {
            b.iter_custom(|n| {
                let started = cpu();
                for _ in 0..n {
                    assert_eq!(black_box(&server).get(), 200);
                }
                cpu() - started
            });
        });
    }
}

criterion_group!(benches, chain);
criterion_main!(benches);
