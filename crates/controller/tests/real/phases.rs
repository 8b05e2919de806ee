//! Every kind of Service, through adoption and release.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use evenkeel_controller::{
    Settings, WatchSettings, engine,
    handover::{Scope, release},
};
use evenkeel_model::label;
use futures_util::StreamExt as _;
use k8s_openapi::api::{
    core::v1::{Namespace, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, WatchEvent, WatchParams},
};
use serde_json::json;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    BuiltIn, PATIENCE,
    compare::{
        Content, MARK, SERVICE_NAME, assert_same, content, managed_by, slices, until, versions,
    },
    objects::{self, ENDPOINTS},
    say,
};

pub(crate) async fn run(client: &Client, built_in: &BuiltIn) {
    let id = std::process::id();
    let [theirs, ours] = ["theirs", "ours"].map(|who| format!("evenkeel-{who}-{id}"));
    objects::nodes(client).await;

    built_in.start();
    make(client, &theirs).await;
    let expected = endpoints(client, &theirs).await;
    until(client, &theirs, |slices| is_written(slices, &expected)).await;
    let before = marked(client, &theirs, "made").await;
    assert!(managed_by(&before, label::BUILT_IN));
    say(&format!("1. the built-in controller wrote {} slices", before.len()));

    built_in.stop();
    let tape = Tape::start(client, &theirs).await;
    let controller = Controller::start(client).await;
    let adopted = until(client, &theirs, |slices| managed_by(slices, label::EVENKEEL)).await;
    assert_same("adopted", &content(&adopted), &content(&before));
    make(client, &ours).await;
    until(client, &ours, |slices| is_written(slices, &expected)).await;
    let made = marked(client, &ours, "made").await;
    assert_same("from nothing", &content(&made), &content(&before));
    tape.only_relabelled(&before).await;
    say(&format!("2. ours adopted {} slices and wrote {} alike", adopted.len(), made.len()));

    for namespace in [&theirs, &ours] {
        change(client, namespace).await;
    }
    let adopted = until(client, &theirs, is_changed).await;
    let made = until(client, &ours, is_changed).await;
    assert_same("after changes", &without_auto(&made), &without_auto(&adopted));
    assert!(managed_by(&adopted, label::EVENKEEL));
    controller.stop().await;
    let at_rest = [slices(client, &theirs).await, slices(client, &ours).await];
    let controller = Controller::start(client).await;
    marked(client, &theirs, "restarted").await;
    for (namespace, before) in [&theirs, &ours].into_iter().zip(&at_rest) {
        unchanged(client, namespace, before).await;
    }
    controller.stop().await;
    say("   changes came out alike, and a restart wrote nothing");

    let tally = release(client.clone(), &Scope::default(), |_| {}).await.unwrap();
    assert_eq!((tally.skipped, tally.failed), (0, 0));
    let released = [slices(client, &theirs).await, slices(client, &ours).await];
    assert!(released.iter().all(|slices| managed_by(slices, label::BUILT_IN)));
    built_in.start();
    for (namespace, before) in [&theirs, &ours].into_iter().zip(&released) {
        marked(client, namespace, "released").await;
        unchanged(client, namespace, before).await;
    }
    say(&format!("3. {} slices were released, and the built-in controller wrote none", tally.done));
    built_in.stop();
    for namespace in [&theirs, &ours] {
        let api: Api<Namespace> = Api::all(client.clone());
        api.delete(namespace, &DeleteParams::default()).await.unwrap();
    }
}

async fn make(client: &Client, namespace: &str) {
    objects::namespace(client, namespace).await;
    objects::pods(client, namespace, "web", 0).await;
    objects::services(client, namespace).await;
}

/// How many endpoints each Service has in the end, over all families.
async fn endpoints(client: &Client, namespace: &str) -> Vec<(String, usize)> {
    let api: Api<Service> = Api::namespaced(client.clone(), namespace);
    let services = api.list(&ListParams::default()).await.unwrap();
    let expected = services.iter().map(|service| {
        let families = service.spec.as_ref().unwrap().ip_families.as_ref().unwrap().len();
        let each = if service.name_any() == "none" { 0 } else { ENDPOINTS };
        (service.name_any(), each * families)
    });
    expected.collect()
}

fn is_written(slices: &[EndpointSlice], expected: &[(String, usize)]) -> bool {
    expected.iter().all(|(service, n)| {
        let of = slices.iter().filter(|slice| slice.labels().get(SERVICE_NAME) == Some(service));
        let n_endpoints = |slice: &EndpointSlice| slice.endpoints.as_ref().map_or(0, Vec::len);
        of.clone().count() > 0 && of.map(n_endpoints).sum::<usize>() == *n
    })
}

/// Waits until a new Service has its slice, which tells that all that came before it was seen. The
/// slices of the other Services then.
pub(crate) async fn marked(client: &Client, namespace: &str, name: &str) -> Vec<EndpointSlice> {
    let name = format!("{MARK}{name}");
    objects::service(client, namespace, &name, "nobody", json!({}), json!({})).await;
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default().labels(&format!("{SERVICE_NAME}={name}"));
    let begun = Instant::now();
    while api.list(&params).await.unwrap().items.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{namespace}/{name} has no slice");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Syncs run beside each other, and the built-in controller waits a second before it tries one
    // again: what is on its way arrives within that.
    tokio::time::sleep(Duration::from_secs(2)).await;
    slices(client, namespace).await
}

/// That the slices there were are what they were.
pub(crate) async fn unchanged(client: &Client, namespace: &str, before: &[EndpointSlice]) {
    let now = versions(&slices(client, namespace).await);
    for (name, version) in versions(before) {
        assert_eq!(now.get(&name), Some(&version), "{namespace}/{name} was written");
    }
}

/// One Pod is no longer ready, another becomes so, a third is gone.
async fn change(client: &Client, namespace: &str) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for (number, ready) in [(4, "False"), (9, "True")] {
        let status = objects::pod_status("Running", ready, &objects::addresses(0, number));
        objects::status(&api, &format!("web-{number}"), status).await;
    }
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    api.delete("web-7", &now).await.unwrap();
}

/// Whether all slices say so.
fn is_changed(slices: &[EndpointSlice]) -> bool {
    slices.iter().all(|slice| {
        let always = slice.labels()[SERVICE_NAME] == "unready";
        slice.endpoints.iter().flatten().all(|endpoint| {
            let conditions = endpoint.conditions.as_ref().unwrap();
            let ready = (conditions.ready, conditions.serving);
            match endpoint.target_ref.as_ref().unwrap().name.as_deref().unwrap() {
                "web-4" => ready == (Some(always), Some(false)),
                "web-7" => false,
                _ => ready == (Some(true), Some(true)),
            }
        })
    })
}

/// Which endpoint is hinted for which zone depends, under Auto, on what was there before.
fn without_auto(slices: &[EndpointSlice]) -> Content {
    let others = slices.iter().filter(|slice| slice.labels()[SERVICE_NAME] != "auto");
    content(&others.cloned().collect::<Vec<_>>())
}

/// Ours, in this process.
pub(crate) struct Controller {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Controller {
    pub(crate) async fn start(client: &Client) -> Controller {
        Controller::start_with(client, engine::Scope::All).await
    }

    pub(crate) async fn start_with(client: &Client, scope: engine::Scope) -> Controller {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel();
        let client = client.clone();
        let engine = engine::Settings { scope, ..engine::Settings::default() };
        let settings = Settings {
            engine,
            election: None,
            listen: None,
            watches: WatchSettings::default(),
            reports: None,
            address: None,
        };
        let task = tokio::spawn(async move {
            let ready = |_| ready.send(()).unwrap_or_default();
            let stopped = async { drop(stopped.await) };
            evenkeel_controller::run(client, settings, ready, stopped).await.unwrap();
        });
        tokio::time::timeout(PATIENCE, is_ready).await.unwrap().unwrap();
        Controller { stop, task }
    }

    /// Without a word to anybody, like a process that is killed.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}

/// What happens to the slices of a namespace.
struct Tape {
    events: Arc<Mutex<Vec<WatchEvent<EndpointSlice>>>>,
    task: JoinHandle<()>,
}

impl Tape {
    async fn start(client: &Client, namespace: &str) -> Tape {
        let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let list = api.list(&ListParams::default()).await.unwrap();
        let from = list.metadata.resource_version.unwrap();
        let events = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&events);
        let task = tokio::spawn(async move {
            let events = api.watch(&WatchParams::default(), &from).await.unwrap();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                kept.lock().unwrap().push(event.unwrap());
            }
        });
        Tape { events, task }
    }

    /// That each slice there was has been written once, and says what it said.
    async fn only_relabelled(self, before: &[EndpointSlice]) {
        self.task.abort();
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        for slice in before {
            let of = |event: &&WatchEvent<EndpointSlice>| match event {
                WatchEvent::Added(now) | WatchEvent::Modified(now) | WatchEvent::Deleted(now) => {
                    now.name_any() == slice.name_any()
                }
                _ => false,
            };
            let events: Vec<_> = events.iter().filter(of).collect();
            let [WatchEvent::Modified(now)] = events[..] else {
                panic!("{}: {events:#?}", slice.name_any())
            };
            let was = content(std::slice::from_ref(slice));
            assert_same("relabelled", &content(std::slice::from_ref(now)), &was);
        }
    }
}
