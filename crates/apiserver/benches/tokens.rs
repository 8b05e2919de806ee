//! Authentication by the token of a ServiceAccount, bound to a Pod. `cargo bench -p
//! evenkeel-apiserver --bench tokens`.
//!
//! Target: a token that is known takes at most 1 µs, with the checks that its account and its Pod
//! exist. One that is not known takes the verification of a signature.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use evenkeel_apiserver::fuzzing::Tokens;

fn tokens(c: &mut Criterion) {
    let tokens = Tokens::start().expect("a machine with memory for a server");
    c.bench_function("token/warm", |b| b.iter(|| assert!(black_box(&tokens).warm())));
    c.bench_function("token/cold", |b| b.iter(|| assert!(black_box(&tokens).cold())));
}

criterion_group!(benches, tokens);
criterion_main!(benches);
