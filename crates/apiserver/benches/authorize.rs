//! Authorization as a request meets it, over the stored roles: with the locks, and with the check
//! for changes. `cargo xtask bench authorization`.
//!
//! Target: at most 1 µs with the default roles, 2 µs with 10,000 roles and bindings.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use evenkeel_apiserver::fuzzing::Authorizations;

fn authorize(c: &mut Criterion) {
    for (name, n_roles) in [("default roles", 0), ("10,000 roles and bindings", 10_000)] {
        let server = Authorizations::start(n_roles).expect("a machine with memory for a server");
        let mut group = c.benchmark_group(format!("layer/{name}"));
        group.bench_function("allowed", |b| b.iter(|| assert!(black_box(&server).allowed())));
        group.bench_function("denied", |b| b.iter(|| assert!(black_box(&server).denied())));
        group.bench_function("create a binding, delete it, ask", |b| {
            b.iter(|| assert!(black_box(&server).change()));
        });
    }
}

criterion_group!(benches, authorize);
criterion_main!(benches);
