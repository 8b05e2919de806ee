//! A controller's view across restarts of the server: `watcher` and `reflector` lose nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use crate::process::{Server, folder, port};

const PATIENCE: Duration = Duration::from_secs(30);

/// What was written to the server, and must be seen.
#[derive(Debug, Default)]
struct Written {
    revisions: BTreeSet<String>,
    deleted: Vec<String>,
}

struct Controller {
    events: mpsc::UnboundedReceiver<Event<ConfigMap>>,
    store: reflector::Store<ConfigMap>,
    task: JoinHandle<()>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reflector_that_lists_and_watches_lives_through_restarts() {
    through_restarts("list-watch", watcher::Config::default().page_size(3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reflector_that_streams_its_list_lives_through_restarts() {
    through_restarts("streaming", watcher::Config::default().streaming_lists()).await;
}

async fn through_restarts(name: &str, config: watcher::Config) {
    let data = folder(name);
    let port = port();
    let mut server = Server::start_on(&data, port);
    let mut written = Written::default();
    write(&server, 0, &mut Written::default()).await;
    let mut controller = controller(&server, config).await;
    let mut seen = vec![];
    // The list comes first, so that everything written from here on arrives as an event.
    while !matches!(seen.last(), Some(Event::InitDone)) {
        seen.push(controller.next().await);
    }
    let n_listed = seen.len();
    for life in 1..=4 {
        write(&server, life, &mut written).await;
        // Clean or not, before everything was seen or after.
        match life % 2 {
            0 => server.stop(),
            _ => server.kill(),
        }
        server = Server::start_on(&data, port);
    }
    let api = server.config_maps().await;
    let last = json!({"metadata": {"name": "last"}});
    let last = api.create(&PostParams::default(), &serde_json::from_value(last).unwrap()).await;
    let last = last.unwrap().resource_version();
    loop {
        let event = controller.next().await;
        let is_last = matches!(&event, Event::Apply(object) if object.resource_version() == last);
        seen.push(event);
        if is_last {
            break;
        }
    }
    check_events(&seen[n_listed..], &written);
    let list = api.list(&ListParams::default()).await.unwrap();
    let listed: BTreeMap<String, ConfigMap> =
        list.into_iter().map(|object| (object.name_any(), object)).collect();
    let stored: BTreeMap<String, ConfigMap> = controller
        .store
        .state()
        .into_iter()
        .map(|object| (object.name_any(), Arc::unwrap_or_clone(object)))
        .collect();
    assert_eq!(listed, stored);
    controller.task.abort();
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Everything written arrived, once, without a second list.
fn check_events(seen: &[Event<ConfigMap>], written: &Written) {
    let mut revisions = BTreeSet::new();
    let mut deleted = Vec::new();
    for event in seen {
        let object = match event {
            Event::Apply(object) => object,
            Event::Delete(object) => {
                deleted.push(object.name_any());
                object
            }
            _ => panic!("it listed again: {event:?}"),
        };
        let revision = object.resource_version().unwrap();
        assert!(revisions.insert(revision), "twice: {object:?}");
    }
    let missing: Vec<_> = written.revisions.difference(&revisions).collect();
    assert!(missing.is_empty(), "{missing:?} of {written:?}");
    assert_eq!(deleted, written.deleted);
}

/// Creates, changes and deletes, from a separate client.
async fn write(server: &Server, life: usize, written: &mut Written) {
    let api: Api<ConfigMap> = server.config_maps().await;
    for i in 0..8 {
        let name = format!("life-{life}-{i}");
        let object = json!({"metadata": {"name": name}, "data": {"n": "0"}});
        let made = serde_json::from_value(object).unwrap();
        let made = api.create(&PostParams::default(), &made).await.unwrap();
        let patch = Patch::Merge(json!({"data": {"n": "1"}}));
        let patched = api.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        written.revisions.extend([made, patched].iter().filter_map(ResourceExt::resource_version));
        if i % 4 == 0 {
            api.delete(&name, &DeleteParams::default()).await.unwrap();
            written.deleted.push(name);
        }
    }
}

async fn controller(server: &Server, config: watcher::Config) -> Controller {
    let api = server.config_maps().await;
    let (store, writer) = reflector::store();
    let (send, events) = mpsc::unbounded_channel();
    let stream = reflector(writer, watcher(api, config).default_backoff());
    let task = tokio::spawn(stream.for_each(move |event| {
        // An error means that the server is away; the watcher reconnects.
        if let Ok(event) = event {
            let _ = send.send(event);
        }
        std::future::ready(())
    }));
    Controller { events, store, task }
}

impl Controller {
    async fn next(&mut self) -> Event<ConfigMap> {
        let event = timeout(PATIENCE, self.events.recv()).await;
        event.expect("an event comes in time").expect("the watcher goes on")
    }
}
