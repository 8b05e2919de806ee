//! Durable writes and startup, without HTTP. `cargo xtask bench apiserver`.
//!
//! Targets of the whole server: 10,000 creates per second on 64 connections, 1,500 on one, ready in
//! 200 ms with 20,000 objects of 1.2 KB. `EVENKEEL_DATA` names the disk to measure, by a directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_apiserver::{journal::FileJournal, writer::Writer};
use evenkeel_store::{
    batch::{Expect, NewObject, Write},
    history::Limits,
    journal::{Journal, JournalError, Replayed},
    object::{Change, ResourceId},
    state::State,
};
use parking_lot::RwLock;

const NAMES: [&str; 2] = ["configmaps", "pods"];
const N_OBJECTS: usize = 20_000;

fn scratch(name: &str) -> PathBuf {
    let parent = std::env::var_os("EVENKEEL_DATA").map_or_else(std::env::temp_dir, PathBuf::from);
    let path = parent.join(format!("evenkeel-bench-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn write(n: usize) -> Write {
    let text = |key: &str, value: String| (key.into(), value.into_boxed_str());
    let object = NewObject {
        labels: [text("app", format!("app-{}", n % 100)), text("tier", "backend".to_owned())]
            .into(),
        fields: [format!("node-{}", n % 50).into(), "Running".into()].into(),
        encoded: vec![b'a' + (n % 26) as u8; 1_200].into(),
    };
    let key = format!("namespace-{}/object-{n}", n % 20).into();
    Write { resource: ResourceId(1), key, expect: Expect::Absent, object: Some(object) }
}

/// Stores nothing: measures the round trip to the writer's thread.
struct Nothing;

impl Journal for Nothing {
    fn append(&mut self, _: &[Change]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    fn replay(&mut self, _: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        Ok(())
    }
}

fn hand_off(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.expect("a runtime starts");
    let state = Arc::new(RwLock::new(State::new(NAMES, Limits::default())));
    let (writer, writes) = Writer::start(Nothing, state, |_| {}).expect("a thread starts");
    let mut made = 0;
    criterion.bench_function("hand-off", |bencher| {
        bencher.iter(|| {
            made += 1;
            runtime.block_on(writes.write(write(made))).expect("nothing can fail")
        });
    });
    writer.stop();
}

/// Each of several clients creates one object after the other.
fn creates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("durable creates");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(8));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.expect("a runtime starts");
    for n_clients in [1, 64] {
        let directory = scratch("creates");
        let journal = FileJournal::open(&directory, NAMES).expect("a new directory opens");
        let state = Arc::new(RwLock::new(State::new(NAMES, Limits::default())));
        let (writer, writes) = Writer::start(journal, state, |_| {}).expect("a thread starts");
        let mut made = 0;
        group.bench_function(format!("{n_clients} clients"), |bencher| {
            bencher.iter_custom(|n| {
                let start = Instant::now();
                let clients: Vec<_> = (0..n_clients)
                    .map(|client| {
                        let mine = (made + client..made + n as usize).step_by(n_clients);
                        let writes = writes.clone();
                        runtime.spawn(async move {
                            for n in mine {
                                writes.write(write(n)).await.expect("there is space");
                            }
                        })
                    })
                    .collect();
                for client in clients {
                    runtime.block_on(client).expect("no client panics");
                }
                made += n as usize;
                start.elapsed()
            });
        });
        writer.stop();
        let _ = std::fs::remove_dir_all(&directory);
    }
    group.finish();
}

fn start(criterion: &mut Criterion) {
    let directory = scratch("start");
    fill(&directory);
    let mut group = criterion.benchmark_group("start");
    group.sample_size(20);
    group.bench_function("20,000 objects", |bencher| {
        bencher.iter(|| {
            let mut journal = FileJournal::open(&directory, NAMES).expect("it opens again");
            let mut state = State::new(NAMES, Limits::default());
            journal.replay(&mut |replayed| state.replay(replayed)).expect("it is whole");
            assert_eq!(state.revision(), N_OBJECTS as u64);
            state
        });
    });
    group.finish();
    let _ = std::fs::remove_dir_all(&directory);
}

fn fill(directory: &std::path::Path) {
    let journal = FileJournal::open(directory, NAMES).expect("a new directory opens");
    let state = Arc::new(RwLock::new(State::new(NAMES, Limits::default())));
    let mut committer = evenkeel_apiserver::writer::Committer::new(journal, state, |_| {});
    for batch in 0..N_OBJECTS / 100 {
        let answers = committer.commit((batch * 100..(batch + 1) * 100).map(write));
        assert!(answers.iter().all(Result::is_ok));
        committer.compact();
    }
}

criterion_group!(benches, hand_off, creates, start);
criterion_main!(benches);
