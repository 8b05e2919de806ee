//! The clock of these tests goes on when all tasks wait: a pause lets all that is under way happen.

use evenkeel_k8s::watch::Batch;
use evenkeel_model::Watched;
use kube::{Client, Config};

use super::*;
use crate::{engine::Settings, health::health, recorder::recorder};

struct Running {
    batches: mpsc::Sender<Received>,
    stop: CancellationToken,
    is_synced: oneshot::Receiver<()>,
    metrics: Arc<Metrics>,
    vitals: Arc<Vitals>,
    task: tokio::task::JoinHandle<()>,
}

fn received(batch: Batch) -> Received {
    Received { at: Instant::now(), batch }
}

/// An owner whose API server is away.
fn running(leading: Leading) -> Running {
    let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let (send, batches) = mpsc::channel(8);
    let (synced, is_synced) = oneshot::channel();
    let (stop, start) = (CancellationToken::new(), Instant::now());
    let (metrics, vitals) = (Arc::new(Metrics::new()), Arc::new(Vitals::new(start)));
    let (recorder, _) = recorder(client.clone(), Arc::clone(&metrics));
    let owner = Owner {
        engine: Engine::new(Settings::default()),
        intake: Intake::new(Arc::clone(&metrics)),
        writes: Writes::new(client),
        recorder,
        metrics: Arc::clone(&metrics),
        vitals: Arc::clone(&vitals),
        start,
        synced: Some(synced),
        n_withdrawn: 0,
        syncs: Default::default(),
    };
    let task = tokio::spawn(owner.run(Inputs { batches, leading, stop: stop.clone() }));
    Running { batches: send, stop, is_synced, metrics, vitals, task }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn is_leader(metrics: &Metrics) -> bool {
    metrics.text().contains("evenkeel_controller_leader 1\n")
}

#[tokio::test(start_paused = true)]
async fn who_loses_the_lease_or_the_sight_of_it_leads_no_more() {
    let (send, leading) = watch::channel(false);
    let running = running(Leading::Elected(leading));
    pause().await;
    assert!(!is_leader(&running.metrics));
    for leading in [true, false, true] {
        send.send(leading).unwrap();
        pause().await;
        assert_eq!(is_leader(&running.metrics), leading);
    }
    drop(send);
    pause().await;
    assert!(!is_leader(&running.metrics), "nobody renews the lease");
    running.stop.cancel();
    running.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_alone_leads_until_it_is_stopped() {
    let running = running(Leading::Always);
    pause().await;
    assert!(is_leader(&running.metrics));
    running.stop.cancel();
    running.task.await.unwrap();
    assert!(!is_leader(&running.metrics));
}

#[tokio::test(start_paused = true)]
async fn it_is_synced_when_all_four_lists_are_complete_and_gives_signs_of_life() {
    let mut running = running(Leading::Always);
    let supervisor = evenkeel_admin::supervisor::Supervisor::new(Default::default(), |_, _| {});
    let health = health(&running.vitals, &supervisor);
    let code = |path| health.answer(path, None).unwrap().status().as_u16();
    let batches = [
        Batch::Nodes(vec![Watched::Restarted, Watched::Complete]),
        Batch::Pods(vec![Watched::Restarted, Watched::Complete]),
        Batch::Services(vec![Watched::Restarted, Watched::Complete]),
    ];
    for batch in batches {
        running.batches.send(received(batch)).await.unwrap();
    }
    pause().await;
    assert_eq!(code("/readyz/synced"), 500);
    assert!(running.is_synced.try_recv().is_err());
    let last = Batch::Slices(vec![Watched::Restarted, Watched::Complete]);
    running.batches.send(received(last)).await.unwrap();
    running.is_synced.await.unwrap();
    assert_eq!(code("/readyz/synced"), 200);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(code("/livez/engine"), 200);
    running.stop.cancel();
    running.task.await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(code("/livez/engine"), 500, "nobody is there any more");
}
