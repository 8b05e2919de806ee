//! Zone shares and hints for several zones: a real API server keeps them, the controller settles, and
//! handing over takes the shares off.

use evenkeel_controller::handover::{Scope, release};
use evenkeel_model::label;
use k8s_openapi::api::{
    core::v1::{Namespace, Node, Pod},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    BuiltIn,
    compare::{SERVICE_NAME, managed_by, slices, until, versions},
    objects::{self, NODES},
    phases::{Controller, marked, unchanged},
    say,
};

/// 2, 1 and 1 endpoints in three equal zones, as KEP-2433 has them.
const TABLE: &str = r#"{"za":{"za":1000},"zb":{"za":250,"zb":750},"zc":{"za":250,"zc":750}}"#;

pub(crate) async fn run(client: &Client, built_in: &BuiltIn) {
    let namespace = format!("evenkeel-shares-{}", std::process::id());
    built_in.stop();
    objects::nodes(client).await;
    regions(client).await;
    objects::namespace(client, &namespace).await;
    pods(client, &namespace).await;
    for (name, policy) in [("balanced", "Balanced"), ("region", "PreferSameRegion")] {
        let annotations = json!({"annotations": {label::TRAFFIC_DISTRIBUTION: policy}});
        objects::service(client, &namespace, name, "four", annotations, json!({})).await;
    }
    let controller = Controller::start(client).await;
    let written = until(client, &namespace, |slices| {
        of(slices, "balanced").is_some_and(|slice| shares(slice) == Some(TABLE))
            && of(slices, "region").is_some_and(is_hinted_for_two_zones)
    })
    .await;
    let balanced = of(&written, "balanced").unwrap();
    assert!(balanced.endpoints.iter().flatten().all(|endpoint| endpoint.hints.is_none()));
    controller.stop().await;

    let before = slices(client, &namespace).await;
    let controller = Controller::start(client).await;
    marked(client, &namespace, "restarted").await;
    unchanged(client, &namespace, &before).await;
    controller.stop().await;
    say("8. the API server keeps zone shares and hints for two zones; a restart writes nothing");

    release(client.clone(), &Scope::default(), |_| {}).await.unwrap();
    let released = slices(client, &namespace).await;
    assert!(managed_by(&released, label::BUILT_IN));
    assert!(released.iter().all(|slice| shares(slice).is_none()));
    built_in.start();
    marked(client, &namespace, "released").await;
    let now = slices(client, &namespace).await;
    assert!(now.iter().all(|slice| shares(slice).is_none()));
    assert_eq!(versions(&now).len(), versions(&released).len());
    built_in.stop();
    say("   released slices have no zone shares");
    let api: Api<Namespace> = Api::all(client.clone());
    api.delete(&namespace, &DeleteParams::default()).await.unwrap();
}

/// The first two zones are in one region.
async fn regions(client: &Client) {
    let api: Api<Node> = Api::all(client.clone());
    for ((name, _), region) in NODES.into_iter().zip(["r1", "r1", "r2"]) {
        let labels = json!({"metadata": {"labels": {label::REGION: region}}});
        api.patch(name, &PatchParams::default(), &Patch::Merge(labels)).await.unwrap();
    }
}

async fn pods(client: &Client, namespace: &str) {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for (number, node) in [0, 0, 1, 2].into_iter().enumerate() {
        let name = format!("four-{number}");
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": "four"}},
            "spec": {"nodeName": NODES[node].0, "containers": [{"name": "c", "image": "i"}]},
        });
        objects::create(&api, pod).await;
        let ips = objects::addresses(77, number);
        objects::status(&api, &name, objects::pod_status("Running", "True", &ips)).await;
    }
}

fn of<'a>(slices: &'a [EndpointSlice], service: &str) -> Option<&'a EndpointSlice> {
    slices.iter().find(|slice| slice.labels().get(SERVICE_NAME).is_some_and(|name| name == service))
}

fn shares(slice: &EndpointSlice) -> Option<&str> {
    slice.annotations().get(label::ZONE_SHARES).map(String::as_str)
}

/// Endpoints of the first region name both of its zones.
fn is_hinted_for_two_zones(slice: &EndpointSlice) -> bool {
    let endpoints = slice.endpoints.iter().flatten();
    let zones = |endpoint: &k8s_openapi::api::discovery::v1::Endpoint| {
        let hints = endpoint.hints.as_ref().and_then(|hints| hints.for_zones.as_ref());
        hints.map_or(0, Vec::len)
    };
    endpoints.clone().count() == 4 && endpoints.filter(|e| zones(e) == 2).count() == 3
}
