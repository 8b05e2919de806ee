//! Beside Kubernetes' own controller while that is at work: opting in and out, withdrawing with a
//! crash in between, and the times of changes side by side.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use evenkeel_controller::engine::Scope;
use evenkeel_model::label;
use futures_util::StreamExt as _;
use k8s_openapi::api::{
    core::v1::{Endpoints, Namespace, Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    BuiltIn,
    compare::{SERVICE_NAME, managed_by, slices, until},
    objects::{self, ENDPOINTS},
    phases::Controller,
    say,
};

/// Ready endpoints of a Service over the Pods `web`.
const READY: usize = ENDPOINTS - 1;

pub(crate) async fn run(client: &Client, built_in: &BuiltIn) {
    let namespace = format!("evenkeel-beside-{}", std::process::id());
    objects::nodes(client).await;
    objects::namespace(client, &namespace).await;
    objects::pods(client, &namespace, "web", 7).await;
    built_in.start();
    opts_in_and_out(client, &namespace).await;
    times(client, &namespace, built_in).await;
    withdraws(client, &namespace, built_in).await;
    built_in.stop();
    let api: Api<Namespace> = Api::all(client.clone());
    api.delete(&namespace, &DeleteParams::default()).await.unwrap();
}

async fn opts_in_and_out(client: &Client, namespace: &str) {
    objects::service(client, namespace, "opting", "web", json!({}), json!({})).await;
    let is = |slices: &[EndpointSlice], manager: &str| {
        let of = of(slices, "opting");
        !of.is_empty() && managed_by(&of, manager) && ready(&of) == READY
    };
    until(client, namespace, |slices| is(slices, label::BUILT_IN)).await;
    let controller = Controller::start_with(client, Scope::Annotated).await;
    let tape = Tape::start(client, namespace, "opting").await;
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), namespace);
    for _ in 0..3 {
        opt(client, namespace, "opting", Some("app=web")).await;
        until(client, namespace, |slices| {
            let ours =
                |slice: &EndpointSlice| managed_by(std::slice::from_ref(slice), label::EVENKEEL);
            let of: Vec<_> = of(slices, "opting").into_iter().filter(ours).collect();
            ready(&of) == READY
        })
        .await;
        // Kubernetes' copy of this goes with it.
        endpoints.delete("opting", &DeleteParams::default()).await.unwrap();
        until(client, namespace, |slices| is(slices, label::EVENKEEL)).await;
        opt(client, namespace, "opting", None).await;
        until(client, namespace, |slices| is(slices, label::BUILT_IN)).await;
    }
    let least = tape.least_ready();
    assert_eq!(least, READY, "at no moment was a ready endpoint missing");
    controller.stop().await;
    say("5. opted in and out three times beside the built-in controller, without interruption");
}

/// Opts in with this selector, or out with that of the spec.
async fn opt(client: &Client, namespace: &str, name: &str, annotation: Option<&str>) {
    let selector = annotation.is_none().then(|| json!({"app": "web"}));
    let patch = json!({
        "metadata": {"annotations": {(label::SELECTOR): annotation}},
        "spec": {"selector": selector},
    });
    let api: Api<Service> = Api::namespaced(client.clone(), namespace);
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// Of two Services over the same Pods, one is ours and one the built-in controller's.
async fn times(client: &Client, namespace: &str, built_in: &BuiltIn) {
    let ours = json!({"annotations": {(label::SELECTOR): "app=web"}});
    let mut controller = Controller::start_with(client, Scope::Annotated).await;
    objects::service(client, namespace, "theirs", "web", json!({}), json!({})).await;
    objects::service(client, namespace, "ours", "web", ours, json!({"selector": null})).await;
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let [ours, theirs] = [created(&services, "ours").await, created(&services, "theirs").await];
    check_times(client, namespace, 0, [Some(ours), Some(theirs)]).await;
    let mut labels = 0;
    for (ready, time, restart) in [
        ("False", Some("2026-02-01T00:00:01Z"), false),
        ("True", Some("2026-02-01T00:00:02Z"), false),
        // A change that is no Pod's and no new Service's has no time.
        ("True", None, false),
        ("False", Some("2026-02-01T00:00:03Z"), false),
        ("True", Some("2026-02-01T00:00:04Z"), true),
        ("False", Some("2026-02-01T00:00:05Z"), false),
    ] {
        if restart {
            controller.stop().await;
            built_in.stop();
            built_in.start();
            controller = Controller::start_with(client, Scope::Annotated).await;
            settle(client, namespace).await;
        }
        match time {
            Some(time) => set_ready(client, namespace, ready, time).await,
            None => {
                labels += 1;
                for name in ["ours", "theirs"] {
                    let patch = json!({"metadata": {"labels": {"change": labels.to_string()}}});
                    let patch = Patch::Merge(patch);
                    services.patch(name, &PatchParams::default(), &patch).await.unwrap();
                }
            }
        }
        let expected = time.map(str::to_owned);
        check_times(client, namespace, labels, [expected.clone(), expected]).await;
    }
    set_ready(client, namespace, "True", "2026-02-01T00:00:06Z").await;
    controller.stop().await;
    say("6. both wrote the same times of changes, after restarts too");
}

/// Waits until both controllers have seen what there is.
async fn settle(client: &Client, namespace: &str) {
    let name = format!("mark-{}", slices(client, namespace).await.len());
    let ours = json!({"annotations": {(label::SELECTOR): "app=nobody"}});
    let mark = |name: String, metadata: Value, spec: Value| async move {
        objects::service(client, namespace, &name, "nobody", metadata, spec).await;
        let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let params = ListParams::default().labels(&format!("{SERVICE_NAME}={name}"));
        while api.list(&params).await.unwrap().items.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    mark(format!("{name}-ours"), ours, json!({"selector": null})).await;
    mark(format!("{name}-theirs"), json!({}), json!({})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
}

async fn created(services: &Api<Service>, name: &str) -> String {
    let service = services.get(name).await.unwrap();
    service.creation_timestamp().unwrap().0.to_string()
}

async fn set_ready(client: &Client, namespace: &str, ready: &str, time: &str) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut status = objects::pod_status("Running", ready, &objects::addresses(7, 0));
    status["conditions"][0]["lastTransitionTime"] = time.into();
    objects::status(&api, "web-0", status).await;
}

/// Waits until the slices of `ours` and `theirs` carry these times.
async fn check_times(
    client: &Client,
    namespace: &str,
    labels: usize,
    expected: [Option<String>; 2],
) {
    let is = |slices: &[EndpointSlice]| {
        ["ours", "theirs"].iter().zip(&expected).all(|(name, expected)| {
            let of = of(slices, name);
            let labelled = |slice: &EndpointSlice| match labels {
                0 => true,
                n => slice.labels().get("change").is_some_and(|value| *value == n.to_string()),
            };
            let time =
                |slice: &EndpointSlice| slice.annotations().get(label::TRIGGER_TIME).cloned();
            !of.is_empty() && of.iter().all(|slice| labelled(slice) && time(slice) == *expected)
        })
    };
    until(client, namespace, is).await;
}

/// Ours has all Services when the built-in controller comes back: it leaves them to that, also if it
/// is killed on the way.
async fn withdraws(client: &Client, namespace: &str, built_in: &BuiltIn) {
    built_in.stop();
    let controller = Controller::start_with(client, Scope::All).await;
    let is_ours = |slices: &[EndpointSlice]| managed_by(slices, label::EVENKEEL);
    until(client, namespace, is_ours).await;
    let tape = Tape::start(client, namespace, "theirs").await;
    built_in.start();
    let is_recorded = |slice: &EndpointSlice| slice.labels().contains_key(label::WITHDRAWN);
    until(client, namespace, |slices| slices.iter().any(is_recorded)).await;
    controller.kill().await;
    let controller = Controller::start_with(client, Scope::All).await;
    let is_left = |slices: &[EndpointSlice]| {
        ["theirs", "opting"].iter().all(|name| {
            let (records, others): (Vec<_>, Vec<_>) =
                of(slices, name).into_iter().partition(is_recorded);
            records.len() == 1 && managed_by(&others, label::BUILT_IN) && ready(&others) == READY
        })
    };
    let before = until(client, namespace, is_left).await;
    controller.stop().await;
    // Another restart takes nothing back, and neither controller writes any more.
    let controller = Controller::start_with(client, Scope::All).await;
    settle(client, namespace).await;
    let after = slices(client, namespace).await;
    for name in ["theirs", "opting"] {
        assert_eq!(of(&after, name), of(&before, name), "{name} is written again");
    }
    controller.stop().await;
    assert_eq!(tape.least_ready(), READY, "at no moment was a ready endpoint missing");
    say(
        "7. ours left Services to the built-in controller, killed on the way, without interruption",
    );
}

fn of(slices: &[EndpointSlice], service: &str) -> Vec<EndpointSlice> {
    let of = slices.iter().filter(|slice| slice.labels()[SERVICE_NAME] == service);
    of.cloned().collect()
}

/// Different ready Pods.
fn ready(slices: &[EndpointSlice]) -> usize {
    let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
    let ready = endpoints.filter(|endpoint| {
        endpoint.conditions.as_ref().is_some_and(|conditions| conditions.ready == Some(true))
    });
    let names = ready.filter_map(|endpoint| endpoint.target_ref.as_ref()?.name.clone());
    names.collect::<std::collections::BTreeSet<_>>().len()
}

/// How many Pods of a Service were ready at least, over all slices, at each change of them.
struct Tape {
    least: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Tape {
    async fn start(client: &Client, namespace: &str, service: &str) -> Tape {
        let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let selector = format!("{SERVICE_NAME}={service}");
        let list = api.list(&ListParams::default().labels(&selector)).await.unwrap();
        let from = list.metadata.resource_version.unwrap();
        let named = list.items.into_iter().map(|slice| (slice.name_any(), slice));
        let mut there: BTreeMap<String, EndpointSlice> = named.collect();
        let least = Arc::new(Mutex::new(READY));
        let seen = Arc::clone(&least);
        let task = tokio::spawn(async move {
            let params = WatchParams::default().labels(&selector);
            let mut events = std::pin::pin!(api.watch(&params, &from).await.unwrap());
            while let Some(event) = events.next().await {
                match event.unwrap() {
                    WatchEvent::Added(slice) | WatchEvent::Modified(slice) => {
                        there.insert(slice.name_any(), slice);
                    }
                    WatchEvent::Deleted(slice) => {
                        there.remove(&slice.name_any());
                    }
                    _ => continue,
                }
                let now = ready(&there.values().cloned().collect::<Vec<_>>());
                let mut least = seen.lock().unwrap();
                *least = now.min(*least);
            }
        });
        Tape { least, task }
    }

    fn least_ready(self) -> usize {
        self.task.abort();
        *self.least.lock().unwrap()
    }
}
