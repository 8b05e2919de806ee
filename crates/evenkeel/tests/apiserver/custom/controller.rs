//! `kube::runtime::Controller` with a finalizer, from the first object to the end of the definition
//! and beyond.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::StreamExt;
use kube::{
    Api, Client, Config, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    client::{Body, ClientBuilder},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        controller::{Action, Controller, Error},
        finalizer::{Event, finalizer},
        wait::await_condition,
        watcher,
    },
};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle};
use tower::util::MapRequestLayer;

use super::{
    define, in_time,
    lamp::{Lamp, LampSpec},
    undefine,
};
use crate::process::{Server, folder};

const FINALIZER: &str = "lighting.example.com/switch-off";
const N: usize = 12;
/// Until two failed attempts to watch are reported, with pauses between them: a list or a watch
/// each, and some that were under way.
const FEW: usize = 10;

/// What the controller did.
struct Operator {
    api: Api<Lamp>,
    /// The version up to which nothing is to be done, by name.
    settled: mpsc::UnboundedSender<(String, Option<String>)>,
    /// How often cleanup ran, by name.
    cleaned: Mutex<BTreeMap<String, usize>>,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Failed(#[from] kube::Error);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_reconciles_and_finalizes_until_its_definition_ends() {
    let data = folder("custom-controller");
    let server = Server::start(&data);
    let client = server.client().await;
    let api: Api<Lamp> = Api::namespaced(client.clone(), "default");
    define(&client, &Lamp::crd()).await;
    let n_requests = Arc::new(AtomicUsize::new(0));
    let mut running = run(counting(&server, n_requests.clone()).await);

    let names: Vec<String> = (0..N).map(|i| format!("lamp-{i}")).collect();
    for name in &names {
        create(&api, name).await;
    }
    running.settle(&api, &names).await;
    for name in &names {
        let lamp = api.get(name).await.unwrap();
        assert_eq!(lamp.finalizers(), [FINALIZER]);
        assert_eq!(lamp.status.unwrap().lit, 1);
    }
    let more = Patch::Merge(json!({"spec": {"bulbs": 3}}));
    api.patch(&names[0], &PatchParams::default(), &more).await.unwrap();
    running.settle(&api, &names[..1]).await;
    assert_eq!(api.get(&names[0]).await.unwrap().status.unwrap().lit, 3);

    // Some are deleted by themselves, the others with their definition.
    let (first, others) = names.split_at(N / 2);
    for name in first {
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }
    for name in first {
        let gone = await_condition(api.clone(), name, |lamp: Option<&Lamp>| lamp.is_none());
        in_time("cleanup", gone).await.unwrap();
    }
    assert_eq!(running.cleaned(), first.iter().map(|name| (name.clone(), 1)).collect());
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), others.len());
    undefine(&client, &Lamp::crd()).await;
    assert_eq!(running.cleaned(), names.iter().map(|name| (name.clone(), 1)).collect());

    let before = n_requests.load(Ordering::Relaxed);
    running.two_queue_errors().await;
    let n_in_vain = n_requests.load(Ordering::Relaxed) - before;
    assert!(n_in_vain <= FEW, "{n_in_vain} requests for a resource that is gone");

    define(&client, &Lamp::crd()).await;
    create(&api, "again").await;
    running.settle(&api, &["again".to_owned()]).await;
    running.task.abort();
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

async fn create(api: &Api<Lamp>, name: &str) {
    let lamp = Lamp::new(name, LampSpec { watts: 5, bulbs: 1, colour: None });
    api.create(&PostParams::default(), &lamp).await.unwrap();
}

/// A client that counts its requests.
async fn counting(server: &Server, n: Arc<AtomicUsize>) -> Client {
    let file = Kubeconfig::read_from(server.data.join("kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let count = MapRequestLayer::new(move |request: hyper::Request<Body>| {
        n.fetch_add(1, Ordering::Relaxed);
        request
    });
    ClientBuilder::try_from(config).unwrap().with_layer(&count).build()
}

/// A running controller.
struct Running {
    operator: Arc<Operator>,
    settled: mpsc::UnboundedReceiver<(String, Option<String>)>,
    queue_errors: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

fn run(client: Client) -> Running {
    let api: Api<Lamp> = Api::namespaced(client, "default");
    let (settled_tx, settled) = mpsc::unbounded_channel();
    let (errors_tx, queue_errors) = mpsc::unbounded_channel();
    let cleaned = Mutex::default();
    let operator = Arc::new(Operator { api: api.clone(), settled: settled_tx, cleaned });
    let results = Controller::new(api, watcher::Config::default()).run(
        reconcile,
        |_, _, _| Action::requeue(std::time::Duration::from_millis(100)),
        operator.clone(),
    );
    let task = tokio::spawn(results.for_each(move |result| {
        if let Err(Error::QueueError(error)) = result {
            let _ = errors_tx.send(error.to_string());
        }
        std::future::ready(())
    }));
    Running { operator, settled, queue_errors, task }
}

async fn reconcile(
    lamp: Arc<Lamp>,
    operator: Arc<Operator>,
) -> Result<Action, kube::runtime::finalizer::Error<Failed>> {
    let done = async |event| match event {
        Event::Apply(lamp) => operator.apply(&lamp).await,
        Event::Cleanup(lamp) => Ok(operator.cleanup(&lamp)),
    };
    finalizer(&operator.api, FINALIZER, lamp, done).await
}

impl Operator {
    async fn apply(&self, lamp: &Lamp) -> Result<Action, Failed> {
        if lamp.is_settled() {
            let _ = self.settled.send((lamp.name_any(), lamp.resource_version()));
            return Ok(Action::await_change());
        }
        let status =
            json!({"lit": lamp.spec.bulbs, "observedGeneration": lamp.metadata.generation});
        let status = Patch::Merge(json!({"status": status}));
        self.api.patch_status(&lamp.name_any(), &PatchParams::default(), &status).await?;
        Ok(Action::await_change())
    }

    fn cleanup(&self, lamp: &Lamp) -> Action {
        *self.cleaned.lock().unwrap().entry(lamp.name_any()).or_default() += 1;
        Action::await_change()
    }
}

impl Running {
    /// Waits until the controller has nothing left to do for these.
    async fn settle(&mut self, api: &Api<Lamp>, names: &[String]) {
        let mut versions = BTreeMap::new();
        for name in names {
            loop {
                let latest = api.get(name).await.unwrap();
                let version = latest.resource_version();
                if latest.is_settled() && versions.get(name) == Some(&version) {
                    break;
                }
                let (name, version) = in_time("settling", self.settled.recv()).await.unwrap();
                versions.insert(name, version);
            }
        }
    }

    fn cleaned(&self) -> BTreeMap<String, usize> {
        self.operator.cleaned.lock().unwrap().clone()
    }

    async fn two_queue_errors(&mut self) {
        for _ in 0..2 {
            let error = in_time("an error", self.queue_errors.recv()).await.unwrap();
            assert!(error.contains("404") || error.contains("not find"), "{error}");
        }
    }
}
