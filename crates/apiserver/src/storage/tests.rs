use std::{sync::mpsc, task::Poll};

use evenkeel_store::{Change, Journal, Limits, Replayed};
use futures_util::{FutureExt as _, poll};
use serde_json::{Value, json};

use super::*;
use crate::{
    document,
    kinds::{self, SERVICE},
    pools::{Pools, Reservation},
    settings::IpRange,
    writer::Writer,
};

/// Signals that a sync began, then waits for its result.
struct Gate {
    began: mpsc::Sender<()>,
    result: mpsc::Receiver<std::result::Result<(), JournalError>>,
}

impl Journal for Gate {
    fn append(&mut self, _: &[Change]) -> std::result::Result<(), JournalError> {
        Ok(())
    }

    fn sync(&mut self) -> std::result::Result<(), JournalError> {
        self.began.send(()).unwrap();
        // After the test, syncs succeed.
        self.result.recv().unwrap_or(Ok(()))
    }

    fn replay(&mut self, _: &mut dyn FnMut(Replayed)) -> std::result::Result<(), JournalError> {
        Ok(())
    }
}

struct Gated {
    storage: Storage,
    pools: Arc<Pools>,
    writes: WriteHandle,
    began: mpsc::Receiver<()>,
    go: mpsc::Sender<std::result::Result<(), JournalError>>,
    writer: Writer,
}

fn gated() -> Gated {
    let (began_at, began) = mpsc::channel();
    let (go, result) = mpsc::channel();
    let state = Arc::new(RwLock::new(State::new(kinds::names(), Limits::default())));
    let gate = Gate { began: began_at, result };
    let (writer, writes) = Writer::start(gate, state.clone(), |_| {}).unwrap();
    let range = IpRange { first: "10.9.0.0".parse().unwrap(), prefix: 24 };
    let pools = Arc::new(Pools::new(&[range], (30000, 30100)));
    let notifier = Arc::<ChangeNotifier>::default();
    let storage = Storage::new(state, writes.clone(), notifier);
    Gated { storage, pools, writes, began, go, writer }
}

fn reserved(pools: &Arc<Pools>, name: &str) -> (Value, Option<Reservation>) {
    let mut new = json!({
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    });
    let reservation = pools.reserve(&mut new, None, false, &mut |_| 0).unwrap();
    (new, Some(reservation))
}

/// How many addresses and ports are held by Services, and by writes in progress.
fn held(pools: &Pools) -> (usize, usize) {
    // Without the address that is always held.
    (pools.held().n_holders() - 1, pools.n_pending())
}

#[tokio::test]
async fn a_write_is_decided_by_its_commit_even_if_its_client_is_gone() {
    for (result, expected) in
        [(Ok(()), 2), (Err(JournalError::Full { path: "journal".to_owned() }), 0)]
    {
        let Gated { storage, pools, began, go, writer, .. } = gated();
        let (new, reservation) = reserved(&pools, "a");
        let new = document::stored(&SERVICE, &new);
        let on_decided = pools.clone().on_decided(None, Some(&new.encoded), reservation);
        let new = Next::Version(new);
        let mut write = Box::pin(storage.write(&SERVICE, "n/a", None, new, Some(on_decided)));
        assert!(matches!(poll!(&mut write), Poll::Pending));
        began.recv().unwrap();
        assert_eq!(held(&pools), (0, 2));
        drop(write);
        assert_eq!(held(&pools), (0, 2), "the write is still under way");
        go.send(result).unwrap();
        drop(go);
        writer.stop();
        assert_eq!(held(&pools), (expected, 0));
    }
}

#[tokio::test]
async fn a_resource_registered_while_it_runs_is_written_and_notified_like_any_other() {
    let state = Arc::new(RwLock::new(State::new(kinds::names(), Limits::default())));
    let notifier = Arc::<ChangeNotifier>::default();
    let published = {
        let notifier = notifier.clone();
        move |batch: &[Change]| notifier.notify(batch.iter().map(|change| change.resource))
    };
    let (began, _began) = mpsc::channel();
    let (_, result) = mpsc::channel();
    let (_writer, writes) =
        Writer::start(Gate { began, result }, state.clone(), published).unwrap();
    let storage = Storage::new(state, writes.clone(), notifier);
    let widgets = storage.register("widgets.example.com").await.unwrap();
    assert_eq!(storage.register("widgets.example.com").await.unwrap(), widgets);
    assert_eq!(storage.register("services").await.unwrap(), SERVICE.id());
    assert_eq!(widgets.index(), kinds::KINDS.len());
    let mut changed = Box::pin(storage.notify_of(widgets).notified());
    assert!(poll!(&mut changed).is_pending());
    let object = Some(NewObject { labels: [].into(), fields: [].into(), encoded: "x".into() });
    let (key, expect) = ("n/a".into(), Expect::Absent);
    writes.write(Write { resource: widgets, key, expect, object }).await.unwrap();
    changed.await;
    assert_eq!(storage.n_changes(&[widgets, SERVICE.id()]), 1);
    assert_eq!(storage.state().count(widgets), 1);
}

#[tokio::test]
async fn a_write_that_was_never_sent_releases_its_reservation() {
    let Gated { storage, pools, writes, began, go, writer } = gated();
    let fill = |i: usize| {
        let object = Some(NewObject { labels: [].into(), fields: [].into(), encoded: "x".into() });
        let key = i.to_string().into();
        let write = Write { resource: ResourceId(0), key, expect: Expect::Absent, object };
        writes.write(write).boxed()
    };
    let mut first = fill(0);
    assert!(poll!(&mut first).is_pending());
    began.recv().unwrap();
    // More than fit into the queue while the first is being synced.
    let mut others: Vec<_> = (1..1100).map(fill).collect();
    for other in &mut others {
        assert!(poll!(other).is_pending());
    }
    let (new, reservation) = reserved(&pools, "a");
    let new = document::stored(&SERVICE, &new);
    let on_decided = pools.clone().on_decided(None, Some(&new.encoded), reservation);
    let new = Next::Version(new);
    let mut write = Box::pin(storage.write(&SERVICE, "n/a", None, new, Some(on_decided)));
    assert!(matches!(poll!(&mut write), Poll::Pending));
    assert_eq!(held(&pools), (0, 2));
    drop(write);
    assert_eq!(held(&pools), (0, 0));
    drop((go, others));
    writer.stop();
    assert!(storage.object(&SERVICE, "n/a").is_none());
}
