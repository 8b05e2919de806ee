//! The writer's thread, with journals that count, wait and fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as std_mpsc;

use evenkeel_store::{
    batch::{Expect, NewObject},
    history::Limits,
    journal::Replayed,
    object::ResourceId,
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use super::*;

type Gate = (std_mpsc::Sender<()>, std_mpsc::Receiver<Result<(), JournalError>>);

/// Counts syncs. With a gate, each sync signals that it began, then waits for its result.
#[derive(Default)]
struct Counting {
    syncs: Arc<AtomicUsize>,
    gate: Option<Gate>,
}

impl Journal for Counting {
    fn append(&mut self, _: &[Change]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        let Some((began, result)) = &self.gate else { return Ok(()) };
        began.send(()).unwrap();
        result.recv().unwrap()
    }

    fn replay(&mut self, _: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        Ok(())
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

fn state() -> Arc<RwLock<State>> {
    Arc::new(RwLock::new(State::new(["pods"], Limits::default())))
}

fn write(key: &str, expect: Expect, encoded: &str) -> Write {
    let encoded = encoded.as_bytes().to_vec().into();
    let object = Some(NewObject { labels: [].into(), fields: [].into(), encoded });
    Write { resource: ResourceId(0), key: key.into(), expect, object }
}

fn full() -> JournalError {
    JournalError::Full { path: "journal".to_owned() }
}

#[test]
fn the_same_object_again_is_answered_without_a_sync() {
    let syncs = Arc::new(AtomicUsize::new(0));
    let journal = Counting { syncs: syncs.clone(), gate: None };
    let (_writer, writes) = Writer::start(journal, state(), |_| {}).unwrap();
    let answers = runtime().block_on(async {
        let first = writes.write(write("a", Expect::Absent, "same")).await;
        (first, writes.write(write("a", Expect::Revision(1), "same")).await)
    });
    let (Ok(Outcome::Written(first)), Ok(Outcome::Unchanged(second))) = answers else {
        panic!("{answers:?}")
    };
    assert_eq!((first.revision, second.revision), (1, 1));
    assert_eq!(syncs.load(Ordering::SeqCst), 1);
}

#[test]
fn what_comes_during_a_sync_shares_the_next_and_a_failure_refuses_all_of_it() {
    let (began, has_begun) = std_mpsc::channel();
    let (go, result) = std_mpsc::channel();
    let journal = Counting { gate: Some((began, result)), ..Counting::default() };
    let (state, seen) = (state(), Arc::new(Mutex::new(Vec::new())));
    let published = seen.clone();
    let (writer, writes) = Writer::start(journal, state.clone(), move |changes: &[Change]| {
        published.lock().extend(changes.iter().map(|change| change.revision));
    })
    .unwrap();
    let runtime = runtime();
    let send = |key: &'static str, expect| {
        let writes = writes.clone();
        runtime.spawn(async move { writes.write(write(key, expect, "x")).await })
    };
    let first = send("first", Expect::Absent);
    has_begun.recv().unwrap();
    let rest = [("a", Expect::Absent), ("a", Expect::Absent), ("b", Expect::Absent)];
    let rest = rest.map(|(key, expect)| send(key, expect));
    while writes.queue.capacity() > QUEUE - 3 {
        std::thread::yield_now();
    }
    go.send(Ok(())).unwrap();
    assert!(runtime.block_on(first).unwrap().is_ok());
    has_begun.recv().unwrap();
    go.send(Err(full())).unwrap();
    for answer in rest {
        // One of them would be told that the other exists, which never happened.
        assert_eq!(runtime.block_on(answer).unwrap(), Err(WriteError::Journal(full())));
    }
    assert_eq!((state.read().revision(), &*seen.lock()), (1, &vec![1]));
    let again = send("a", Expect::Absent);
    has_begun.recv().unwrap();
    go.send(Ok(())).unwrap();
    assert!(runtime.block_on(again).unwrap().is_ok());
    assert_eq!((state.read().revision(), &*seen.lock()), (2, &vec![1, 2]));
    writer.stop();
}

#[test]
fn a_stop_completes_sent_writes_and_rejects_later_ones() {
    let (began, has_begun) = std_mpsc::channel();
    let (go, result) = std_mpsc::channel();
    let journal = Counting { gate: Some((began, result)), ..Counting::default() };
    let (writer, writes) = Writer::start(journal, state(), |_| {}).unwrap();
    let runtime = runtime();
    let sent = ["a", "b"].map(|key| {
        let writes = writes.clone();
        let sent =
            runtime.spawn(async move { writes.write(write(key, Expect::Absent, "x")).await });
        if key == "a" {
            has_begun.recv().unwrap();
        }
        sent
    });
    while writes.queue.capacity() == QUEUE {
        std::thread::yield_now();
    }
    go.send(Ok(())).unwrap();
    go.send(Ok(())).unwrap();
    writer.stop();
    for answer in sent {
        assert!(runtime.block_on(answer).unwrap().is_ok());
    }
    let late = runtime.block_on(writes.write(write("c", Expect::Absent, "x")));
    assert_eq!(late, Err(WriteError::Stopped));
}

/// Fails at the first sync.
struct Broken;

impl Journal for Broken {
    fn append(&mut self, _: &[Change]) -> Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        panic!("the disk is gone")
    }

    fn replay(&mut self, _: &mut dyn FnMut(Replayed)) -> Result<(), JournalError> {
        Ok(())
    }
}

#[test]
fn a_panicked_writer_rejects_all_writes_and_is_closed() {
    let (_writer, writes) = Writer::start(Broken, state(), |_| {}).unwrap();
    assert!(!writes.is_closed());
    let runtime = runtime();
    for key in ["a", "b"] {
        let answer = runtime.block_on(writes.write(write(key, Expect::Absent, "x")));
        assert_eq!(answer, Err(WriteError::Stopped));
    }
    assert!(writes.is_closed());
}

/// Clients that read, then write what they read plus one, each on a shared counter. In revision
/// order no step is lost, and no write is answered before an earlier one.
#[test]
fn histories_of_many_clients_are_sequential() {
    let state = state();
    let (_writer, writes) = Writer::start(Counting::default(), state.clone(), |_| {}).unwrap();
    let runtime = runtime();
    runtime.block_on(writes.write(write("n", Expect::Absent, "0"))).unwrap();
    let clients: Vec<_> =
        (0..8).map(|_| runtime.spawn(count(writes.clone(), state.clone()))).collect();
    let mut steps: Vec<(u64, u64, u64)> =
        clients.into_iter().flat_map(|client| runtime.block_on(client).unwrap()).collect();
    steps.sort_unstable_by_key(|(_, revision, _)| *revision);
    for (i, (seen_before, revision, number)) in steps.iter().enumerate() {
        assert_eq!((*revision, *number), (i as u64 + 2, i as u64 + 1));
        assert!(seen_before < revision, "answered in the past");
    }
    assert_eq!(steps.len(), 8 * 50);
}

/// For each step: the newest revision before it was requested, its own, and the number written.
async fn count(writes: WriteHandle, state: Arc<RwLock<State>>) -> Vec<(u64, u64, u64)> {
    let mut steps = Vec::new();
    while steps.len() < 50 {
        let (newest, object) = {
            let state = state.read();
            (state.revision(), state.object(ResourceId(0), "n").unwrap().clone())
        };
        let next = str::from_utf8(&object.encoded).unwrap().parse::<u64>().unwrap() + 1;
        let expect = Expect::Revision(object.revision);
        match writes.write(write("n", expect, &next.to_string())).await {
            Ok(Outcome::Written(object)) => steps.push((newest, object.revision, next)),
            Err(WriteError::Refused(Refused::Changed { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    steps
}

#[test]
fn a_name_has_one_id_whoever_registers_it_and_names_are_bounded() {
    let state = state();
    let (_writer, writes) = Writer::start(Counting::default(), state.clone(), |_| {}).unwrap();
    let runtime = runtime();
    let clients: Vec<_> = (0..20)
        .map(|client| {
            let writes = writes.clone();
            runtime.spawn(async move { writes.register(&format!("kind{}", client % 5)).await })
        })
        .collect();
    let mut ids: Vec<_> =
        clients.into_iter().map(|client| runtime.block_on(client).unwrap().unwrap()).collect();
    assert!(ids.chunks(5).all(|chunk| chunk == &ids[..5]));
    ids.truncate(5);
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5].map(ResourceId));
    let n_registered = state.read().n_resources();
    for n in n_registered..RESOURCES {
        state.write().register(&format!("other{n}"));
    }
    let refused = runtime.block_on(writes.register("one-more"));
    assert_eq!(refused, Err(WriteError::TooManyResources { limit: RESOURCES }));
    assert_eq!(runtime.block_on(writes.register("pods")), Ok(ResourceId(0)));
}
